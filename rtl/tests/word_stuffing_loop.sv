// SPDX-License-Identifier: Apache-2.0
//
// word_stuffing_loop: a sender and a receiver whose lanes (tx_lanes to rx_lanes) the test closes, with skew and faults.
//
// In:  as stuffing_send and word_stuffing_receiver. Out: the same.

module word_stuffing_loop #(
    parameter ALIGN_PERIOD = 256,
    parameter DEPTH_LOG2   = 9
) (
    input  logic            clk,
    input  logic            tx_rst,
    input  logic            rx_rst,
    input  logic [127:0]    s_tdata,
    input  logic [15:0]     s_tkeep,
    input  logic            s_tlast,
    input  logic [7:0]      s_stream,
    input  logic            s_tvalid,
    output logic            s_tready,
    input  logic [63:0]     tx_message,
    input  logic            tx_message_valid,
    output logic            tx_message_ready,
    output logic [127:0]    tx_lanes,
    input  logic [127:0]    rx_lanes,
    output logic [63:0]     m_tdata,
    output logic [7:0]      m_tkeep,
    output logic            m_tlast,
    output logic [7:0]      m_stream,
    output logic            m_tvalid,
    input  logic            m_tready,
    output logic [63:0]     rx_message,
    output logic            rx_message_valid,
    output logic            is_aligned,
    output logic [15:0]     delays,
    output logic [8*32-1:0] counts
);

    stuffing_send #(.ALIGN_PERIOD(ALIGN_PERIOD)) sender (
        .clk(clk), .rst(tx_rst), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tlast(s_tlast), .s_stream(s_stream),
        .s_tvalid(s_tvalid), .s_tready(s_tready), .message(tx_message), .message_valid(tx_message_valid),
        .message_ready(tx_message_ready), .lanes(tx_lanes)
    );
    word_stuffing_receiver #(.DEPTH_LOG2(DEPTH_LOG2)) receiver (
        .clk(clk), .rst(rx_rst), .in_lanes(rx_lanes), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tlast(m_tlast),
        .m_stream(m_stream), .m_tvalid(m_tvalid), .m_tready(m_tready), .message(rx_message),
        .message_valid(rx_message_valid), .is_aligned(is_aligned), .delays(delays), .counts(counts)
    );

endmodule
