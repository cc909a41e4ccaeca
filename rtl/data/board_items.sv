// SPDX-License-Identifier: Apache-2.0
// Reads one board's items, burst by burst: hands on fragments of the burst being merged, and drops fragments of a past
// burst as late; with an item of another burst, the board waits.
// in:      item_*: the store's items (PACKET, its fragments, END); the merger's burst and the last four past bursts
//          leave: the burst is over; leave_ahead: and the board's head was never trusted; give_up: stop waiting
// out:     fragment_*: the next fragment of the burst, with the address of its first word of hits and its packet's stamp
//          waits, waits_with: an item of another burst stands first (waits_with_end: its END)
//          ends: pulse, the board ended the burst; drops_late, drops_ahead: pulse, a fragment is dropped
//          run_address: where the hits of the next item begin
// latency: 1 cycle for a fragment, 4 for PACKET and END
// An item of a burst that is neither current nor past waits, unless the store's newest item is of the current burst
// again: then the item's burst number is damaged, and its fragments are late.
`default_nettype none
module board_items #(
    parameter HITS_BITS = 11
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 item_valid,
    input  wire [65:0]          item,
    output wire                 item_pop,
    input  wire [31:0]          newest_burst,
    input  wire                 in_burst,
    input  wire [31:0]          burst,
    input  wire [127:0]         gone,
    input  wire [3:0]           gone_valid,
    input  wire                 leave,
    input  wire                 leave_ahead,
    input  wire                 give_up,
    output wire                 fragment_valid,
    input  wire                 fragment_taken,
    output wire [31:0]          fragment_timestamp,
    output wire [7:0]           fragment_fine,
    output wire [7:0]           fragment_n_hits,
    output wire [HITS_BITS-1:0] fragment_address,
    output wire [31:0]          fragment_stamp,
    output wire                 waits,
    output wire [31:0]          waits_with,
    output wire                 waits_with_end,
    output wire                 ends,
    output wire                 drops_late,
    output wire                 drops_ahead,
    output wire                 is_quiet,
    output wire [HITS_BITS-1:0] run_address
);
    localparam [1:0] FRAGMENT = 0, PACKET = 1;
    localparam [1:0] PASS = 0, LATE = 1, AHEAD = 2;
    localparam [1:0] ITEM = 0, COMPARE = 1, SORT = 2;

    reg [1:0]           state_q, mode_q;
    reg                 is_packet_q, waits_q, is_current_q, is_behind_q, is_ahead_q, ends_q, late_q, ahead_q, given_up_q,
                        left_over_q;
    reg [3:0]           is_gone_q;
    reg [31:0]          burst_q, stamp_q;
    reg                 f_valid_q;
    reg [31:0]          f_timestamp_q, f_stamp_q;
    reg [7:0]           f_fine_q, f_n_hits_q;
    reg [HITS_BITS-1:0] f_address_q, run_q;

    wire is_fragment = item[65:64] == FRAGMENT;
    wire [6:0] n_words = {1'b0, item[47:42]} + {6'd0, item[41:40] != 2'd0};
    // Items keep their order: PACKET and END wait until the fragment before them has left.
    wire take = item_valid && state_q == ITEM && !leave && !f_valid_q && !left_over_q;
    wire is_gone = is_gone_q != 4'd0;
    assign item_pop = take;

    always @(posedge clk) begin : sort_items
        integer i;
        late_q  <= ((take && is_fragment) || left_over_q) && mode_q == LATE;
        ahead_q <= ((take && is_fragment) || left_over_q) && mode_q == AHEAD;
        ends_q  <= 1'b0;
        left_over_q <= 1'b0;
        if (fragment_taken) f_valid_q <= 1'b0;
        if (give_up) given_up_q <= 1'b1;
        // Compared again while the board waits, as the merger's burst changes. A cycle of COMPARE precedes each use.
        is_current_q <= in_burst && burst_q == burst;
        is_behind_q  <= in_burst && newest_burst == burst;
        for (i = 0; i < 4; i = i + 1) is_gone_q[i] <= gone_valid[i] && burst_q == gone[32*i +: 32];
        case (state_q)
            ITEM: if (take) begin
                if (is_fragment) begin
                    run_q <= run_q + {{(HITS_BITS - 7){1'b0}}, n_words};
                    if (mode_q == PASS) begin
                        f_valid_q     <= 1'b1;
                        f_timestamp_q <= item[31:0];
                        f_fine_q      <= item[39:32];
                        f_n_hits_q    <= item[47:40];
                        f_address_q   <= run_q;
                        f_stamp_q     <= stamp_q;
                    end
                end else begin
                    is_packet_q <= item[65:64] == PACKET;
                    burst_q     <= item[31:0];
                    stamp_q     <= item[63:32];
                    given_up_q  <= 1'b0;
                    state_q     <= COMPARE;
                end
            end
            COMPARE: if (!leave) state_q <= SORT;
            default: begin  // SORT
                waits_q <= 1'b0;
                state_q <= ITEM;
                if (leave) begin
                    state_q <= COMPARE;
                end else if (is_current_q) begin
                    if (is_packet_q) mode_q <= PASS;
                    ends_q     <= !is_packet_q;
                    is_ahead_q <= 1'b0;
                end else if (is_gone) begin
                    // is_ahead_q speaks of the last burst gone only.
                    if (is_packet_q) mode_q <= (is_ahead_q && is_gone_q[0]) ? AHEAD : LATE;
                end else if (is_behind_q || given_up_q) begin
                    if (is_packet_q) mode_q <= LATE;
                end else begin
                    waits_q <= 1'b1;
                    state_q <= SORT;
                end
            end
        endcase
        if (leave) begin
            f_valid_q  <= 1'b0;
            is_ahead_q <= leave_ahead;
            if (mode_q == PASS) mode_q <= leave_ahead ? AHEAD : LATE;
            // The fragment in front of the merger is dropped, too, one cycle after the head's own pulse.
            left_over_q <= f_valid_q;
        end
        if (rst) begin
            state_q    <= ITEM;
            mode_q     <= LATE;
            f_valid_q  <= 1'b0;
            waits_q    <= 1'b0;
            is_ahead_q <= 1'b0;
            run_q      <= {HITS_BITS{1'b0}};
            late_q     <= 1'b0;
            ahead_q    <= 1'b0;
            ends_q     <= 1'b0;
            left_over_q <= 1'b0;
        end
    end
    assign fragment_valid = f_valid_q;
    assign fragment_timestamp = f_timestamp_q;
    assign fragment_fine = f_fine_q;
    assign fragment_n_hits = f_n_hits_q;
    assign fragment_address = f_address_q;
    assign fragment_stamp = f_stamp_q;
    assign waits = waits_q;
    assign waits_with = burst_q;
    assign waits_with_end = !is_packet_q;
    assign ends = ends_q;
    assign drops_late = late_q;
    assign drops_ahead = ahead_q;
    assign is_quiet = (state_q == ITEM && !item_valid && !left_over_q) || waits_q;
    assign run_address = f_valid_q ? f_address_q : run_q;
endmodule
`default_nettype wire
