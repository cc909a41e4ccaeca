// SPDX-License-Identifier: Apache-2.0
// Merges the fragments of up to 8 boards that lie within a window after the earliest of them into one event: the rules
// of engine/events in hardware.
// in:      per board the items of its store (fragment_store.sv), crowded and newest burst; now: all input before
//          this time (cycles) was read; newest_stamp: arrival of the newest datagram
// out:     m_*: records of merged events and ends of burst (event_emit.sv); free_addresses back to the stores
//          counters, each a pulse: events by outcome, n_merged fragments with each; per board late, duplicate, ahead
//          (other boards did not follow), missing, silenced
//          for checks, per board: shown, doubted: its head is trusted, or not yet; taken: pulse, the merger has seen the
//          board's next fragment; waiting: with another burst; and the current burst; jump: pulse, half of the boards have
//          made one
// latency: heads complete to first word: 9 cycles with 4 boards, 10 with 8; an event each 5 (6) cycles, or as its words take
// config:  boards: mask of those in use; window ticks; far_fine in 1/256 tick: how far time may advance while fewer than half
//          of the boards follow (time-out and window); timeout in cycles; keep_incomplete
`default_nettype none
module time_merger #(
    parameter BOARDS    = 4,
    parameter HITS_BITS = 11
) (
    input  wire                        clk,
    input  wire                        rst,
    input  wire [BOARDS-1:0]           boards,
    input  wire [7:0]                  window,
    input  wire [39:0]                 far_fine,
    input  wire [31:0]                 timeout,
    input  wire                        keep_incomplete,
    input  wire [31:0]                 now,
    input  wire [31:0]                 newest_stamp,
    input  wire [BOARDS-1:0]           item_valid,
    input  wire [66*BOARDS-1:0]        items,
    output wire [BOARDS-1:0]           item_pop,
    input  wire [32*BOARDS-1:0]        newest_bursts,
    input  wire [BOARDS-1:0]           is_crowded,
    output wire [HITS_BITS-1:0]        read_address,
    input  wire [64*BOARDS-1:0]        read_data,
    output wire [HITS_BITS*BOARDS-1:0] free_addresses,
    output wire [63:0]                 m_tdata,
    output wire                        m_tvalid,
    input  wire                        m_tready,
    output wire                        m_tlast,
    output wire                        m_tuser,
    output wire                        event_complete,
    output wire                        event_incomplete,
    output wire                        event_rejected,
    output wire [3:0]                  n_merged,
    output wire                        burst_begins,
    output wire                        burst_over,
    output wire [BOARDS-1:0]           late,
    output wire [BOARDS-1:0]           duplicate,
    output wire [BOARDS-1:0]           ahead,
    output wire [BOARDS-1:0]           missing,
    output wire [BOARDS-1:0]           silenced,
    output wire [BOARDS-1:0]           silent,
    output wire [BOARDS-1:0]           ended,
    output wire [BOARDS-1:0]           shown,
    output wire [BOARDS-1:0]           doubted,
    output wire [BOARDS-1:0]           taken,
    output wire [BOARDS-1:0]           waiting,
    output wire [31:0]                 burst,
    output wire                        jump
);
    localparam TREE = BOARDS <= 2 ? 1 : BOARDS <= 4 ? 2 : 3;
    localparam [1:0] VOTE_BURST = 0, VOTE_ORIGIN = 1;

    // ---- values by which all boards are judged
    reg [31:0]       burst_q;
    reg [127:0]      gone_q;
    reg [3:0]        gone_valid_q, n_boards_q;
    reg [33:0]       last_ticks_q;
    reg              has_last_q, has_believed_q;
    reg [BOARDS-1:0] last_members_q;
    reg [41:0]       believed_q;

    wire fire, hold, begin_burst, set_origin, believe, leave_burst, in_burst, has_origin, vote, vote_done, vote_found;
    wire [1:0]  vote_mode;
    wire [BOARDS-1:0] begun;
    wire [41:0] vote_value;
    wire step = fire || believe || set_origin;

    // ---- boards
    wire [BOARDS-1:0]           pending, is_quiet, fragment_valid, waits, waits_with_end, ends, takes,
                                takes_shown, follows, late_of_head, late_of_items, ahead_of_head, ahead_of_items, gives_up;
    wire [42*BOARDS-1:0]        head_times;
    wire [8*BOARDS-1:0]         head_n_hits;
    wire [HITS_BITS*BOARDS-1:0] head_addresses, run_addresses;
    wire [32*BOARDS-1:0]        head_stamps, waits_with, next_timestamps;
    reg  [BOARDS-1:0]           members_q;
    genvar b;
    generate
        for (b = 0; b < BOARDS; b = b + 1) begin : of_board
            wire                 f_taken;
            wire [7:0]           f_fine, f_n_hits;
            wire [HITS_BITS-1:0] f_address;
            wire [31:0]          f_stamp;
            board_items #(.HITS_BITS(HITS_BITS)) u_items (
                .clk(clk), .rst(rst), .item_valid(item_valid[b]), .item(items[66*b +: 66]), .item_pop(item_pop[b]),
                .newest_burst(newest_bursts[32*b +: 32]), .in_burst(in_burst), .burst(burst_q), .gone(gone_q),
                .gone_valid(gone_valid_q), .leave(leave_burst), .leave_ahead(doubted[b]), .give_up(gives_up[b]),
                .fragment_valid(fragment_valid[b]), .fragment_taken(f_taken),
                .fragment_timestamp(next_timestamps[32*b +: 32]), .fragment_fine(f_fine), .fragment_n_hits(f_n_hits),
                .fragment_address(f_address), .fragment_stamp(f_stamp), .waits(waits[b]),
                .waits_with(waits_with[32*b +: 32]), .waits_with_end(waits_with_end[b]), .ends(ends[b]),
                .drops_late(late_of_items[b]), .drops_ahead(ahead_of_items[b]), .is_quiet(is_quiet[b]),
                .run_address(run_addresses[HITS_BITS*b +: HITS_BITS])
            );
            board_head #(.HITS_BITS(HITS_BITS)) u_head (
                .clk(clk), .rst(rst), .fragment_valid(fragment_valid[b]), .fragment_taken(f_taken),
                .fragment_timestamp(next_timestamps[32*b +: 32]), .fragment_fine(f_fine), .fragment_n_hits(f_n_hits),
                .fragment_address(f_address), .fragment_stamp(f_stamp), .has_origin(has_origin), .last_ticks(last_ticks_q),
                .has_last(has_last_q), .was_member(last_members_q[b]), .window(window), .believed(believed_q),
                .has_believed(has_believed_q), .far_fine(far_fine), .step(step), .hold(hold), .pop(fire && members_q[b]),
                .forget(leave_burst), .drop_doubted(gives_up[b]), .shown(shown[b]), .doubted(doubted[b]),
                .head_time(head_times[42*b +: 42]), .head_n_hits(head_n_hits[8*b +: 8]),
                .head_address(head_addresses[HITS_BITS*b +: HITS_BITS]), .head_stamp(head_stamps[32*b +: 32]),
                .pending(pending[b]), .takes(takes[b]), .takes_shown(takes_shown[b]), .follows(follows[b]),
                .drops_late(late_of_head[b]), .drops_duplicate(duplicate[b]), .drops_ahead(ahead_of_head[b])
            );
        end
    endgenerate

    // ---- the earliest head, and the heads within the window after it
    wire        first_valid;
    wire [41:0] first_time;
    wire [2:0]  first_board;
    head_tree #(.BOARDS(BOARDS)) u_tree (
        .clk(clk), .valid(shown), .times(head_times), .first_valid(first_valid), .first_time(first_time),
        .first_board(first_board)
    );
    reg [34*BOARDS-1:0] apart_q;
    reg [16*BOARDS-1:0] offsets_q;
    reg [31:0]          first_stamp_q;
    reg [41:0]          last_member_time;
    always @(posedge clk) begin : distances
        integer i;
        for (i = 0; i < BOARDS; i = i + 1) begin
            apart_q[34*i +: 34]   <= head_times[42*i + 8 +: 34] - first_time[41:8];
            members_q[i]          <= shown[i] && apart_q[34*i +: 34] <= {26'd0, window};
            offsets_q[16*i +: 16] <= head_times[42*i +: 16] - first_time[15:0];
            if (first_board == i[2:0]) first_stamp_q <= head_stamps[32*i +: 32];
        end
    end
    always @* begin : highest_member
        integer i;
        last_member_time = head_times[41:0];
        for (i = 0; i < BOARDS; i = i + 1) if (members_q[i]) last_member_time = head_times[42*i +: 42];
    end

    // ---- decisions
    reg  [BOARDS-1:0] waits_same_q;
    reg               d_valid_q, d_is_end_q;
    wire              d_ready;
    // Not free in the cycle in which event_emit ends its event: this is known too late for a decision of all boards,
    // and deciding on the next event takes less time than emitting this one.
    wire              can_emit = !d_valid_q;
    merge_control #(.BOARDS(BOARDS), .TREE(TREE)) u_control (
        .clk(clk), .rst(rst), .boards(boards), .n_boards(n_boards_q), .timeout(timeout), .now(now),
        .newest_stamp(newest_stamp), .shown(shown), .doubted(doubted), .pending(pending), .is_quiet(is_quiet),
        .has_next(fragment_valid), .waits(waits), .waits_with_end(waits_with_end), .waits_same(waits_same_q),
        .is_crowded(is_crowded), .ends(ends), .takes(takes), .takes_shown(takes_shown), .follows(follows),
        .drops(late_of_head | duplicate), .first_stamp(first_stamp_q), .can_emit(can_emit), .fire(fire), .hold(hold),
        .vote(vote), .vote_mode(vote_mode), .vote_done(vote_done), .vote_found(vote_found), .begin_burst(begin_burst),
        .set_origin(set_origin), .believe(believe), .leave_burst(leave_burst), .in_burst(in_burst),
        .has_origin(has_origin), .begun(begun), .silenced(silenced), .silent(silent), .ended(ended), .gives_up(gives_up)
    );
    reg  [42*BOARDS-1:0] vote_values;
    always @* begin : choose_values
        integer i;
        for (i = 0; i < BOARDS; i = i + 1)
            vote_values[42*i +: 42] = vote_mode == VOTE_BURST ? {10'd0, waits_with[32*i +: 32]} :
                                      vote_mode == VOTE_ORIGIN ? {10'd0, next_timestamps[32*i +: 32]} :
                                      head_times[42*i +: 42];
    end
    board_votes #(.BOARDS(BOARDS)) u_votes (
        .clk(clk), .rst(rst), .start(vote), .mode(vote_mode),
        .takes_part(vote_mode == VOTE_BURST ? waits : vote_mode == VOTE_ORIGIN ? begun : shown | doubted),
        .is_asked(vote_mode == VOTE_BURST ? waits : vote_mode == VOTE_ORIGIN ? begun : doubted), .values(vote_values),
        .burst(burst_q), .far_fine(far_fine), .n_boards(n_boards_q), .done(vote_done), .found(vote_found), .value(vote_value)
    );

    wire [BOARDS-1:0] missing_now = boards & ~members_q;
    wire is_complete = missing_now == {BOARDS{1'b0}};
    wire is_kept = is_complete || keep_incomplete;
    reg  [3:0] n_in_use, n_members;
    always @* begin : counts
        integer i;
        n_in_use = 4'd0;
        n_members = 4'd0;
        for (i = 0; i < BOARDS; i = i + 1) begin
            n_in_use = n_in_use + {3'd0, boards[i]};
            n_members = n_members + {3'd0, members_q[i]};
        end
    end

    reg [31:0]                 d_burst_q, d_timestamp_q;
    reg [7:0]                  d_fine_q;
    reg [BOARDS-1:0]           d_missing_q, d_members_q;
    reg [8*BOARDS-1:0]         d_n_hits_q;
    reg [16*BOARDS-1:0]        d_offsets_q;
    reg [HITS_BITS*BOARDS-1:0] d_addresses_q;
    always @(posedge clk) begin : judge
        integer i;
        n_boards_q <= n_in_use;
        for (i = 0; i < BOARDS; i = i + 1) waits_same_q[i] <= waits[i] && waits_with[32*i +: 32] == vote_value[31:0];
        if (d_ready) d_valid_q <= 1'b0;
        if (fire) begin
            last_ticks_q   <= first_time[41:8];
            last_members_q <= members_q;
            has_last_q     <= 1'b1;
            believed_q     <= last_member_time;
            d_valid_q      <= is_kept;
            d_is_end_q     <= 1'b0;
            d_burst_q      <= burst_q;
            d_timestamp_q  <= first_time[39:8];
            d_fine_q       <= first_time[7:0];
            d_missing_q    <= missing_now;
            d_members_q    <= members_q;
            for (i = 0; i < BOARDS; i = i + 1) begin
                d_n_hits_q[8*i +: 8]    <= members_q[i] ? head_n_hits[8*i +: 8] : 8'd0;
                d_offsets_q[16*i +: 16] <= members_q[i] ? offsets_q[16*i +: 16] : 16'd0;
            end
            d_addresses_q  <= head_addresses;
        end
        if (believe) begin
            believed_q     <= vote_value;
            has_believed_q <= 1'b1;
        end
        if (begin_burst) begin
            burst_q        <= vote_value[31:0];
            has_last_q     <= 1'b0;
            has_believed_q <= 1'b0;
        end
        // Room for timestamps before the first one, as in burst_origin_ticks.
        if (set_origin) last_ticks_q <= {2'b01, vote_found ? vote_value[31:0] : 32'd0};
        if (leave_burst) begin
            gone_q        <= {gone_q[95:0], burst_q};
            gone_valid_q  <= {gone_valid_q[2:0], 1'b1};
            d_valid_q     <= 1'b1;
            d_is_end_q    <= 1'b1;
            d_burst_q     <= burst_q;
            d_timestamp_q <= 32'd0;
            d_fine_q      <= 8'd0;
            d_missing_q   <= {BOARDS{1'b0}};
            d_members_q   <= {BOARDS{1'b0}};
            d_n_hits_q    <= {(8*BOARDS){1'b0}};
            d_offsets_q   <= {(16*BOARDS){1'b0}};
        end
        if (rst) begin
            d_valid_q      <= 1'b0;
            burst_q        <= 32'd0;
            gone_valid_q   <= 4'd0;
            has_last_q     <= 1'b0;
            has_believed_q <= 1'b0;
        end
    end

    // ---- out, and room back to the stores: the oldest fragment that still needs its hits
    wire [BOARDS-1:0]           in_use;
    wire [HITS_BITS*BOARDS-1:0] use_addresses;
    event_emit #(.BOARDS(BOARDS), .HITS_BITS(HITS_BITS)) u_emit (
        .clk(clk), .rst(rst), .d_valid(d_valid_q), .d_ready(d_ready), .d_is_end(d_is_end_q), .d_burst(d_burst_q),
        .d_timestamp(d_timestamp_q), .d_fine(d_fine_q), .d_missing(d_missing_q), .d_members(d_members_q),
        .d_n_hits(d_n_hits_q), .d_offsets(d_offsets_q), .d_addresses(d_addresses_q), .n_boards(n_boards_q),
        .read_address(read_address), .read_data(read_data), .in_use(in_use), .use_address(use_addresses),
        .m_tdata(m_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast), .m_tuser(m_tuser)
    );
    reg [HITS_BITS*BOARDS-1:0] free_q;
    always @(posedge clk) begin : oldest
        integer i;
        for (i = 0; i < BOARDS; i = i + 1)
            free_q[HITS_BITS*i +: HITS_BITS] <= in_use[i] ? use_addresses[HITS_BITS*i +: HITS_BITS] :
                d_valid_q && d_members_q[i] ? d_addresses_q[HITS_BITS*i +: HITS_BITS] :
                shown[i] || doubted[i] ? head_addresses[HITS_BITS*i +: HITS_BITS] : run_addresses[HITS_BITS*i +: HITS_BITS];
        if (rst) free_q <= {(HITS_BITS * BOARDS){1'b0}};
    end
    assign free_addresses = free_q;

    assign event_complete = fire && is_complete;
    assign event_incomplete = fire && !is_complete;
    assign event_rejected = fire && !is_kept;
    assign n_merged = fire ? n_members : 4'd0;
    assign missing = fire ? missing_now : {BOARDS{1'b0}};
    assign burst_begins = set_origin;
    assign burst_over = leave_burst;
    assign late = late_of_head | late_of_items;
    assign ahead = ahead_of_head | ahead_of_items;
    assign taken = takes | follows;
    assign waiting = waits;
    assign burst = burst_q;
    assign jump = believe;
endmodule
`default_nettype wire
