// SPDX-License-Identifier: Apache-2.0
//
// comma_align: finds the comma in all 20 places of a 20-bit word and turns the words so that it comes first.
//
// In:  raw, bit 19 came first, at any bit phase.
// Out: code, aligned; start: the word begins a frame (a flywheel of FRAME words: it survives a broken comma); phase:
//      place of the comma in raw, 0..19; is_locked, after the third comma a frame apart at the same place, until four in
//      a row are missing; comma_error: pulse, one missing where it should be or one where it should not.
// Latency: 6 cycles from the raw word with the comma's first bit to code, for each phase: at phase 0 the word waits as
//      long as if a part of it were still to come. So the latency in bits falls with the phase by as much as the
//      line's delay grew, and the sum is constant.
// Parameters: FRAME, words of a frame.

module comma_align #(
    parameter FRAME = 83
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [19:0] raw,
    output logic [19:0] code,
    output logic        start,
    output logic [4:0]  phase,
    output logic        is_locked,
    output logic        comma_error
);

    localparam [15:0] LAST_AT = FRAME - 1;

    logic [19:0] raw_q;
    logic [39:0] window_q, window_2q;
    logic [19:0] hits, hits_q;

    // The comma, and with it the bits of K28.5 that stand in no data and across no two codes of data.
    integer at;
    always @(*) begin
        for (at = 0; at < 20; at = at + 1)
            hits[at] = window_q[39-at-:7] == 7'b0011111 || window_q[39-at-:7] == 7'b1100000;
    end

    function [4:0] first_of(input [19:0] places);
        integer i;
        begin
            first_of = 5'd0;
            for (i = 19; i >= 0; i = i - 1) if (places[i]) first_of = i[4:0];
        end
    endfunction

    logic [4:0]  found_q, phase_q;
    logic        is_found_q, is_here_q, is_elsewhere_q;
    logic [39:0] window_3q;
    logic [15:0] at_q;
    logic [1:0]  n_good_q, n_missing_q;
    logic        is_locked_q, start_q, start_2q, comma_error_q;
    logic [22:0] coarse_q;
    logic [19:0] code_q;

    wire is_due   = at_q == LAST_AT;
    wire confirms = is_found_q && is_due && found_q == phase_q;

    // The place is turned back in two steps, of four bits and of one.
    wire [39:0] by_four = window_3q << {phase_q[4:2], 2'b00};
    wire [22:0] by_one  = coarse_q << phase_q[1:0];

    always_ff @(posedge clk) begin
        raw_q     <= raw;
        window_q  <= {raw_q, raw};
        window_2q <= window_q;
        hits_q    <= hits;

        window_3q      <= window_2q;
        is_found_q     <= hits_q != 20'd0;
        found_q        <= first_of(hits_q);
        is_here_q      <= hits_q[phase_q];
        is_elsewhere_q <= (hits_q & ~(20'd1 << phase_q)) != 20'd0;

        coarse_q      <= by_four[39:17];
        code_q        <= by_one[22:3];
        start_q       <= is_locked_q && is_due;
        start_2q      <= start_q && is_locked_q;
        comma_error_q <= is_locked_q && (is_elsewhere_q || is_here_q != is_due);

        at_q <= is_due ? 16'd0 : at_q + 16'd1;
        if (rst) begin
            is_locked_q <= 1'b0;
            n_good_q    <= 2'd0;
            n_missing_q <= 2'd0;
            phase_q     <= 5'd0;
            start_q     <= 1'b0;
        end else if (is_locked_q) begin
            if (is_due) begin
                n_missing_q <= is_here_q ? 2'd0 : n_missing_q + 2'd1;
                if (!is_here_q && n_missing_q == 2'd3) is_locked_q <= 1'b0;
            end
            n_good_q <= 2'd0;
        end else if (is_found_q) begin
            phase_q     <= found_q;
            at_q        <= 16'd0;
            n_good_q    <= confirms ? n_good_q + 2'd1 : 2'd0;
            is_locked_q <= confirms && n_good_q == 2'd1;
            n_missing_q <= 2'd0;
        end else if (is_due) begin
            n_good_q <= 2'd0;
        end
    end

    assign code        = code_q;
    assign start       = start_2q;
    assign phase       = phase_q;
    assign is_locked   = is_locked_q;
    assign comma_error = comma_error_q;

endmodule
