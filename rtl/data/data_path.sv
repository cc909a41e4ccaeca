// SPDX-License-Identifier: Apache-2.0
// The data path of the card: merges datagrams of up to 8 boards into events.
// in:      the payload stream of the receive path (s_*, with stream, length and stamp); cycle: the card's clock
// out:     m_*: records of merged events (event_emit.sv), a packet each; tuser: the record of an end of burst
//          counters as pulses: verdict (one per datagram, see mgp_parser.sv), dropped packets, and those of time_merger.sv
// latency: last word of a packet of one event to the first word of it merged: see docs/reference/card-merger.md
// config:  as described in the modules; boards, board_ids, board_streams: source and stream of each board in use
// memory:  per board 2^ITEM_BITS items of 66 bits and 2^HITS_BITS words of hits
`default_nettype none
module data_path #(
    parameter BOARDS    = 4,
    parameter ITEM_BITS = 10,
    parameter HITS_BITS = 11
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [31:0]          cycle,
    input  wire [63:0]          s_tdata,
    input  wire [7:0]           s_tkeep,
    input  wire                 s_tvalid,
    output wire                 s_tready,
    input  wire                 s_tlast,
    input  wire                 s_tuser,
    input  wire [3:0]           s_stream,
    input  wire [15:0]          s_length,
    input  wire [31:0]          s_stamp,
    input  wire [BOARDS-1:0]    boards,
    input  wire [16*BOARDS-1:0] board_ids,
    input  wire [4*BOARDS-1:0]  board_streams,
    input  wire [9:0]           n_channels,
    input  wire                 drop_when_full,
    input  wire [7:0]           window,
    input  wire [39:0]          far_fine,
    input  wire [31:0]          timeout,
    input  wire                 keep_incomplete,
    output wire [63:0]          m_tdata,
    output wire                 m_tvalid,
    input  wire                 m_tready,
    output wire                 m_tlast,
    output wire                 m_tuser,
    output wire                 verdict_valid,
    output wire [3:0]           verdict,
    output wire                 dropped,
    output wire                 event_complete,
    output wire                 event_incomplete,
    output wire                 event_rejected,
    output wire [3:0]           n_merged,
    output wire                 burst_begins,
    output wire                 burst_over,
    output wire [BOARDS-1:0]    late,
    output wire [BOARDS-1:0]    duplicate,
    output wire [BOARDS-1:0]    ahead,
    output wire [BOARDS-1:0]    missing,
    output wire [BOARDS-1:0]    silenced,
    output wire [BOARDS-1:0]    silent,
    output wire [BOARDS-1:0]    ended,
    output wire [BOARDS-1:0]    shown,
    output wire [BOARDS-1:0]    doubted,
    output wire [BOARDS-1:0]    taken,
    output wire [BOARDS-1:0]    waiting,
    output wire [31:0]          burst,
    output wire                 jump,
    output wire [31:0]          read_until,
    output wire [31:0]          newest_stamp
);
    wire        p_valid, p_ready, p_good, p_first, p_has_hits, busy, stalled;
    wire [1:0]  p_kind, p_marker;
    wire [2:0]  p_board;
    wire [31:0] p_burst, p_stamp, p_timestamp, busy_stamp;
    wire [7:0]  p_fine, p_n_hits;
    wire [63:0] p_hits;
    mgp_parser #(.BOARDS(BOARDS)) u_parser (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser(s_tuser), .s_stream(s_stream), .s_length(s_length), .s_stamp(s_stamp),
        .board_ids(board_ids), .board_streams(board_streams), .board_mask(boards), .n_channels(n_channels),
        .p_valid(p_valid), .p_ready(p_ready), .p_kind(p_kind), .p_board(p_board), .p_burst(p_burst), .p_stamp(p_stamp),
        .p_marker(p_marker), .p_good(p_good), .p_first(p_first), .p_timestamp(p_timestamp), .p_fine(p_fine),
        .p_n_hits(p_n_hits), .p_has_hits(p_has_hits), .p_hits(p_hits), .verdict_valid(verdict_valid), .verdict(verdict),
        .busy(busy), .busy_stamp(busy_stamp)
    );

    wire [BOARDS-1:0] has_room, only_this, is_crowded, item_we, hits_we, commit, rollback, item_valid, item_pop;
    wire [65:0]       item;
    wire [63:0]       hits;
    burst_follow #(.BOARDS(BOARDS)) u_follow (
        .clk(clk), .rst(rst), .drop_when_full(drop_when_full), .p_valid(p_valid), .p_ready(p_ready), .p_kind(p_kind),
        .p_board(p_board), .p_burst(p_burst), .p_stamp(p_stamp), .p_marker(p_marker), .p_good(p_good), .p_first(p_first),
        .p_timestamp(p_timestamp), .p_fine(p_fine), .p_n_hits(p_n_hits), .p_has_hits(p_has_hits), .p_hits(p_hits),
        .has_room(has_room), .only_this(only_this), .item_we(item_we), .item(item), .hits_we(hits_we), .hits(hits),
        .commit(commit), .rollback(rollback), .dropped(dropped), .stalled(stalled)
    );

    wire [66*BOARDS-1:0]        items;
    wire [32*BOARDS-1:0]        newest_bursts;
    wire [64*BOARDS-1:0]        read_data;
    wire [HITS_BITS-1:0]        read_address;
    wire [HITS_BITS*BOARDS-1:0] free_addresses;
    genvar b;
    generate
        for (b = 0; b < BOARDS; b = b + 1) begin : of_board
            fragment_store #(.ITEM_BITS(ITEM_BITS), .HITS_BITS(HITS_BITS)) u_store (
                .clk(clk), .rst(rst), .item_we(item_we[b]), .item(item), .hits_we(hits_we[b]), .hits(hits),
                .commit(commit[b]), .rollback(rollback[b]), .has_room(has_room[b]), .only_this(only_this[b]),
                .is_crowded(is_crowded[b]), .newest_burst(newest_bursts[32*b +: 32]), .next_valid(item_valid[b]),
                .next_item(items[66*b +: 66]), .next_pop(item_pop[b]), .read_address(read_address),
                .read_data(read_data[64*b +: 64]), .free_address(free_addresses[HITS_BITS*b +: HITS_BITS])
            );
        end
    endgenerate

    // Time up to which all datagrams were read (docs/decisions/0017-silence.md): now, or if a datagram is inside or at
    // the input, its arrival. While a full store stalls the input, no awaited fragment can come: then it is also now.
    reg [31:0] read_until_q, newest_stamp_q;
    always @(posedge clk) begin
        if (stalled || !(busy || s_tvalid)) read_until_q <= cycle;
        else if (busy) read_until_q <= busy_stamp;
        if (commit != {BOARDS{1'b0}}) newest_stamp_q <= busy_stamp;
        if (rst) newest_stamp_q <= cycle;
    end
    assign read_until = read_until_q;
    assign newest_stamp = newest_stamp_q;

    time_merger #(.BOARDS(BOARDS), .HITS_BITS(HITS_BITS)) u_merger (
        .clk(clk), .rst(rst), .boards(boards), .window(window), .far_fine(far_fine), .timeout(timeout),
        .keep_incomplete(keep_incomplete), .now(read_until_q), .newest_stamp(newest_stamp_q), .item_valid(item_valid),
        .items(items), .item_pop(item_pop), .newest_bursts(newest_bursts), .is_crowded(is_crowded),
        .read_address(read_address), .read_data(read_data), .free_addresses(free_addresses), .m_tdata(m_tdata),
        .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast), .m_tuser(m_tuser), .event_complete(event_complete),
        .event_incomplete(event_incomplete), .event_rejected(event_rejected), .n_merged(n_merged),
        .burst_begins(burst_begins), .burst_over(burst_over), .late(late), .duplicate(duplicate), .ahead(ahead),
        .missing(missing), .silenced(silenced), .silent(silent), .ended(ended), .shown(shown), .doubted(doubted), .taken(taken),
        .waiting(waiting), .burst(burst), .jump(jump)
    );
endmodule
`default_nettype wire
