// SPDX-License-Identifier: Apache-2.0
// Computes the value of the CRC-32C register after a message and the zeros that fill its last 64-bit word.
// in:      load: checksum as in the message, and n_zeros (0 to 7), the number of zero bytes
// out:     expected, is_ready: expected is valid, from load + 1 + n_zeros cycles on until the next load
// latency: 1 + n_zeros cycles, while the message itself passes: its first word gives the length
// It is easier to add the zeros to the expected value than to remove them from the computed one: this takes one small
// byte step instead of eight matrices for the eight lengths of a last word.
`default_nettype none
module crc32c_expect (
    input  wire        clk,
    input  wire        rst,
    input  wire        load,
    input  wire [31:0] checksum,
    input  wire [2:0]  n_zeros,
    output wire [31:0] expected,
    output wire        is_ready
);
    function [31:0] over_zero_byte(input [31:0] from);
        integer i;
        reg [31:0] state;
        begin
            state = from;
            for (i = 0; i < 8; i = i + 1) state = (state >> 1) ^ (state[0] ? 32'h82f63b78 : 32'd0);
            over_zero_byte = state;
        end
    endfunction

    reg [31:0] expected_q;
    reg [2:0]  left_q;
    reg        loaded_q;
    always @(posedge clk) begin
        if (load) begin
            expected_q <= ~checksum;
            left_q     <= n_zeros;
            loaded_q   <= 1'b1;
        end else if (left_q != 3'd0) begin
            expected_q <= over_zero_byte(expected_q);
            left_q     <= left_q - 3'd1;
        end
        if (rst) begin
            left_q   <= 3'd0;
            loaded_q <= 1'b0;
        end
    end
    assign expected = expected_q;
    assign is_ready = loaded_q && left_q == 3'd0;
endmodule
`default_nettype wire
