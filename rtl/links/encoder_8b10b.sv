// SPDX-License-Identifier: Apache-2.0
//
// encoder_8b10b: encodes two bytes a cycle into 20 bits of 8B/10B with running disparity.
//
// In:  data, data[7:0] is sent first; is_k, one bit a byte.
// Out: code, bit 19 is sent first.
// Latency: 2 cycles; a word each cycle, without gaps: the line always carries codes.

module encoder_8b10b (
    input  logic        clk,
    input  logic        rst,
    input  logic [15:0] data,
    input  logic [1:0]  is_k,
    output logic [19:0] code
);

    wire [9:0] minus_0, plus_0, minus_1, plus_1;
    wire       flips_0, flips_1, known_0, known_1;

    code_8b10b first (
        .data(data[7:0]), .is_k(is_k[0]), .code_minus(minus_0), .code_plus(plus_0), .flips(flips_0), .is_known(known_0)
    );
    code_8b10b second (
        .data(data[15:8]), .is_k(is_k[1]), .code_minus(minus_1), .code_plus(plus_1), .flips(flips_1), .is_known(known_1)
    );

    logic [9:0]  minus_0_q, plus_0_q, minus_1_q, plus_1_q;
    logic        flips_0_q, flips_1_q, is_plus_q;
    logic [19:0] code_q;
    wire         between = is_plus_q ^ flips_0_q;

    always_ff @(posedge clk) begin
        {minus_0_q, plus_0_q, flips_0_q} <= {minus_0, plus_0, flips_0};
        {minus_1_q, plus_1_q, flips_1_q} <= {minus_1, plus_1, flips_1};
        code_q <= {is_plus_q ? plus_0_q : minus_0_q, between ? plus_1_q : minus_1_q};
        if (rst) is_plus_q <= 1'b0;
        else is_plus_q <= between ^ flips_1_q;
    end

    assign code = code_q;

endmodule
