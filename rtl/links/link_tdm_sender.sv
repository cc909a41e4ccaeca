// SPDX-License-Identifier: Apache-2.0
//
// link_tdm_sender: the sending end of a deterministic-latency serial link, in the manner of NaNet3's for KM3NeT.
//
// In:  sync, clock_counter and one AXI-Stream a channel: see tdm_send, where the frame's layout stands.
// Out: raw, 20 bits for a transceiver without coding of its own, raw[0] sent first; frame_start.
// Latency: 4 cycles from frame_start to the comma in raw, always.
// Parameters: CHANNELS (1..8), SLOT_WORDS (1..8).

module link_tdm_sender #(
    parameter CHANNELS   = 4,
    parameter SLOT_WORDS = 4
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   sync,
    input  logic [63:0]            clock_counter,
    input  logic [CHANNELS*64-1:0] s_tdata,
    input  logic [CHANNELS*8-1:0]  s_tkeep,
    input  logic [CHANNELS-1:0]    s_tvalid,
    output logic [CHANNELS-1:0]    s_tready,
    input  logic [CHANNELS-1:0]    s_tlast,
    output logic                   frame_start,
    output logic [19:0]            raw
);

    wire [15:0] data;
    wire [1:0]  is_k;
    wire [19:0] code;

    tdm_send #(.CHANNELS(CHANNELS), .SLOT_WORDS(SLOT_WORDS)) send (
        .clk(clk), .rst(rst), .sync(sync), .clock_counter(clock_counter), .s_tdata(s_tdata), .s_tkeep(s_tkeep),
        .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast), .frame_start(frame_start), .data(data), .is_k(is_k)
    );
    encoder_8b10b encode (.clk(clk), .rst(rst), .data(data), .is_k(is_k), .code(code));

    genvar b;
    generate
        for (b = 0; b < 20; b = b + 1) begin : of_bit
            assign raw[b] = code[19-b];
        end
    endgenerate

endmodule
