// SPDX-License-Identifier: Apache-2.0
//
// decoder_8b10b: decodes 20 bits of 8B/10B a cycle into two bytes, and checks every code and the running disparity.
//
// In:  code, bit 19 was sent first; in_tag, one bit that travels along.
// Out: data, data[7:0] came first; is_k; out_tag; code_error, one bit a byte: no character has this code;
//      disparity_error, one bit a byte: the code is right and does not follow from the disparity before it. A flipped
//      bit shows as one of the two, or as neither here and as a disparity error of a later byte.
// Latency: 4 cycles; a word each cycle.

module decoder_8b10b (
    input  logic        clk,
    input  logic        rst,
    input  logic [19:0] code,
    input  logic        in_tag,
    output logic [15:0] data,
    output logic [1:0]  is_k,
    output logic        out_tag,
    output logic [1:0]  code_error,
    output logic [1:0]  disparity_error
);

    wire [7:0] value_0, value_1;
    wire       k_0, k_1, minus_0, plus_0, minus_1, plus_1, heavy_0, light_0, heavy_1, light_1;

    decode_byte first (
        .clk(clk), .code(code[19:10]), .data(value_0), .is_k(k_0), .fits_minus(minus_0), .fits_plus(plus_0),
        .is_heavy(heavy_0), .is_light(light_0)
    );
    decode_byte second (
        .clk(clk), .code(code[9:0]), .data(value_1), .is_k(k_1), .fits_minus(minus_1), .fits_plus(plus_1),
        .is_heavy(heavy_1), .is_light(light_1)
    );

    // After any code, right or wrong, the disparity is what its ones say; so one flipped bit is reported once.
    logic        is_plus_q, out_tag_q;
    logic [2:0]  tag_q;
    logic [15:0] data_q;
    logic [1:0]  is_k_q, code_error_q, disparity_error_q;
    wire         between = heavy_0 || (is_plus_q && !light_0);

    always_ff @(posedge clk) begin
        tag_q             <= {tag_q[1:0], in_tag};
        out_tag_q         <= tag_q[2];
        data_q            <= {value_1, value_0};
        is_k_q            <= {k_1, k_0};
        code_error_q      <= {!minus_1 && !plus_1, !minus_0 && !plus_0};
        disparity_error_q <= {between ? (minus_1 && !plus_1) : (plus_1 && !minus_1),
                              is_plus_q ? (minus_0 && !plus_0) : (plus_0 && !minus_0)};
        if (rst) is_plus_q <= 1'b0;
        else is_plus_q <= heavy_1 || (between && !light_1);
    end

    assign data            = data_q;
    assign is_k            = is_k_q;
    assign out_tag         = out_tag_q;
    assign code_error      = code_error_q;
    assign disparity_error = disparity_error_q;

endmodule
