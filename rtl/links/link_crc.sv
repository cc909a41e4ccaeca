// SPDX-License-Identifier: Apache-2.0
//
// link_crc: CRC-32C (Castagnoli, reflected 0x82f63b78) of WIDTH bits a cycle, as two registered XOR trees.
//
// In:  valid, data (bit 0 first); first: the word begins a message; seed: the register before it.
// Out: crc: the register after the last word taken, not inverted.
// Latency: 2 cycles; a word a cycle.
// Parameters: WIDTH, bits of a word.

module link_crc #(
    parameter WIDTH = 16
) (
    input  logic             clk,
    input  logic             valid,
    input  logic             first,
    input  logic [31:0]      seed,
    input  logic [WIDTH-1:0] data,
    output logic [31:0]      crc
);

    // The register after one set bit and n_steps shifts.
    function [31:0] trace(input [31:0] from, input integer n_steps);
        integer i;
        begin
            trace = from;
            for (i = 0; i < n_steps; i = i + 1) trace = (trace >> 1) ^ (trace[0] ? 32'h82f63b78 : 32'd0);
        end
    endfunction

    // Row masks: a bit of the new register is the parity of data, and of the old register, under its masks.
    function [WIDTH-1:0] data_mask(input integer row);
        integer i;
        reg [31:0] of_bit;
        begin
            data_mask = {WIDTH{1'b0}};
            for (i = 0; i < WIDTH; i = i + 1) begin
                of_bit = trace(32'd1, WIDTH - i);
                data_mask[i] = of_bit[row];
            end
        end
    endfunction

    function [31:0] state_mask(input integer row);
        integer i;
        reg [31:0] of_bit;
        begin
            state_mask = 32'd0;
            for (i = 0; i < 32; i = i + 1) begin
                of_bit = trace(32'd1 << i, WIDTH);
                state_mask[i] = of_bit[row];
            end
        end
    endfunction

    logic [31:0] part_q, seed_q, crc_q;
    logic        valid_q, first_q;
    wire  [31:0] old = first_q ? seed_q : crc_q;
    wire  [31:0] part, carried;

    genvar row;
    generate
        for (row = 0; row < 32; row = row + 1) begin : of_row
            localparam [WIDTH-1:0] DATA_MASK = data_mask(row);
            localparam [31:0] STATE_MASK = state_mask(row);
            assign part[row]    = ^(data & DATA_MASK);
            assign carried[row] = ^(old & STATE_MASK);
        end
    endgenerate

    always_ff @(posedge clk) begin
        part_q  <= part;
        seed_q  <= seed;
        valid_q <= valid;
        first_q <= first;
        if (valid_q) crc_q <= carried ^ part_q;
    end

    assign crc = crc_q;

endmodule
