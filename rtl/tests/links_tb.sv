// SPDX-License-Identifier: Apache-2.0
//
// links_tb: the parts of the links that are tested against the Python model, side by side, each with its own ports.
//
// In:  e_* encoder_8b10b, d_* decoder_8b10b, t_* link_tdm_sender of two channels, r_* and m_* router of four links.

module links_tb (
    input  logic         clk,
    input  logic         rst,
    input  logic [15:0]  e_data,
    input  logic [1:0]   e_is_k,
    output logic [19:0]  e_code,
    input  logic [19:0]  d_code,
    output logic [15:0]  d_data,
    output logic [1:0]   d_is_k,
    output logic [1:0]   d_code_error,
    output logic [1:0]   d_disparity_error,
    input  logic [63:0]  t_clock,
    input  logic [127:0] t_tdata,
    input  logic [15:0]  t_tkeep,
    input  logic [1:0]   t_tvalid,
    output logic [1:0]   t_tready,
    input  logic [1:0]   t_tlast,
    output logic         t_frame_start,
    output logic [19:0]  t_raw,
    input  logic [255:0] r_tdata,
    input  logic [31:0]  r_tkeep,
    input  logic [3:0]   r_tuser,
    input  logic [3:0]   r_tlast,
    input  logic [3:0]   r_tvalid,
    output logic [3:0]   r_tready,
    output logic [63:0]  m_tdata,
    output logic [7:0]   m_tkeep,
    output logic         m_tuser,
    output logic         m_tlast,
    output logic [2:0]   m_link,
    output logic         m_tvalid,
    input  logic         m_tready
);

    wire tag;
    encoder_8b10b encode (.clk(clk), .rst(rst), .data(e_data), .is_k(e_is_k), .code(e_code));
    decoder_8b10b decode (
        .clk(clk), .rst(rst), .code(d_code), .in_tag(1'b0), .data(d_data), .is_k(d_is_k), .out_tag(tag),
        .code_error(d_code_error), .disparity_error(d_disparity_error)
    );
    link_tdm_sender #(.CHANNELS(2), .SLOT_WORDS(4)) send (
        .clk(clk), .rst(rst), .sync(1'b0), .clock_counter(t_clock), .s_tdata(t_tdata), .s_tkeep(t_tkeep),
        .s_tvalid(t_tvalid), .s_tready(t_tready), .s_tlast(t_tlast), .frame_start(t_frame_start), .raw(t_raw)
    );
    router #(.LINKS(4)) route (
        .clk(clk), .rst(rst), .s_tdata(r_tdata), .s_tkeep(r_tkeep), .s_tuser(r_tuser), .s_tlast(r_tlast),
        .s_tvalid(r_tvalid), .s_tready(r_tready), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tuser(m_tuser),
        .m_tlast(m_tlast), .m_link(m_link), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

endmodule
