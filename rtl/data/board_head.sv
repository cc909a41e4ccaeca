// SPDX-License-Identifier: Apache-2.0
// Holds the fragment at the head of one board's stream, and decides whether the merger may use it.
// in:      fragment_*: the board's next fragment (board_items.sv); last_*: the last event, for lateness; believed_*:
//          the time reached so far; hold: only pop may change a head; step: last_*, believed_* change with this edge
// out:     head_*: a head, shown (trusted) or doubted (too far ahead); time is 34 bits of ticks, 8 of fine time
//          pending: a fragment is being judged; takes: pulse, one became the head (not the successor of a popped one),
//          with takes_shown; drops_late, drops_duplicate: pulses; falls_back: pulse, popped without a successor ready
// latency: pop to next head 1 cycle if that is later, and by no more than far; else, and to an empty head, 5 cycles
// The successor of a head is compared with the head while the head waits: it then needs neither the last event nor the
// believed time. Every other fragment is judged by those two, and again from the start whenever they change.
`default_nettype none
module board_head #(
    parameter HITS_BITS = 11
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire                 fragment_valid,
    output wire                 fragment_taken,
    input  wire [31:0]          fragment_timestamp,
    input  wire [7:0]           fragment_fine,
    input  wire [7:0]           fragment_n_hits,
    input  wire [HITS_BITS-1:0] fragment_address,
    input  wire [31:0]          fragment_stamp,
    input  wire                 has_origin,
    input  wire [33:0]          last_ticks,
    input  wire                 has_last,
    input  wire                 was_member,
    input  wire [7:0]           window,
    input  wire [41:0]          believed,
    input  wire                 has_believed,
    input  wire [39:0]          far_fine,
    input  wire                 step,
    input  wire                 hold,
    input  wire                 pop,
    input  wire                 forget,      // of the burst: head and the last time used
    input  wire                 drop_doubted,
    output wire                 shown,
    output wire                 doubted,
    output wire [41:0]          head_time,
    output wire [7:0]           head_n_hits,
    output wire [HITS_BITS-1:0] head_address,
    output wire [31:0]          head_stamp,
    output wire                 pending,
    output wire                 takes,
    output wire                 takes_shown,
    output wire                 follows,
    output wire                 drops_late,
    output wire                 drops_duplicate,
    output wire                 drops_ahead
);
    localparam [2:0] IDLE = 0, DISTANCE = 1, LATENESS = 2, NEARNESS = 3, TRUST = 4, DOUBT = 5;

    reg [2:0]           state_q;
    reg                 shown_q, doubted_q, takes_q, takes_shown_q, follows_q, late_q, duplicate_q, ahead_q;
    reg [41:0]          time_q;
    reg [7:0]           n_hits_q;
    reg [HITS_BITS-1:0] address_q;
    reg [31:0]          stamp_q;
    reg                 has_used_q;
    reg [39:0]          used_q;

    // ---- the successor against the head: two registered steps
    wire        has_head = shown_q || doubted_q;
    reg         compared_q, settled_q, next_is_good_q;
    reg [39:0]  apart_q;
    reg [31:0]  ticks_apart_q;
    wire        follows_now = pop && settled_q && next_is_good_q;
    reg  [31:0] ticks_settled_q;
    always @(posedge clk) begin
        apart_q         <= {fragment_timestamp, fragment_fine} - time_q[39:0];
        ticks_apart_q   <= fragment_timestamp - time_q[39:8];
        compared_q      <= fragment_valid && shown_q && !pop && !rst;
        next_is_good_q  <= !apart_q[39] && apart_q != 40'd0 && apart_q <= far_fine;
        ticks_settled_q <= ticks_apart_q;
        settled_q       <= compared_q && !pop && !rst;
    end

    // ---- any other fragment, and a head in doubt, against the last event and what is believed
    wire        of_head = doubted_q;
    reg  [33:0] distance_q;
    reg         is_same_q;
    reg  [41:0] judged_q, ahead_by_q;
    // Late: before the last event, or within its closed window and from a board that was not in that event.
    wire        in_window = distance_q[32:8] == 25'd0 && distance_q[7:0] <= window;
    wire        is_late = has_last && (distance_q[33] || (!was_member && in_window));
    wire        is_near = has_believed && (ahead_by_q[41] || ahead_by_q <= {2'b00, far_fine});
    wire [31:0] ticks_from_last = fragment_timestamp - last_ticks[31:0];
    wire        judges_next = fragment_valid && !has_head && has_origin;
    // A fragment leaves its register when it becomes the head or is dropped.
    // It may not be dropped during a decision, as a late fragment, too, shows that its board is alive.
    wire        drops = state_q == LATENESS && !step && !hold && !of_head && (is_late || is_same_q);
    wire        trusts = state_q == TRUST && !step && !hold;
    assign fragment_taken = !forget && (follows_now || drops || (trusts && !of_head));

    always @(posedge clk) begin
        takes_q     <= 1'b0;
        follows_q   <= 1'b0;
        late_q      <= 1'b0;
        duplicate_q <= 1'b0;
        ahead_q     <= 1'b0;
        distance_q  <= of_head ? time_q[41:8] - last_ticks : {{2{ticks_from_last[31]}}, ticks_from_last};
        is_same_q   <= !of_head && has_used_q && {fragment_timestamp, fragment_fine} == used_q;
        if (state_q == LATENESS) judged_q <= of_head ? time_q : {last_ticks + distance_q, fragment_fine};
        ahead_by_q  <= judged_q - believed;
        case (state_q)
            IDLE: if (judges_next) state_q <= DISTANCE;
            DISTANCE: state_q <= LATENESS;
            LATENESS:
                if (!is_late && !is_same_q) state_q <= NEARNESS;
                else if (!hold) begin
                    state_q     <= IDLE;
                    late_q      <= is_late;
                    duplicate_q <= !is_late;
                    if (of_head) doubted_q <= 1'b0;
                end
            NEARNESS: state_q <= TRUST;
            TRUST: if (!hold) begin
                state_q       <= is_near ? IDLE : DOUBT;
                shown_q       <= is_near;
                doubted_q     <= !is_near;
                takes_q       <= !of_head;
                takes_shown_q <= is_near;
                if (!of_head) begin
                    time_q    <= judged_q;
                    n_hits_q  <= fragment_n_hits;
                    address_q <= fragment_address;
                    stamp_q   <= fragment_stamp;
                end
            end
            default: ;  // DOUBT: until the next step
        endcase
        if (step && state_q != IDLE) begin
            state_q     <= DISTANCE;
            shown_q     <= shown_q && !pop;
            doubted_q   <= doubted_q;
            takes_q     <= 1'b0;
            late_q      <= 1'b0;
            duplicate_q <= 1'b0;
        end
        if (pop) begin
            used_q     <= time_q[39:0];
            has_used_q <= 1'b1;
            shown_q    <= follows_now;
            if (follows_now) begin
                time_q    <= {time_q[41:8] + {2'b00, ticks_settled_q}, fragment_fine};
                n_hits_q  <= fragment_n_hits;
                address_q <= fragment_address;
                stamp_q   <= fragment_stamp;
                follows_q <= 1'b1;
            end
        end
        if (drop_doubted && doubted_q) begin
            doubted_q <= 1'b0;
            ahead_q   <= 1'b1;
            state_q   <= IDLE;
        end
        if (forget) begin
            state_q     <= IDLE;
            shown_q     <= 1'b0;
            doubted_q   <= 1'b0;
            has_used_q  <= 1'b0;
            takes_q     <= 1'b0;
            late_q      <= 1'b0;
            duplicate_q <= 1'b0;
            ahead_q     <= doubted_q;
        end
        if (rst) begin
            state_q    <= IDLE;
            shown_q    <= 1'b0;
            doubted_q  <= 1'b0;
            has_used_q <= 1'b0;
            ahead_q    <= 1'b0;
        end
    end
    assign shown = shown_q;
    assign doubted = doubted_q;
    assign head_time = time_q;
    assign head_n_hits = n_hits_q;
    assign head_address = address_q;
    assign head_stamp = stamp_q;
    assign pending = (fragment_valid && !has_head) || (state_q != IDLE && state_q != DOUBT);
    assign takes = takes_q;
    assign takes_shown = takes_shown_q;
    assign follows = follows_q;
    assign drops_late = late_q;
    assign drops_duplicate = duplicate_q;
    assign drops_ahead = ahead_q;
endmodule
`default_nettype wire
