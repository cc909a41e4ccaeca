// SPDX-License-Identifier: Apache-2.0
// Turns MGP datagrams into fragments, and checks them in the order of the verdicts in docs/reference/mgp.md.
// in:      the payload stream of the receive path (s_*)
// out:     p_*: per packet with a valid header one START, its fragments' beats (FRAGMENT, see hit_unpack.sv), one END.
//          START: p_board, p_burst, p_stamp, p_marker (1 a burst begins, 2 it has ended). END: p_good: keep it all;
//          otherwise nothing of it may be used. Only one packet is between START and END at a time
//          verdict_valid, verdict: once per datagram, numbered as wire::Verdict; 13: bad_frame, a datagram whose length
//          differs from its length field, or that the receive path marks as bad, which software never sees
//          busy, busy_stamp: a datagram is inside, and the time of its arrival
// latency: 10 cycles from the fifth word to the first fragment's beat; END 5 to 8 cycles after the last word
`default_nettype none
module mgp_parser #(
    parameter BOARDS = 4
) (
    input  wire                 clk,
    input  wire                 rst,
    input  wire [63:0]          s_tdata,
    input  wire [7:0]           s_tkeep,
    input  wire                 s_tvalid,
    output wire                 s_tready,
    input  wire                 s_tlast,
    input  wire                 s_tuser,
    input  wire [3:0]           s_stream,
    input  wire [15:0]          s_length,
    input  wire [31:0]          s_stamp,
    input  wire [16*BOARDS-1:0] board_ids,
    input  wire [4*BOARDS-1:0]  board_streams,
    input  wire [BOARDS-1:0]    board_mask,
    input  wire [9:0]           n_channels,
    output wire                 p_valid,
    input  wire                 p_ready,
    output wire [1:0]           p_kind,
    output wire [2:0]           p_board,
    output wire [31:0]          p_burst,
    output wire [31:0]          p_stamp,
    output wire [1:0]           p_marker,
    output wire                 p_good,
    output wire                 p_first,
    output wire [31:0]          p_timestamp,
    output wire [7:0]           p_fine,
    output wire [7:0]           p_n_hits,
    output wire                 p_has_hits,
    output wire [63:0]          p_hits,
    output wire                 verdict_valid,
    output wire [3:0]           verdict,
    output wire                 busy,
    output wire [31:0]          busy_stamp
);
    localparam [1:0] START = 0, FRAGMENT = 1, END = 2;
    localparam [3:0] OK = 0, WRONG_CHECKSUM = 7, BAD_FRAME = 13;
    localparam [2:0] IDLE = 0, BEGIN = 1, WALK = 2, SUM = 3, TELL = 4;

    wire        w_valid, w_ready, w_last, w_empty, sum_valid, sum_good, frame_good, in_frame;
    wire [63:0] w_data;
    wire [3:0]  early, late, walked;
    wire [2:0]  board;
    wire [7:0]  flags;
    wire [15:0] length, n_events;
    wire [31:0] burst_id, stamp;
    reg         sum_taken_q;
    mgp_header #(.BOARDS(BOARDS)) u_header (
        .clk(clk), .rst(rst), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .s_tlast(s_tlast), .s_tuser(s_tuser), .s_stream(s_stream), .s_length(s_length), .s_stamp(s_stamp),
        .board_ids(board_ids), .board_streams(board_streams), .board_mask(board_mask), .w_valid(w_valid),
        .w_ready(w_ready), .w_data(w_data), .w_last(w_last), .w_empty(w_empty), .early(early), .late(late), .board(board),
        .flags(flags), .length(length), .n_events(n_events), .burst_id(burst_id), .stamp(stamp), .sum_valid(sum_valid),
        .sum_good(sum_good), .frame_good(frame_good), .sum_taken(sum_taken_q),
        .in_frame(in_frame)
    );

    // ---- one packet: its header fields, held while its words are unpacked
    reg [2:0]  state_q;
    reg [3:0]  early_q, late_q, verdict_q;
    reg [2:0]  board_q;
    reg [31:0] burst_q, stamp_q;
    reg [1:0]  marker_q;
    reg        told_q;
    wire       is_used = early_q == OK && late_q == OK;  // there is a START, and so there will be an END
    wire       walk_done, f_valid, f_first, f_has_hits;
    wire       begins = state_q == BEGIN && (!is_used || p_ready);
    hit_unpack u_unpack (
        .clk(clk), .rst(rst), .n_channels(n_channels), .start(begins), .is_off(!is_used || marker_q != 2'd0),
        .n_events(n_events), .payload_bytes(length - 16'd32), .with_time(flags[0]), .w_valid(w_valid), .w_ready(w_ready),
        .w_data(w_data), .w_last(w_last), .w_empty(w_empty), .f_valid(f_valid), .f_ready(!f_valid || p_ready),
        .f_first(f_first), .f_timestamp(p_timestamp), .f_fine(p_fine), .f_n_hits(p_n_hits), .f_has_hits(f_has_hits),
        .f_hits(p_hits), .done(walk_done), .verdict(walked)
    );

    reg  [3:0] walked_q;
    always @(posedge clk) begin
        sum_taken_q <= 1'b0;
        told_q      <= 1'b0;
        case (state_q)
            IDLE: if (w_valid) begin  // the header holds while the first word waits
                early_q  <= early;
                late_q   <= late;
                board_q  <= board;
                burst_q  <= burst_id;
                stamp_q  <= stamp;
                marker_q <= {flags[3], flags[2]};
                state_q  <= BEGIN;
            end
            BEGIN: if (begins) state_q <= WALK;
            WALK: if (walk_done) begin
                walked_q <= marker_q != 2'd0 ? OK : walked;
                state_q  <= SUM;
            end
            SUM: if (sum_valid && !sum_taken_q) begin
                verdict_q   <= !frame_good ? BAD_FRAME : early_q != OK ? early_q : !sum_good ? WRONG_CHECKSUM :
                               late_q != OK ? late_q : walked_q;
                sum_taken_q <= 1'b1;
                told_q      <= 1'b1;
                state_q     <= is_used ? TELL : IDLE;
            end
            default: if (p_ready) state_q <= IDLE;  // TELL
        endcase
        if (rst) begin
            state_q <= IDLE;
            told_q  <= 1'b0;
        end
    end

    assign p_valid = (state_q == BEGIN && is_used) || f_valid || state_q == TELL;
    assign p_kind = state_q == BEGIN ? START : state_q == TELL ? END : FRAGMENT;
    assign p_board = board_q;
    assign p_burst = burst_q;
    assign p_stamp = stamp_q;
    assign p_marker = marker_q;
    assign p_good = verdict_q == OK;
    assign p_first = f_first;
    assign p_has_hits = f_has_hits;
    assign verdict_valid = told_q;
    assign verdict = verdict_q;
    assign busy = state_q != IDLE || w_valid || in_frame;
    assign busy_stamp = stamp_q;
endmodule
`default_nettype wire
