// SPDX-License-Identifier: Apache-2.0
//
// frame_gate: lets whole frames pass while the card is enabled.
//
// In:  frames of the MAC (s_*: their valid and last); enable, a register that may change at any time.
// Out: m_tvalid; the other signals of the beats do not pass this module.
// Latency: none. A frame during whose first beat enable is 0 is ignored, and no counter counts it; a frame that has
// begun to pass continues to its end.

module frame_gate (
    input  logic clk,
    input  logic rst,
    input  logic enable,
    input  logic s_tvalid,
    input  logic s_tlast,
    output logic m_tvalid
);

    logic at_start_q, pass_q;
    wire  pass = at_start_q ? enable : pass_q;
    assign m_tvalid = s_tvalid && pass;

    always_ff @(posedge clk) begin
        if (s_tvalid) begin
            at_start_q <= s_tlast;
            pass_q     <= pass;
        end
        if (rst) begin
            at_start_q <= 1'b1;
            pass_q     <= 1'b0;
        end
    end

endmodule
