// SPDX-License-Identifier: Apache-2.0
//
// axis_halve: turns an AXI-Stream of 128 bits into one of 64; the lower half comes first.
//
// In:  s_tdata, s_bytes (bytes of the word less 1, 15 but at tlast), s_tlast, s_stream. Out: m_*, with tkeep.
// Latency: 1 cycle; a word of 64 bits a cycle.

module axis_halve (
    input  logic         clk,
    input  logic         rst,
    input  logic [127:0] s_tdata,
    input  logic [3:0]   s_bytes,
    input  logic         s_tlast,
    input  logic [7:0]   s_stream,
    input  logic         s_tvalid,
    output logic         s_tready,
    output logic [63:0]  m_tdata,
    output logic [7:0]   m_tkeep,
    output logic         m_tlast,
    output logic [7:0]   m_stream,
    output logic         m_tvalid,
    input  logic         m_tready
);

    logic [63:0] data_q;
    logic [7:0]  keep_q, stream_q;
    logic        last_q, valid_q, upper_q;  // upper_q: the word's lower half has gone
    wire         moves   = m_tready || !valid_q;
    wire         is_both = s_bytes[3];
    assign s_tready = moves && (upper_q || !is_both);

    always_ff @(posedge clk) begin
        if (moves) begin
            data_q   <= upper_q ? s_tdata[127:64] : s_tdata[63:0];
            keep_q   <= (!upper_q && is_both) ? 8'hff : 8'hff >> (3'd7 - s_bytes[2:0]);
            last_q   <= s_tlast && (upper_q || !is_both);
            stream_q <= s_stream;
        end
        if (rst) begin
            valid_q <= 1'b0;
            upper_q <= 1'b0;
        end else if (moves) begin
            valid_q <= s_tvalid;
            upper_q <= s_tvalid && is_both && !upper_q;
        end
    end

    assign m_tdata  = data_q;
    assign m_tkeep  = keep_q;
    assign m_tlast  = last_q;
    assign m_stream = stream_q;
    assign m_tvalid = valid_q;

endmodule
