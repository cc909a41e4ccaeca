// SPDX-License-Identifier: Apache-2.0
//
// link_tdm_loop: a sender and a receiver whose line (tx_raw to rx_raw) the test closes, with its delay and its faults.
//
// In:  as link_tdm_sender and link_tdm_receiver. Out: the same.

module link_tdm_loop #(
    parameter CHANNELS   = 4,
    parameter SLOT_WORDS = 4,
    parameter DEPTH_LOG2 = 9
) (
    input  logic                   clk,
    input  logic                   tx_rst,
    input  logic                   rx_rst,
    input  logic                   sync,
    input  logic [63:0]            clock_counter,
    input  logic [CHANNELS*64-1:0] s_tdata,
    input  logic [CHANNELS*8-1:0]  s_tkeep,
    input  logic [CHANNELS-1:0]    s_tvalid,
    output logic [CHANNELS-1:0]    s_tready,
    input  logic [CHANNELS-1:0]    s_tlast,
    output logic                   frame_start,
    output logic [19:0]            tx_raw,
    input  logic [19:0]            rx_raw,
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

    link_tdm_sender #(.CHANNELS(CHANNELS), .SLOT_WORDS(SLOT_WORDS)) sender (
        .clk(clk), .rst(tx_rst), .sync(sync), .clock_counter(clock_counter), .s_tdata(s_tdata), .s_tkeep(s_tkeep),
        .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast), .frame_start(frame_start), .raw(tx_raw)
    );
    link_tdm_receiver #(.CHANNELS(CHANNELS), .SLOT_WORDS(SLOT_WORDS), .DEPTH_LOG2(DEPTH_LOG2)) receiver (
        .clk(clk), .rst(rx_rst), .raw(rx_raw), .slip_origin(slip_origin), .use_reference(use_reference),
        .frame_reference(frame_reference), .clock_offset(clock_offset), .slot_valid(slot_valid), .slot_data(slot_data),
        .slot_channel(slot_channel), .slot_first(slot_first), .slot_last(slot_last), .m_tdata(m_tdata),
        .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast), .counter(counter),
        .clock_is_locked(clock_is_locked), .phase(phase), .delay(delay), .is_aligned(is_aligned), .counts(counts)
    );

endmodule
