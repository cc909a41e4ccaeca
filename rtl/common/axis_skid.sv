// SPDX-License-Identifier: Apache-2.0
//
// axis_skid: cuts the paths of an AXI-Stream in both directions; no output depends on an input of the same cycle.
//
// In:  one stream (s_*), any fields packed into s_tdata.
// Out: the same words in the same order (m_*).
// Latency: 1 cycle. One word a cycle. Holds at most two words.
// Parameters: WIDTH, bits of a word with all its fields.

module axis_skid #(
    parameter WIDTH = 74
) (
    input  logic             clk,
    input  logic             rst,

    input  logic [WIDTH-1:0] s_tdata,
    input  logic             s_tvalid,
    output logic             s_tready,

    output logic [WIDTH-1:0] m_tdata,
    output logic             m_tvalid,
    input  logic             m_tready
);

    // The spare register takes the word that was on its way when the reader stopped.
    logic [WIDTH-1:0] out_q, spare_q;
    logic             out_valid_q, spare_valid_q;
    logic             ready_q;  // !spare_valid_q in its own register, placed near the logic that uses it

    assign s_tready = ready_q;
    assign m_tdata  = out_q;
    assign m_tvalid = out_valid_q;

    wire move = m_tready || !out_valid_q;

    always_ff @(posedge clk) begin
        if (move) out_q <= spare_valid_q ? spare_q : s_tdata;
        if (!spare_valid_q) spare_q <= s_tdata;

        if (rst) begin
            out_valid_q   <= 1'b0;
            spare_valid_q <= 1'b0;
            ready_q       <= 1'b1;
        end else if (move) begin
            out_valid_q   <= spare_valid_q || s_tvalid;
            spare_valid_q <= 1'b0;
            ready_q       <= 1'b1;
        end else begin
            spare_valid_q <= spare_valid_q || s_tvalid;
            ready_q       <= !(spare_valid_q || s_tvalid);
        end
    end

endmodule
