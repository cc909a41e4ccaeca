// SPDX-License-Identifier: Apache-2.0
//
// count_bank: many counters in one RAM, as fifty separate counters of 32 bits would be a third of the card.
//
// In:  pulse: one bit per counter, in any cycle, any number of them at once; index: the counter to be read.
// Out: count, modulo 2^32, 2 cycles after index.
// Latency: a pulse is in its count after N + 5 cycles at the latest; no pulse is ever lost.
// Parameters: N counters, 9 to 2^INDEX_BITS - 1. Registers: each block `count` of registers.yaml.
//
// Each counter has its own small counter, which has room for the pulses until its turn: the small counters are added,
// one after the other, to their words of the RAM.

module count_bank #(
    parameter N          = 24,
    parameter INDEX_BITS = 5
) (
    input  logic                  clk,
    input  logic                  rst,
    input  logic [N-1:0]          pulse,
    input  logic [INDEX_BITS-1:0] index,
    output logic [31:0]           count
);
    // A turn comes every N cycles, in each of which there may be a pulse.
    localparam PENDING_BITS = INDEX_BITS + 1;
    localparam GROUPS       = (N + 7) / 8;

    logic [31:0] sums [0:(1 << INDEX_BITS) - 1];
    wire [8*GROUPS*PENDING_BITS-1:0] pending;

    logic clearing_q;                       // after a reset each word is set to 0
    logic [INDEX_BITS-1:0] turn_q, pick_turn_q, read_turn_q, add_turn_q;
    logic pick_valid_q, read_valid_q, add_valid_q;
    logic [PENDING_BITS-1:0] read_more_q, add_more_q;
    logic [31:0] add_sum_q, add_result;
    logic last_turn;

    assign last_turn = clearing_q ? &turn_q : turn_q == INDEX_BITS'(N - 1);
    assign add_result = add_sum_q + 32'(add_more_q);

    always_ff @(posedge clk) begin
        turn_q <= last_turn ? '0 : turn_q + 1'b1;
        if (clearing_q && last_turn) clearing_q <= 1'b0;
        if (rst) begin
            turn_q     <= '0;
            clearing_q <= 1'b1;
        end
    end

    genvar i;
    generate
        for (i = 0; i < N; i = i + 1) begin : counter
            logic [PENDING_BITS-1:0] few_q;
            always_ff @(posedge clk) begin
                if (!clearing_q && turn_q == INDEX_BITS'(i)) few_q <= PENDING_BITS'(pulse[i]);
                else if (pulse[i]) few_q <= few_q + 1'b1;
                if (rst) few_q <= '0;
            end
            assign pending[i*PENDING_BITS +: PENDING_BITS] = few_q;
        end
    endgenerate

    // The counter is selected in two steps: one of each eight, then one of these.
    logic [GROUPS*PENDING_BITS-1:0] picked_q;
    generate
        for (i = N; i < 8 * GROUPS; i = i + 1) assign pending[i*PENDING_BITS +: PENDING_BITS] = '0;
        for (i = 0; i < GROUPS; i = i + 1) begin : group
            wire [8*PENDING_BITS-1:0] eight = pending[8*i*PENDING_BITS +: 8*PENDING_BITS];
            always_ff @(posedge clk)
                picked_q[i*PENDING_BITS +: PENDING_BITS] <= eight[turn_q[2:0]*PENDING_BITS +: PENDING_BITS];
        end
    endgenerate

    // Pick, read, add, write: four words are under way at a time, and N is more than that.
    always_ff @(posedge clk) begin
        pick_valid_q <= !clearing_q && !rst;
        pick_turn_q  <= turn_q;
        read_valid_q <= pick_valid_q && !rst;
        read_turn_q  <= pick_turn_q;
        read_more_q  <= picked_q[pick_turn_q[INDEX_BITS-1:3]*PENDING_BITS +: PENDING_BITS];
        add_valid_q  <= read_valid_q && !rst;
        add_turn_q   <= read_turn_q;
        add_more_q   <= read_more_q;
    end

    logic                  write;
    logic [INDEX_BITS-1:0] write_index;
    logic [31:0]           write_sum;
    assign write       = clearing_q || add_valid_q;
    assign write_index = clearing_q ? turn_q : add_turn_q;
    assign write_sum   = clearing_q ? 32'd0 : add_result;

    // The usual template of a RAM with one write port and one read port, twice with the same contents.
    always_ff @(posedge clk) begin
        if (write) sums[write_index] <= write_sum;
        add_sum_q <= sums[read_turn_q];
    end

    logic [31:0] shown [0:(1 << INDEX_BITS) - 1];
    logic [31:0] shown_q;
    always_ff @(posedge clk) begin
        if (write) shown[write_index] <= write_sum;
        shown_q <= shown[index];
        count   <= shown_q;
    end
endmodule
