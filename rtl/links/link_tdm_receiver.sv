// SPDX-License-Identifier: Apache-2.0
//
// link_tdm_receiver: the receiving end of a deterministic-latency serial link, in the manner of NaNet3's for KM3NeT.
//
// In:  raw, 20 bits of a transceiver, raw[0] came first, at any bit phase. slip_origin: the least bit phase that the line
//      has (a line of 7..26 bits beyond whole words: 7). use_reference, frame_reference: see word_delay. clock_offset: see
//      tdm_clock.
// Out: slots (see tdm_receive) at a constant latency; one AXI-Stream a channel of whole packets; counter and
//      clock_is_locked; phase, delay, is_aligned. counts, 32 bits each, from bit 0: frames, slots with data, slots dropped,
//      codes without a character, disparity errors, comma errors, frames out of step, clock errors, packets broken,
//      packets without room, times that the alignment was lost.
// Latency: 15 cycles + delay from the raw word with the last bit of a slot to its first word, at each bit phase; packets 4
// cycles more.
// Parameters: CHANNELS, SLOT_WORDS: as in the sender; DEPTH_LOG2: words of each channel's FIFO.

module link_tdm_receiver #(
    parameter CHANNELS   = 4,
    parameter SLOT_WORDS = 4,
    parameter DEPTH_LOG2 = 9
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic [19:0]            raw,
    input  logic [4:0]             slip_origin,
    input  logic                   use_reference,
    input  logic                   frame_reference,
    input  logic [15:0]            clock_offset,
    output logic                   slot_valid,
    output logic [63:0]            slot_data,
    output logic [2:0]             slot_channel,
    output logic                   slot_first,
    output logic                   slot_last,
    output logic [CHANNELS*64-1:0] m_tdata,
    output logic [CHANNELS*8-1:0]  m_tkeep,
    output logic [CHANNELS-1:0]    m_tvalid,
    input  logic [CHANNELS-1:0]    m_tready,
    output logic [CHANNELS-1:0]    m_tlast,
    output logic [63:0]            counter,
    output logic                   clock_is_locked,
    output logic [4:0]             phase,
    output logic [3:0]             delay,
    output logic                   is_aligned,
    output logic [11*32-1:0]       counts
);

    localparam FRAME = 7 + CHANNELS * (4 * SLOT_WORDS + 3);

    wire [19:0] turned, code;
    wire        code_start, is_locked, comma_error;
    genvar b;
    generate
        for (b = 0; b < 20; b = b + 1) begin : of_bit
            assign turned[b] = raw[19-b];
        end
    endgenerate
    comma_align #(.FRAME(FRAME)) align (
        .clk(clk), .rst(rst), .raw(turned), .code(code), .start(code_start), .phase(phase), .is_locked(is_locked),
        .comma_error(comma_error)
    );

    wire [15:0] decoded;
    wire [1:0]  is_k, code_error, disparity_error;
    wire        start;
    decoder_8b10b decode (
        .clk(clk), .rst(rst), .code(code), .in_tag(code_start), .data(decoded), .is_k(is_k), .out_tag(start),
        .code_error(code_error), .disparity_error(disparity_error)
    );

    // A comma among the data is as bad as no character at all. Errors count where the place of the codes is known.
    logic       slipped_q;
    logic [1:0] code_error_q, disparity_error_q;
    always_ff @(posedge clk) begin
        slipped_q         <= phase >= slip_origin;
        code_error_q      <= is_locked ? code_error : 2'b00;
        disparity_error_q <= is_locked ? disparity_error : 2'b00;
    end

    wire        is_bad = code_error != 2'b00 || is_k != 2'b00;
    wire [15:0] word;
    wire        word_bad, word_start, moved;
    word_delay #(.WIDTH(17)) wait_words (
        .clk(clk), .rst(rst), .word({is_bad, decoded}), .start(start), .is_locked(is_locked), .slipped(slipped_q),
        .use_reference(use_reference), .frame_reference(frame_reference), .out_word({word_bad, word}), .out_start(word_start),
        .is_aligned(is_aligned), .delay(delay), .moved(moved)
    );

    wire [2:0]  slot_bytes;
    wire [6:0]  slot_number;
    wire        slot_begins, slot_ends, slot_bad, clock_valid, clock_bad, clock_error, broken;
    wire [63:0] clock_value;
    tdm_receive #(.CHANNELS(CHANNELS), .SLOT_WORDS(SLOT_WORDS)) receive (
        .clk(clk), .rst(rst), .data(word), .bad(word_bad), .start(word_start), .is_aligned(is_aligned),
        .slot_valid(slot_valid), .slot_data(slot_data), .slot_channel(slot_channel), .slot_first(slot_first),
        .slot_last(slot_last), .slot_bytes(slot_bytes), .slot_begins(slot_begins), .slot_ends(slot_ends),
        .slot_number(slot_number), .slot_bad(slot_bad), .clock_valid(clock_valid), .clock_value(clock_value),
        .clock_bad(clock_bad)
    );
    tdm_clock clock (
        .clk(clk), .rst(rst), .clock_valid(clock_valid), .clock_value(clock_value), .offset(clock_offset),
        .counter(counter), .is_locked(clock_is_locked), .error(clock_error)
    );

    wire [CHANNELS-1:0] overflow;
    tdm_packets #(.CHANNELS(CHANNELS), .DEPTH_LOG2(DEPTH_LOG2)) packets (
        .clk(clk), .rst(rst), .is_aligned(is_aligned), .slot_valid(slot_valid), .slot_data(slot_data),
        .slot_channel(slot_channel), .slot_first(slot_first), .slot_last(slot_last), .slot_bytes(slot_bytes),
        .slot_begins(slot_begins), .slot_ends(slot_ends), .slot_number(slot_number), .slot_bad(slot_bad),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast),
        .broken(broken), .overflow(overflow)
    );

    logic was_aligned_q, lost_q, overflow_q;
    always_ff @(posedge clk) begin
        was_aligned_q <= is_aligned && !rst;
        lost_q        <= was_aligned_q && !is_aligned;
        overflow_q    <= |overflow;
    end
    link_counts #(.N(11)) count (
        .clk(clk), .rst(rst), .counts(counts),
        .steps({{1'b0, lost_q}, {1'b0, overflow_q}, {1'b0, broken}, {1'b0, clock_error}, {1'b0, moved}, {1'b0, comma_error},
                {&disparity_error_q, ^disparity_error_q}, {&code_error_q, ^code_error_q}, {1'b0, slot_bad || clock_bad},
                {1'b0, slot_valid && slot_last}, {1'b0, word_start}})
    );

endmodule
