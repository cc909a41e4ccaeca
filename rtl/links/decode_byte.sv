// SPDX-License-Identifier: Apache-2.0
//
// decode_byte: decodes one 8B/10B code into its byte, and finds the running disparities that it may follow.
//
// In:  code, bit 9 (a) came first.
// Out: data, is_k; fits_minus, fits_plus: it is the character's code after a disparity of -1, of +1 (neither: no
//      character has this code); is_heavy, is_light: more than five ones, fewer than five.
// Latency: 3 cycles.
// The tables below accept too many codes, so the byte that they give is coded again and compared with the code.

module decode_byte (
    input  logic       clk,
    input  logic [9:0] code,
    output logic [7:0] data,
    output logic       is_k,
    output logic       fits_minus,
    output logic       fits_plus,
    output logic       is_heavy,
    output logic       is_light
);

    wire [5:0] six  = code[9:4];
    wire [3:0] four = code[3:0];
    wire       is_k28 = six == 6'b001111 || six == 6'b110000;

    logic [4:0] x;
    always @(*) begin
        case (six)
            6'b100111, 6'b011000: x = 5'd0;
            6'b011101, 6'b100010: x = 5'd1;
            6'b101101, 6'b010010: x = 5'd2;
            6'b110001: x = 5'd3;
            6'b110101, 6'b001010: x = 5'd4;
            6'b101001: x = 5'd5;
            6'b011001: x = 5'd6;
            6'b111000, 6'b000111: x = 5'd7;
            6'b111001, 6'b000110: x = 5'd8;
            6'b100101: x = 5'd9;
            6'b010101: x = 5'd10;
            6'b110100: x = 5'd11;
            6'b001101: x = 5'd12;
            6'b101100: x = 5'd13;
            6'b011100: x = 5'd14;
            6'b010111, 6'b101000: x = 5'd15;
            6'b011011, 6'b100100: x = 5'd16;
            6'b100011: x = 5'd17;
            6'b010011: x = 5'd18;
            6'b110010: x = 5'd19;
            6'b001011: x = 5'd20;
            6'b101010: x = 5'd21;
            6'b011010: x = 5'd22;
            6'b111010, 6'b000101: x = 5'd23;
            6'b110011, 6'b001100: x = 5'd24;
            6'b100110: x = 5'd25;
            6'b010110: x = 5'd26;
            6'b110110, 6'b001001: x = 5'd27;
            6'b001110: x = 5'd28;
            6'b101110, 6'b010001: x = 5'd29;
            6'b011110, 6'b100001: x = 5'd30;
            6'b101011, 6'b010100: x = 5'd31;
            default: x = 5'd28;  // K28, and what no character has
        endcase
    end

    // K28 after +1 is the complement of K28 after -1 in all ten bits; data has two forms of some fours only.
    wire [3:0] k28_four = six[5] ? ~four : four;
    logic [2:0] y, k28_y;
    always @(*) begin
        case (four)
            4'b1011, 4'b0100: y = 3'd0;
            4'b1001:          y = 3'd1;
            4'b0101:          y = 3'd2;
            4'b1100, 4'b0011: y = 3'd3;
            4'b1101, 4'b0010: y = 3'd4;
            4'b1010:          y = 3'd5;
            4'b0110:          y = 3'd6;
            default:          y = 3'd7;
        endcase
        case (k28_four)
            4'b0100: k28_y = 3'd0;
            4'b1001: k28_y = 3'd1;
            4'b0101: k28_y = 3'd2;
            4'b0011: k28_y = 3'd3;
            4'b0010: k28_y = 3'd4;
            4'b1010: k28_y = 3'd5;
            4'b0110: k28_y = 3'd6;
            default: k28_y = 3'd7;
        endcase
    end

    // K23.7, K27.7, K29.7, K30.7: the second form of 7 behind a six whose data would use the first.
    wire ends_in_seven = x == 5'd23 || x == 5'd27 || x == 5'd29 || x == 5'd30;
    wire second_seven  = four == 4'b1000 || four == 4'b0111;

    logic [9:0] code_q, code_2q;
    logic [7:0] data_q, data_2q, data_3q;
    logic       is_k_q, is_k_2q, is_k_3q, is_known_q, fits_minus_q, fits_plus_q, is_heavy_q, is_light_q;
    logic [9:0] minus_q, plus_q;
    logic [3:0] n_ones_q;

    wire [9:0] minus, plus;
    wire       flips, is_known;
    code_8b10b again (
        .data(data_q), .is_k(is_k_q), .code_minus(minus), .code_plus(plus), .flips(flips), .is_known(is_known)
    );

    function [3:0] count_ones(input [9:0] of_code);
        integer i;
        begin
            count_ones = 4'd0;
            for (i = 0; i < 10; i = i + 1) count_ones = count_ones + {3'd0, of_code[i]};
        end
    endfunction

    always_ff @(posedge clk) begin
        code_q <= code;
        data_q <= {is_k28 ? k28_y : y, x};
        is_k_q <= is_k28 || (ends_in_seven && second_seven);

        code_2q    <= code_q;
        data_2q    <= data_q;
        is_k_2q    <= is_k_q;
        is_known_q <= is_known;
        minus_q    <= minus;
        plus_q     <= plus;
        n_ones_q   <= count_ones(code_q);

        data_3q      <= data_2q;
        is_k_3q      <= is_k_2q;
        fits_minus_q <= is_known_q && minus_q == code_2q;
        fits_plus_q  <= is_known_q && plus_q == code_2q;
        is_heavy_q   <= n_ones_q > 4'd5;
        is_light_q   <= n_ones_q < 4'd5;
    end

    assign data       = data_3q;
    assign is_k       = is_k_3q;
    assign fits_minus = fits_minus_q;
    assign fits_plus  = fits_plus_q;
    assign is_heavy   = is_heavy_q;
    assign is_light   = is_light_q;

endmodule
