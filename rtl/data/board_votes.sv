// SPDX-License-Identifier: Apache-2.0
// Finds the value that half of the boards agree on. As this is rare, one comparator compares all pairs in turn.
// in:      start, mode; held until done: per board takes_part, is_asked and a 42-bit value
//          BURST: the burst that most boards wait with (values: burst numbers); of equals the nearest after `burst`
//          ORIGIN: the time that most others are near (values: timestamps; `far_fine` in ticks); of equals the lowest
//          DOUBT: the earliest time that half of the boards have reached, or nearly (values: head times)
// out:     done: pulse; found, value: the answer. ORIGIN needs only the largest number of boards, not half
// latency: BOARDS * BOARDS + 6 cycles
`default_nettype none
module board_votes #(
    parameter BOARDS = 4
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 start,
    input  wire [1:0]           mode,
    input  wire [BOARDS-1:0]    takes_part,
    input  wire [BOARDS-1:0]    is_asked,
    input  wire [42*BOARDS-1:0] values,
    input  wire [31:0]          burst,
    input  wire [39:0]          far_fine,
    input  wire [3:0]           n_boards,
    output wire                 done,
    output wire                 found,
    output wire [41:0]          value
);
    localparam [1:0] BURST = 0, ORIGIN = 1;
    reg        busy_q, done_q, found_q;
    reg [2:0]  one_q, other_q;
    reg [41:0] best_q;
    reg [3:0]  most_q;

    function [41:0] value_of(input [2:0] board);
        integer i;
        begin
            value_of = 42'd0;
            for (i = 0; i < BOARDS; i = i + 1) if (board == i[2:0]) value_of = values[42*i +: 42];
        end
    endfunction
    function flag_of(input [BOARDS-1:0] flags, input [2:0] board);
        integer i;
        begin
            flag_of = 1'b0;
            for (i = 0; i < BOARDS; i = i + 1) if (board == i[2:0]) flag_of = flags[i];
        end
    endfunction

    // ---- stage 1: two values; stage 2: their distance; stage 3: agree or not; then counted, and stage 5: the best so far
    // compared with it. It is the best there is before the next one is compared: that takes BOARDS cycles.
    wire       is_last_other = other_q == BOARDS - 1;
    wire       is_last_one = one_q == BOARDS - 1;
    reg        s1_valid_q, s2_valid_q, s3_valid_q, s4_valid_q, s1_first_q, s2_first_q, s3_first_q;
    reg        s1_ends_q, s2_ends_q, s3_ends_q, s4_ends_q, s1_over_q, s2_over_q, s3_over_q, s4_over_q;
    reg        s1_counts_q, s2_counts_q, s3_agrees_q, s1_asked_q, s2_asked_q, s3_asked_q, s4_asked_q;
    reg [41:0] s1_one_q, s1_other_q, s2_one_q, s2_apart_q, s3_one_q, s4_one_q;
    reg [3:0]  n_q;
    // |x| <= far as two sums whose signs are looked at: 0 <= far - x, 0 <= far + x. ORIGIN: whole ticks of far count.
    wire [33:0] ticks_apart = {{2{s2_apart_q[31]}}, s2_apart_q[31:0]};
    wire [33:0] ticks_below = {2'b00, far_fine[39:8]} - ticks_apart, ticks_above = {2'b00, far_fine[39:8]} + ticks_apart;
    // DOUBT: apart is other - one; near when behind by no more than far.
    wire [42:0] ahead_of_far = {3'b000, far_fine} + {s2_apart_q[41], s2_apart_q};
    wire agrees = mode == BURST ? s2_apart_q == 42'd0 : mode == ORIGIN ? !ticks_below[33] && !ticks_above[33] :
                  !ahead_of_far[42];
    wire is_half = {n_q, 1'b0} >= {1'b0, n_boards};
    wire [41:0] from_best = s4_one_q - best_q;
    reg  [31:0] s4_after_q, best_after_q;  // how far behind `burst`
    reg         s5_ends_q, s5_over_q, s5_asked_q, s5_half_q, s5_more_q, s5_as_many_q, s5_nearer_q, s5_earlier_q;
    reg  [41:0] s5_one_q;
    reg  [31:0] s5_after_q;
    reg  [3:0]  s5_n_q;
    wire is_better = mode == BURST ? s5_half_q && (s5_more_q || (s5_as_many_q && s5_nearer_q)) :
                     mode == ORIGIN ? s5_more_q : s5_half_q && (!found_q || s5_earlier_q);
    always @(posedge clk) begin
        done_q <= 1'b0;
        if (start && !busy_q) begin
            busy_q  <= 1'b1;
            one_q   <= 3'd0;
            other_q <= 3'd0;
            found_q <= 1'b0;
            most_q  <= 4'd0;
        end
        s1_valid_q <= 1'b0;
        if (busy_q) begin
            s1_valid_q <= 1'b1;
            other_q    <= is_last_other ? 3'd0 : other_q + 3'd1;
            if (is_last_other) one_q <= one_q + 3'd1;
            if (is_last_other && is_last_one) busy_q <= 1'b0;
        end
        s1_first_q  <= other_q == 3'd0;
        s1_ends_q   <= is_last_other;
        s1_over_q   <= is_last_other && is_last_one;
        s1_asked_q  <= flag_of(is_asked, one_q);
        s1_counts_q <= flag_of(takes_part, other_q);
        s1_one_q    <= value_of(one_q);
        s1_other_q  <= value_of(other_q);

        s2_valid_q  <= s1_valid_q;
        s2_first_q  <= s1_first_q;
        s2_ends_q   <= s1_ends_q;
        s2_over_q   <= s1_over_q;
        s2_asked_q  <= s1_asked_q;
        s2_counts_q <= s1_counts_q;
        s2_one_q    <= s1_one_q;
        s2_apart_q  <= s1_other_q - s1_one_q;

        s3_valid_q  <= s2_valid_q;
        s3_first_q  <= s2_first_q;
        s3_ends_q   <= s2_ends_q;
        s3_over_q   <= s2_over_q;
        s3_asked_q  <= s2_asked_q;
        s3_agrees_q <= s2_counts_q && agrees;
        s3_one_q    <= s2_one_q;

        s4_valid_q <= s3_valid_q;
        s4_ends_q  <= s3_ends_q;
        s4_over_q  <= s3_over_q;
        s4_asked_q <= s3_asked_q;
        s4_one_q   <= s3_one_q;
        s4_after_q <= s3_one_q[31:0] - burst;
        if (s3_valid_q) n_q <= (s3_first_q ? 4'd0 : n_q) + {3'd0, s3_agrees_q};

        s5_ends_q    <= s4_valid_q && s4_ends_q;
        s5_over_q    <= s4_over_q;
        s5_asked_q   <= s4_asked_q;
        s5_one_q     <= s4_one_q;
        s5_after_q   <= s4_after_q;
        s5_n_q       <= n_q;
        s5_half_q    <= is_half;
        s5_more_q    <= n_q > most_q;
        s5_as_many_q <= n_q == most_q;
        s5_nearer_q  <= s4_after_q < best_after_q;
        s5_earlier_q <= from_best[41];
        if (s5_ends_q) begin
            if (s5_asked_q && is_better) begin
                found_q      <= 1'b1;
                best_q       <= s5_one_q;
                best_after_q <= s5_after_q;
                most_q       <= s5_n_q;
            end
            done_q <= s5_over_q;
        end
        if (rst) begin
            busy_q     <= 1'b0;
            done_q     <= 1'b0;
            s1_valid_q <= 1'b0;
            s2_valid_q <= 1'b0;
            s3_valid_q <= 1'b0;
            s4_valid_q <= 1'b0;
            s5_ends_q  <= 1'b0;
        end
    end
    assign done = done_q;
    assign found = found_q;
    assign value = best_q;
endmodule
`default_nettype wire
