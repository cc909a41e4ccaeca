// SPDX-License-Identifier: Apache-2.0
//
// ones_sum: the Internet checksum (RFC 1071), four 16-bit words a cycle, without a carry chain.
//
// In:  word: four 16-bit words, where words that do not count are 0; valid; load: begins a new sum from the two seeds.
// Out: sum_q and carry_q: two numbers whose one's complement sum is the checksum's; is_zero: the sum is 0 (0xffff), as
//      for data that contain their own correct checksum. The order of the bytes does not matter if it never changes.
// Latency: 1 cycle from word to sum_q, carry_q and is_zero.
//
// Carries of bit 15 come back as bit 0, so each step of full adders keeps the value modulo 65535. Two numbers add up to
// 0 modulo 65535 when each is the complement of the other: a comparison, no addition. Two zeros or two 0xffff also do,
// but need seeds that are both 0 or both 0xffff: a full adder gives 0 twice, or 0xffff twice, only if all three of its
// inputs had this value, and so the pair before. (A header of zeros, with seeds 0, is not IPv4 anyway.)

module ones_sum (
    input  logic        clk,
    input  logic        valid,
    input  logic        load,
    input  logic [15:0] seed_sum,
    input  logic [15:0] seed_carry,
    input  logic [63:0] word,
    output logic [15:0] sum_q,
    output logic [15:0] carry_q,
    output logic        is_zero
);

    function automatic [15:0] add3_sum(input [15:0] a, input [15:0] b, input [15:0] c);
        add3_sum = a ^ b ^ c;
    endfunction

    function automatic [15:0] add3_carry(input [15:0] a, input [15:0] b, input [15:0] c);
        reg [15:0] majority;
        begin
            majority   = (a & b) | (a & c) | (b & c);
            add3_carry = {majority[14:0], majority[15]};
        end
    endfunction

    wire [15:0] old_sum   = load ? seed_sum : sum_q;
    wire [15:0] old_carry = load ? seed_carry : carry_q;

    wire [15:0] sum_a   = add3_sum(word[15:0], word[31:16], word[47:32]);
    wire [15:0] carry_a = add3_carry(word[15:0], word[31:16], word[47:32]);
    wire [15:0] sum_b   = add3_sum(word[63:48], old_sum, old_carry);
    wire [15:0] carry_b = add3_carry(word[63:48], old_sum, old_carry);
    wire [15:0] sum_c   = add3_sum(sum_a, carry_a, sum_b);
    wire [15:0] carry_c = add3_carry(sum_a, carry_a, sum_b);

    always_ff @(posedge clk) begin
        if (valid) begin
            sum_q   <= add3_sum(sum_c, carry_c, carry_b);
            carry_q <= add3_carry(sum_c, carry_c, carry_b);
        end
    end

    assign is_zero = sum_q == ~carry_q;

endmodule
