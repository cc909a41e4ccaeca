// SPDX-License-Identifier: Apache-2.0
// The rules of the merger: when an event is sent, which boards it waits for, where bursts begin and end. They are those
// of engine/events (board_join.cpp, merger.cpp), one step at a time.
// in:      per board: shown and doubted heads, what it waits with, pulses of board_head.sv and board_items.sv; the
//          earliest head (first_*), is_near_first: a head within the window after it; now: all before was read
// out:     fire: the heads in is_near_first leave as one event; hold: only fire may change heads
//          begin_burst, set_origin, leave_burst, believe: pulses; silenced, gives_up, stops_doubt per board
// latency: heads complete to fire: TREE + 3 cycles; from one event to the next TREE + 3 (4 boards: 5)
// config:  boards in use, n_boards of them, timeout in cycles
// If a board's fragment is being judged, an event waits up to 8 cycles for it.
`default_nettype none
module merge_control #(
    parameter BOARDS = 4,
    parameter TREE   = 2
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [BOARDS-1:0]    boards,
    input  wire [3:0]           n_boards,
    input  wire [31:0]          timeout,
    input  wire [31:0]          now,
    input  wire [31:0]          newest_stamp,
    input  wire [BOARDS-1:0]    shown,
    input  wire [BOARDS-1:0]    doubted,
    input  wire [BOARDS-1:0]    pending,
    input  wire [BOARDS-1:0]    is_quiet,
    input  wire [BOARDS-1:0]    has_next,
    input  wire [BOARDS-1:0]    waits,
    input  wire [BOARDS-1:0]    waits_with_end,
    input  wire [BOARDS-1:0]    waits_same,   // with the burst that the last vote named
    input  wire [BOARDS-1:0]    is_crowded,
    input  wire [BOARDS-1:0]    ends,
    input  wire [BOARDS-1:0]    takes,
    input  wire [BOARDS-1:0]    takes_shown,
    input  wire [BOARDS-1:0]    follows,
    input  wire [BOARDS-1:0]    drops,        // late or duplicate, of this burst
    input  wire [31:0]          first_stamp,  // of the earliest head shown
    input  wire                 can_emit,
    output wire                 fire,
    output wire                 hold,
    output wire                 vote,         // pulse: of vote_mode, which holds until done
    output wire [1:0]           vote_mode,
    input  wire                 vote_done,
    input  wire                 vote_found,
    output wire                 begin_burst,
    output wire                 set_origin,
    output wire                 believe,
    output wire                 leave_burst,
    output wire                 in_burst,
    output wire                 has_origin,
    output wire [BOARDS-1:0]    begun,
    output wire [BOARDS-1:0]    silenced,
    output wire [BOARDS-1:0]    silent,
    output wire [BOARDS-1:0]    ended,
    output wire [BOARDS-1:0]    gives_up
);
    localparam [1:0] BURST = 0, ORIGIN = 1, DOUBT = 2;
    localparam [3:0] READY = 0, TIMES = 1, FIRE = 2, SETTLE = 3, VOTE = 4, WAIT = 5, BEGIN = 6, FETCH = 7, LEAVE = 8,
                     APPLY = 9, OUT = 10;

    function [3:0] count(input [BOARDS-1:0] flags);
        integer i;
        begin
            count = 4'd0;
            for (i = 0; i < BOARDS; i = i + 1) count = count + {3'd0, flags[i]};
        end
    endfunction

    reg [3:0]        state_q, cycles_q;
    reg [1:0]        mode_q;
    reg [BOARDS-1:0] ended_q, silent_q, gave_q, begun_q, began_with_end_q, silenced_q, gives_up_q;
    reg              in_burst_q, has_origin_q, voted_burst_q, voted_doubt_q, half_waits_q, half_ended_q;
    reg              over_since_valid_q, waits_since_valid_q, timed_out_q, stuck_q;
    reg [31:0]       over_since_q, waits_since_q, crowded_since_q, crowded_for_q, last_event_q, no_event_for_q;
    reg              is_crowded_q, crowded_out_q, is_ahead_q, fired_q;
    reg [1:0]        no_event_q;  // during one time-out, and during two
    reg              begin_q, origin_q, believe_q, leave_q, vote_q;

    wire [BOARDS-1:0] waited_for = boards & ~(shown | ended_q | (silent_q & ~drops));
    wire nobody_waited = waited_for == {BOARDS{1'b0}};
    wire any_shown = shown != {BOARDS{1'b0}};
    wire any_waits = waits != {BOARDS{1'b0}};
    wire any_doubt = doubted != {BOARDS{1'b0}};
    wire changed = (takes | drops | ends) != {BOARDS{1'b0}};
    wire no_pending = pending == {BOARDS{1'b0}};
    reg [BOARDS-1:0] waits_before_q;

    wire goes_now = in_burst_q && has_origin_q && nobody_waited && any_shown;
    assign fire = state_q == FIRE && can_emit;
    // From the moment a decision may begin, heads must not change; the vote on a doubt is such a decision, too.
    assign hold = state_q == TIMES || state_q == FIRE || ((state_q == VOTE || state_q == APPLY) && mode_q == DOUBT) ||
                  state_q == READY || state_q == LEAVE;
    // Fragments after a head that half of the boards did not follow do not delay the end of the burst.
    wire all_quiet = (is_quiet | doubted | ~boards) == {BOARDS{1'b1}};
    wire is_over = in_burst_q && has_origin_q && !any_shown && nobody_waited && (half_ended_q || half_waits_q);

    // ---- time-outs: their begin, and whether they are over; used in WAIT only, two cycles after any change
    wire        has_since = any_shown || over_since_valid_q;
    wire [31:0] since = any_shown ? first_stamp : over_since_q;
    reg  [31:0] waited_q, stuck_for_q;
    wire [31:0] timeout_twice = {timeout[30:0], 1'b0};

    always @(posedge clk) begin : control
        integer i;
        begin_q    <= 1'b0;
        origin_q   <= 1'b0;
        believe_q  <= 1'b0;
        leave_q    <= 1'b0;
        vote_q     <= 1'b0;
        silenced_q <= {BOARDS{1'b0}};
        gives_up_q <= {BOARDS{1'b0}};
        waits_before_q <= waits;

        // ---- the state of each board
        half_ended_q <= {count(ended_q & boards), 1'b0} >= {1'b0, n_boards};
        if (in_burst_q) begin
            ended_q  <= ended_q | ends;
            gave_q   <= gave_q | takes | drops;
            silent_q <= silent_q & ~((takes & takes_shown) | follows | drops | (ends & began_with_end_q));
        end
        if (changed || waits != waits_before_q || fire) begin
            voted_doubt_q <= 1'b0;
            if (waits != waits_before_q) voted_burst_q <= 1'b0;
        end
        if (!any_waits) half_waits_q <= 1'b0;

        over_since_valid_q <= in_burst_q && (half_ended_q || half_waits_q);
        if (!over_since_valid_q) over_since_q <= newest_stamp;
        waits_since_valid_q <= in_burst_q && half_waits_q;
        if (!waits_since_valid_q) waits_since_q <= newest_stamp;
        waited_q    <= now - since;
        timed_out_q <= has_since && !waited_q[31] && waited_q >= (is_ahead_q ? timeout_twice : timeout) &&
                       (!any_shown || no_event_q[is_ahead_q]);
        // A head may be old because its board's clock is ahead: while events go, the other boards are not late. Where
        // more boards are waited for than have a head, the clocks of those with a head may all be ahead.
        is_ahead_q  <= any_shown && count(shown) < count(waited_for);
        fired_q     <= fire;
        if (fire) last_event_q <= now;
        no_event_for_q <= now - last_event_q;
        no_event_q[0] <= !fire && !fired_q && (no_event_q[0] || (!no_event_for_q[31] && no_event_for_q >= timeout));
        no_event_q[1] <= !fire && !fired_q && (no_event_q[1] || (!no_event_for_q[31] && no_event_for_q >= timeout_twice));
        // Boards without room whose item, or head, other boards do not follow.
        is_crowded_q <= ((waits | doubted) & is_crowded) != {BOARDS{1'b0}} && !half_waits_q;
        if (!is_crowded_q) crowded_since_q <= now;
        crowded_for_q <= now - crowded_since_q;
        crowded_out_q <= is_crowded_q && !crowded_for_q[31] && crowded_for_q >= timeout;
        stuck_for_q <= now - waits_since_q;
        stuck_q     <= waits_since_valid_q && !stuck_for_q[31] && stuck_for_q >= timeout_twice;

        case (state_q)
            READY: begin
                cycles_q <= 4'd1;
                if (goes_now) state_q <= TIMES;
                else if (any_waits && !voted_burst_q) begin
                    state_q       <= VOTE;
                    mode_q        <= BURST;
                    vote_q        <= 1'b1;
                    voted_burst_q <= 1'b1;
                end else if (in_burst_q && any_doubt && !voted_doubt_q && no_pending) begin
                    state_q       <= VOTE;
                    mode_q        <= DOUBT;
                    vote_q        <= 1'b1;
                    voted_doubt_q <= 1'b1;
                end else if (is_over && no_pending && all_quiet && can_emit) state_q <= LEAVE;
                else state_q <= WAIT;  // between bursts, too: a board without room must not hold the input up for ever
            end
            // Heads are in the tree since READY; then their distance from the first, then who is in the window.
            TIMES: begin
                cycles_q <= cycles_q + 4'd1;
                if (cycles_q == TREE + 1) state_q <= FIRE;
            end
            FIRE: if (can_emit) begin
                cycles_q <= 4'd0;
                state_q  <= (no_pending && !any_doubt) ? READY : SETTLE;
            end
            SETTLE: begin
                cycles_q <= cycles_q + 4'd1;
                if ((no_pending && cycles_q != 4'd0) || cycles_q == 4'd8) state_q <= READY;
            end
            VOTE: begin
                cycles_q <= 4'd0;
                if (vote_done) state_q <= APPLY;
            end
            APPLY: begin
                state_q <= OUT;
                if (mode_q == BURST) begin
                    half_waits_q <= vote_found && in_burst_q;
                    if (vote_found && !in_burst_q && waits_same != {BOARDS{1'b0}}) begin
                        begin_q          <= 1'b1;
                        begun_q          <= waits_same & ~waits_with_end;
                        began_with_end_q <= waits_same & waits_with_end;
                        state_q          <= BEGIN;
                    end
                end else if (mode_q == DOUBT) begin
                    believe_q     <= vote_found;
                    voted_doubt_q <= !vote_found;
                end else begin
                    origin_q     <= 1'b1;
                    has_origin_q <= 1'b1;
                end
            end
            // The pulse of APPLY takes effect; boards judge their heads again.
            OUT: begin
                cycles_q <= 4'd0;
                state_q  <= SETTLE;
            end
            BEGIN: begin
                in_burst_q    <= 1'b1;
                has_origin_q  <= 1'b0;
                ended_q       <= {BOARDS{1'b0}};
                silent_q      <= silent_q & ~(gave_q | begun_q | began_with_end_q);
                gave_q        <= begun_q;
                voted_burst_q <= 1'b0;
                half_waits_q  <= 1'b0;
                cycles_q      <= 4'd0;
                state_q       <= FETCH;
            end
            // The first fragments of boards that wait for the burst become heads: they are stored after their packets.
            FETCH: begin
                cycles_q <= cycles_q == 4'd8 ? cycles_q : cycles_q + 4'd1;
                if (cycles_q == 4'd8 && (has_next & begun_q) == begun_q) begin
                    mode_q  <= ORIGIN;
                    vote_q  <= 1'b1;
                    state_q <= VOTE;
                end
            end
            LEAVE: begin
                leave_q       <= 1'b1;
                in_burst_q    <= 1'b0;
                has_origin_q  <= 1'b0;
                voted_burst_q <= 1'b0;
                cycles_q      <= 4'd0;
                state_q       <= OUT;
            end
            default: begin  // WAIT
                cycles_q <= cycles_q == 4'd15 ? cycles_q : cycles_q + 4'd1;
                if (goes_now || is_over || changed || (any_waits && !voted_burst_q) ||
                    (any_doubt && !voted_doubt_q && no_pending)) state_q <= READY;
                else if (cycles_q == 4'd15 && no_pending) begin
                    if (timed_out_q && !nobody_waited) begin
                        silenced_q <= waited_for;
                        silent_q   <= silent_q | waited_for;
                        state_q    <= OUT;
                    end
                    if (stuck_q) ended_q <= boards;
                    if (crowded_out_q) gives_up_q <= (waits | doubted) & is_crowded;
                end
            end
        endcase
        if (rst) begin
            state_q             <= READY;
            in_burst_q          <= 1'b0;
            has_origin_q        <= 1'b0;
            ended_q             <= {BOARDS{1'b0}};
            silent_q            <= {BOARDS{1'b0}};
            gave_q              <= {BOARDS{1'b0}};
            voted_burst_q       <= 1'b0;
            voted_doubt_q       <= 1'b0;
            half_waits_q        <= 1'b0;
            over_since_valid_q  <= 1'b0;
            waits_since_valid_q <= 1'b0;
            is_crowded_q        <= 1'b0;
            no_event_q          <= 2'b11;
            vote_q              <= 1'b0;
            begin_q             <= 1'b0;
            leave_q             <= 1'b0;
        end
    end
    assign vote = vote_q;
    assign vote_mode = mode_q;
    assign begin_burst = begin_q;
    assign set_origin = origin_q;
    assign believe = believe_q;
    assign leave_burst = leave_q;
    assign in_burst = in_burst_q;
    assign has_origin = has_origin_q;
    assign begun = begun_q;
    assign silenced = silenced_q;
    assign silent = silent_q;
    assign ended = ended_q;
    assign gives_up = gives_up_q;
endmodule
`default_nettype wire
