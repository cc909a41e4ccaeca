// SPDX-License-Identifier: Apache-2.0
// Adds one 64-bit word to a CRC-32C (Castagnoli, reflected 0x82f63b78), with two registered XOR trees.
// in:      data (bytes beyond the message are zero), valid, first: the word begins a message
// out:     crc: the CRC register after the last word taken, not inverted
// latency: 2 cycles from data to crc, one word a cycle
// The trees are products with constant matrices, not 64 serial steps: that keeps each bit's depth logarithmic.
// If a message does not fill its last word, the caller compares crc with a register that has passed the same zeros
// (crc32c_expect.sv).
`default_nettype none
module crc32c_word (
    input  wire        clk,
    input  wire        valid,
    input  wire        first,
    input  wire [63:0] data,
    output wire [31:0] crc
);
    // The matrix by columns: the register after one set bit of the 64-bit word; each column is one step after the next.
    function [2047:0] all_columns(input [31:0] polynomial);
        integer i;
        reg [31:0] state;
        begin
            state = polynomial;
            for (i = 63; i >= 0; i = i - 1) begin
                all_columns[32*i +: 32] = state;
                state = (state >> 1) ^ (state[0] ? polynomial : 32'd0);
            end
        end
    endfunction
    localparam [2047:0] COLUMNS = all_columns(32'h82f63b78);

    // Row masks: bit `row` of the new register is the parity of data & row mask.
    function [63:0] row_mask(input integer row);
        integer i;
        for (i = 0; i < 64; i = i + 1) row_mask[i] = COLUMNS[32*i + row];
    endfunction

    reg [31:0] part_q, crc_q;
    reg        valid_q, first_q;

    // The old register is added to the first 32 bits of the word, so its matrix is the first half of this one.
    wire [31:0] old = first_q ? 32'hffffffff : crc_q;
    wire [31:0] part, carried;
    genvar row;
    generate
        for (row = 0; row < 32; row = row + 1) begin : of_row
            localparam [63:0] MASK = row_mask(row);
            assign part[row] = ^(data & MASK);
            assign carried[row] = ^(old & MASK[31:0]);
        end
    endgenerate

    always @(posedge clk) begin
        part_q  <= part;
        valid_q <= valid;
        first_q <= first;
        if (valid_q) crc_q <= carried ^ part_q;
    end
    assign crc = crc_q;
endmodule
`default_nettype wire
