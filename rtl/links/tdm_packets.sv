// SPDX-License-Identifier: Apache-2.0
//
// tdm_packets: joins the slots of each channel into its packets, and passes on only whole packets.
//
// In:  the slots of tdm_receive; is_aligned: false breaks every open packet.
// Out: one AXI-Stream a channel (64 bit); broken: pulse, a packet that had begun lost a slot, all of it is left out; overflow: one
//      pulse a channel, a packet found no room and is left out.
// Latency: 4 cycles from the last word of the packet's last slot to its first word.
// Parameters: CHANNELS; DEPTH_LOG2: words of each channel's FIFO, at least a packet.

module tdm_packets #(
    parameter CHANNELS   = 4,
    parameter DEPTH_LOG2 = 9
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   is_aligned,
    input  logic                   slot_valid,
    input  logic [63:0]            slot_data,
    input  logic [2:0]             slot_channel,
    input  logic                   slot_first,
    input  logic                   slot_last,
    input  logic [2:0]             slot_bytes,
    input  logic                   slot_begins,
    input  logic                   slot_ends,
    input  logic [6:0]             slot_number,
    input  logic                   slot_bad,
    output logic [CHANNELS*64-1:0] m_tdata,
    output logic [CHANNELS*8-1:0]  m_tkeep,
    output logic [CHANNELS-1:0]    m_tvalid,
    input  logic [CHANNELS-1:0]    m_tready,
    output logic [CHANNELS-1:0]    m_tlast,
    output logic                   broken,
    output logic [CHANNELS-1:0]    overflow
);

    logic [CHANNELS-1:0] broken_q;
    assign broken = |broken_q;

    genvar c;
    generate
        for (c = 0; c < CHANNELS; c = c + 1) begin : of_channel
            // open: words of a packet were written. skips: the packet's start is missing, its rest is not wanted.
            logic       open_q, skips_q, known_q;
            logic [6:0] next_q;
            wire        is_mine    = slot_channel == c;
            wire        word       = slot_valid && is_mine;
            wire        opens      = word && slot_first;
            wire        in_order   = known_q && slot_number == next_q;
            wire        torn       = opens && open_q && (slot_begins || !in_order);
            wire        headless   = opens && !slot_begins && (torn || !open_q);
            wire        takes      = opens ? !headless : (word && !skips_q);
            wire        lost       = open_q && ((slot_bad && is_mine) || !is_aligned);
            wire        ends       = word && slot_last && slot_ends;

            // A word waits one cycle, so that the packet before it can be taken back in a cycle of its own.
            wire         taken_back = torn || lost;
            logic [66:0] word_q;
            logic        valid_q, last_q;
            wire  [2:0]  bytes = (slot_last && slot_ends) ? slot_bytes : 3'd7;

            always_ff @(posedge clk) begin
                if (rst) begin
                    open_q  <= 1'b0;
                    skips_q <= 1'b1;
                    known_q <= 1'b0;
                    valid_q <= 1'b0;
                end else begin
                    if (word && slot_last) begin
                        next_q  <= slot_number + 7'd1;
                        known_q <= 1'b1;
                    end
                    if (lost) skips_q <= 1'b1;
                    else if (opens) skips_q <= headless;
                    if (lost) open_q <= 1'b0;
                    else if (takes) open_q <= !ends;
                    else if (torn) open_q <= 1'b0;
                    valid_q <= takes && !lost;
                end
                last_q      <= ends;
                word_q      <= {bytes, slot_data};
                broken_q[c] <= !rst && taken_back;
            end

            wire [66:0] out;
            wire        fits, losing;
            wire [DEPTH_LOG2:0] free_words;
            axis_fifo #(.WIDTH(67), .DEPTH_LOG2(DEPTH_LOG2)) fifo (
                .clk(clk), .rst(rst), .s_tdata(word_q), .s_tvalid(valid_q || taken_back), .s_tready(fits),
                .s_tlast(last_q || taken_back), .s_drop(taken_back), .s_early(1'b0), .m_tdata(out),
                .m_tvalid(m_tvalid[c]), .m_tready(m_tready[c]), .m_tlast(m_tlast[c]), .free_words(free_words),
                .losing(losing), .overflow(overflow[c])
            );
            assign m_tdata[c*64+:64] = out[63:0];
            assign m_tkeep[c*8+:8]   = 8'hff >> (3'd7 - out[66:64]);
        end
    endgenerate

endmodule
