// SPDX-License-Identifier: Apache-2.0
//
// code_8b10b: both 8B/10B codes of one byte (Widmer and Franaszek 1983; IEEE 802.3 clause 36), without a clock.
//
// In:  data (HGFEDCBA), is_k: a control character.
// Out: code_minus and code_plus, for a running disparity of -1 and +1 before the byte; bit 9 is a, sent first.
//      flips: the running disparity changes sign. is_known: data names a character (all 256 of data, 12 of control).
// Latency: none.
// The encoder selects one of the two; the decoder codes again what it decoded, so that one table says what is valid.

module code_8b10b (
    input  logic [7:0] data,
    input  logic       is_k,
    output logic [9:0] code_minus,
    output logic [9:0] code_plus,
    output logic       flips,
    output logic       is_known
);

    wire [4:0] x = data[4:0];
    wire [2:0] y = data[7:5];
    wire is_k28  = is_k && x == 5'd28;
    wire is_kx7  = is_k && y == 3'd7 && (x == 5'd23 || x == 5'd27 || x == 5'd29 || x == 5'd30);
    assign is_known = !is_k || is_k28 || is_kx7;

    // abcdei at a running disparity of -1.
    logic [5:0] six;
    always @(*) begin
        case (x)
            5'd0:  six = 6'b100111;
            5'd1:  six = 6'b011101;
            5'd2:  six = 6'b101101;
            5'd3:  six = 6'b110001;
            5'd4:  six = 6'b110101;
            5'd5:  six = 6'b101001;
            5'd6:  six = 6'b011001;
            5'd7:  six = 6'b111000;
            5'd8:  six = 6'b111001;
            5'd9:  six = 6'b100101;
            5'd10: six = 6'b010101;
            5'd11: six = 6'b110100;
            5'd12: six = 6'b001101;
            5'd13: six = 6'b101100;
            5'd14: six = 6'b011100;
            5'd15: six = 6'b010111;
            5'd16: six = 6'b011011;
            5'd17: six = 6'b100011;
            5'd18: six = 6'b010011;
            5'd19: six = 6'b110010;
            5'd20: six = 6'b001011;
            5'd21: six = 6'b101010;
            5'd22: six = 6'b011010;
            5'd23: six = 6'b111010;
            5'd24: six = 6'b110011;
            5'd25: six = 6'b100110;
            5'd26: six = 6'b010110;
            5'd27: six = 6'b110110;
            5'd28: six = is_k ? 6'b001111 : 6'b001110;
            5'd29: six = 6'b101110;
            5'd30: six = 6'b011110;
            default: six = 6'b101011;
        endcase
    end

    // Those with four ones change the disparity; D7 has two balanced forms all the same.
    logic six_flips;
    always @(*) begin
        case (x)
            5'd0, 5'd1, 5'd2, 5'd4, 5'd8, 5'd15, 5'd16, 5'd23, 5'd24, 5'd27, 5'd29, 5'd30, 5'd31: six_flips = 1'b1;
            5'd28:   six_flips = is_k;
            default: six_flips = 1'b0;
        endcase
    end
    wire [5:0] six_plus = (six_flips || x == 5'd7) ? ~six : six;

    // fghj at -1. The second form of 7 keeps five equal bits from following each other across the two parts.
    function [3:0] four_of(input [2:0] of_y, input control, input second_seven);
        case (of_y)
            3'd0: four_of = 4'b1011;
            3'd1: four_of = control ? 4'b0110 : 4'b1001;
            3'd2: four_of = control ? 4'b1010 : 4'b0101;
            3'd3: four_of = 4'b1100;
            3'd4: four_of = 4'b1101;
            3'd5: four_of = control ? 4'b0101 : 4'b1010;
            3'd6: four_of = control ? 4'b1001 : 4'b0110;
            default: four_of = second_seven ? 4'b0111 : 4'b1110;
        endcase
    endfunction

    wire seven_minus = is_k || x == 5'd17 || x == 5'd18 || x == 5'd20;
    wire seven_plus  = is_k || x == 5'd11 || x == 5'd13 || x == 5'd14;
    wire four_flips  = y == 3'd0 || y == 3'd4 || y == 3'd7;
    wire [3:0] four_minus = four_of(y, is_k, seven_minus);
    wire [3:0] four_at_plus = four_of(y, is_k, seven_plus);
    wire [3:0] four_plus = (four_flips || y == 3'd3 || is_k) ? ~four_at_plus : four_at_plus;

    assign code_minus = {six, six_flips ? four_plus : four_minus};
    assign code_plus  = {six_plus, six_flips ? four_minus : four_plus};
    assign flips      = six_flips ^ four_flips;

endmodule
