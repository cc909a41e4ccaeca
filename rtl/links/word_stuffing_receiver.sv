// SPDX-License-Identifier: Apache-2.0
//
// word_stuffing_receiver: the receiving end of four bonded lanes, in the manner of APElink (layout: stuffing_send).
//
// In:  in_lanes, 32 bits a lane, up to 8 words apart.
// Out: whole packets (m_*, 64 bits, m_stream by the header; held back by m_tready: what finds no room is lost whole);
//      messages, one pulse each; is_aligned; delays, 4 bits a lane. counts, 32 bits each, from bit 0: packets, wrong words,
//      packets broken, messages broken, gaps in the packets' numbers, packets without room, ALIGN words out of step,
//      messages.
// Latency: 18 cycles from the footer on the earliest lane to the packet's first word.
// Parameters: DEPTH_LOG2: 128-bit words of the FIFO, at least a packet.

module word_stuffing_receiver #(
    parameter DEPTH_LOG2 = 9
) (
    input  logic           clk,
    input  logic           rst,
    input  logic [127:0]   in_lanes,
    output logic [63:0]    m_tdata,
    output logic [7:0]     m_tkeep,
    output logic           m_tlast,
    output logic [7:0]     m_stream,
    output logic           m_tvalid,
    input  logic           m_tready,
    output logic [63:0]    message,
    output logic           message_valid,
    output logic           is_aligned,
    output logic [15:0]    delays,
    output logic [8*32-1:0] counts
);

    wire [127:0] lanes, word, out;
    wire         skewed, has_word, last, drop, good_packet, bad_word, bad_packet, bad_message, missing;
    wire [3:0]   bytes, out_bytes;
    wire [7:0]   stream, out_stream;
    lane_align align (
        .clk(clk), .rst(rst), .in_lanes(in_lanes), .lanes(lanes), .is_aligned(is_aligned), .delays(delays), .skewed(skewed)
    );
    stuffing_receive receive (
        .clk(clk), .rst(rst), .lanes(lanes), .is_aligned(is_aligned), .m_tdata(word), .m_bytes(bytes), .m_stream(stream),
        .m_tvalid(has_word), .m_tlast(last), .m_drop(drop), .message(message), .message_valid(message_valid),
        .good_packet(good_packet), .bad_word(bad_word), .bad_packet(bad_packet), .bad_message(bad_message),
        .missing(missing)
    );

    wire                fits, out_valid, out_ready, out_last, losing, overflow;
    wire [DEPTH_LOG2:0] free_words;
    axis_fifo #(.WIDTH(140), .DEPTH_LOG2(DEPTH_LOG2)) fifo (
        .clk(clk), .rst(rst), .s_tdata({stream, bytes, word}), .s_tvalid(has_word), .s_tready(fits), .s_tlast(last),
        .s_drop(drop), .s_early(1'b0), .m_tdata({out_stream, out_bytes, out}), .m_tvalid(out_valid), .m_tready(out_ready),
        .m_tlast(out_last), .free_words(free_words), .losing(losing), .overflow(overflow)
    );
    axis_halve halve (
        .clk(clk), .rst(rst), .s_tdata(out), .s_bytes(out_bytes), .s_tlast(out_last), .s_stream(out_stream),
        .s_tvalid(out_valid), .s_tready(out_ready), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tlast(m_tlast),
        .m_stream(m_stream), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

    link_counts #(.N(8)) count (
        .clk(clk), .rst(rst), .counts(counts),
        .steps({{1'b0, message_valid}, {1'b0, skewed}, {1'b0, overflow}, {1'b0, missing}, {1'b0, bad_message},
                {1'b0, bad_packet}, {1'b0, bad_word}, {1'b0, good_packet}})
    );

endmodule
