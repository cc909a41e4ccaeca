// SPDX-License-Identifier: Apache-2.0
// A register stage before the merger, which cuts the combinational paths of valid and of ready.
// in:      payloads (s_*); s_side: values that accompany a payload's first word and hold to its last
// out:     the same, a cycle later (m_*); m_side belongs to a payload only while its first word is offered
// latency: 1 cycle, a word a cycle; a first word waits until an earlier first word has left (payloads of one word
//          only), so that one register is enough for the side
`default_nettype none
module merge_entry #(
    parameter WIDTH = 74,
    parameter SIDE  = 52
) (
    input  wire             clk,
    input  wire             rst,
    input  wire [WIDTH-1:0] s_tdata,
    input  wire             s_tvalid,
    output wire             s_tready,
    input  wire             s_tlast,
    input  wire [SIDE-1:0]  s_side,
    output wire [WIDTH-1:0] m_tdata,
    output wire             m_tvalid,
    input  wire             m_tready,
    output wire             m_tlast,
    output wire [SIDE-1:0]  m_side
);
    reg            enters_q, leaves_q, first_inside_q;  // the next word to come, to go is a payload's first
    reg [SIDE-1:0] side_q;
    wire           has_room;
    wire           waits = enters_q && first_inside_q;
    wire           enters = s_tvalid && s_tready;
    wire           leaves = m_tvalid && m_tready;
    assign s_tready = has_room && !waits;
    assign m_side = side_q;
    axis_skid #(.WIDTH(WIDTH + 1)) u_words (
        .clk(clk), .rst(rst), .s_tdata({s_tlast, s_tdata}), .s_tvalid(s_tvalid && !waits), .s_tready(has_room),
        .m_tdata({m_tlast, m_tdata}), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );
    always @(posedge clk) begin
        if (enters) enters_q <= s_tlast;
        if (leaves) leaves_q <= m_tlast;
        if (leaves && leaves_q) first_inside_q <= 1'b0;
        if (enters && enters_q) begin
            first_inside_q <= 1'b1;
            side_q         <= s_side;
        end
        if (rst) begin
            enters_q       <= 1'b1;
            leaves_q       <= 1'b1;
            first_inside_q <= 1'b0;
        end
    end
endmodule
`default_nettype wire
