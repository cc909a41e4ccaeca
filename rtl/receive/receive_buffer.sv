// SPDX-License-Identifier: Apache-2.0
//
// receive_buffer: holds payloads until they are taken; it is the only place where data wait between MAC and data path.
//
// In:  words and sidebands of udp_payload.
// Out: the payload stream (m_*), byte 0 in m_tdata[7:0]; stream, src_ip, src_port, length and stamp are constant from a
//      frame's first to its last beat; m_tuser with m_tlast: the frame is bad (cut-through only). Free places.
// Latency: cut-through 1 cycle, store-and-forward 3 cycles from the last word.
// Parameters: WORDS_LOG2, payload words of 8 bytes; FRAMES_LOG2, frames.

module receive_buffer #(
    parameter WORDS_LOG2  = 11,
    parameter FRAMES_LOG2 = 9
) (
    input  logic                clk,
    input  logic                rst,

    input  logic [63:0]         w_word,
    input  logic [3:0]          w_bytes,
    input  logic                w_bad,
    input  logic                w_valid,
    input  logic                w_last,
    input  logic                w_drop,
    input  logic                w_early,
    input  logic                side_push,
    input  logic [99:0]         side,
    output logic [WORDS_LOG2:0] free_words,
    output logic                side_free,
    output logic                losing,

    output logic [63:0]         m_tdata,
    output logic [7:0]          m_tkeep,
    output logic                m_tvalid,
    input  logic                m_tready,
    output logic                m_tlast,
    output logic                m_tuser,
    output logic [3:0]          m_stream,
    output logic [31:0]         m_src_ip,
    output logic [15:0]         m_src_port,
    output logic [15:0]         m_length,
    output logic [31:0]         m_stamp
);

    wire        word_valid, side_valid;
    wire [3:0]  bytes;
    wire        bad;
    wire        take = word_valid && side_valid && m_tready;

    // The writer knows from free_words and losing which frames do not fit, and counts them.
    wire unused_ready, unused_overflow;
    axis_fifo #(.WIDTH(69), .DEPTH_LOG2(WORDS_LOG2)) words (
        .clk(clk), .rst(rst),
        .s_tdata({w_bad, w_bytes, w_word}), .s_tvalid(w_valid), .s_tready(unused_ready), .s_tlast(w_last),
        .s_drop(w_drop), .s_early(w_early),
        .m_tdata({bad, bytes, m_tdata}), .m_tvalid(word_valid), .m_tready(take), .m_tlast(m_tlast),
        .free_words(free_words), .losing(losing), .overflow(unused_overflow)
    );

    wire                  unused_side_ready, unused_side_last, unused_side_losing, unused_side_overflow;
    wire [FRAMES_LOG2:0]  free_frames;
    axis_fifo #(.WIDTH(100), .DEPTH_LOG2(FRAMES_LOG2)) sides (
        .clk(clk), .rst(rst),
        .s_tdata(side), .s_tvalid(side_push), .s_tready(unused_side_ready), .s_tlast(1'b1),
        .s_drop(1'b0), .s_early(1'b1),
        .m_tdata({m_stream, m_stamp, m_length, m_src_port, m_src_ip}), .m_tvalid(side_valid),
        .m_tready(take && m_tlast), .m_tlast(unused_side_last),
        .free_words(free_frames), .losing(unused_side_losing), .overflow(unused_side_overflow)
    );

    assign side_free = |free_frames[FRAMES_LOG2:1];
    assign m_tvalid  = word_valid && side_valid;
    assign m_tuser   = bad;

    always_comb begin
        for (int i = 0; i < 8; i++) m_tkeep[i] = bytes > i[3:0];
    end

endmodule
