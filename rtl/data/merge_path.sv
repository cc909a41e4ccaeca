// SPDX-License-Identifier: Apache-2.0
// The merger in the card: turns datagrams into records of merged events, with the host's settings and counters.
// in:      s_*: payloads of the receive path; settings of registers.yaml (`merger`, `board`), always for 8
//          boards
// out:     m_*: records for the memory path (event_pack.sv), with length and stamps; pulses for counters, per board 8
//          of them; fragments, hits: sums; silent, ended: per board; idle: no datagram and no record is inside
// latency: that of data_path and event_pack; pulses a cycle more
// registers: do not change them while datagrams come, as the modules would use the new values at once
`default_nettype none
module merge_path #(
    parameter BOARDS    = 4,
    parameter ITEM_BITS = 10,
    parameter HITS_BITS = 11
) (
    input  wire         clk,
    input  wire         rst,
    input  wire [31:0]  now,
    input  wire [63:0]  s_tdata,
    input  wire [7:0]   s_tkeep,
    input  wire         s_tvalid,
    output wire         s_tready,
    input  wire         s_tlast,
    input  wire         s_tuser,
    input  wire [3:0]   s_stream,
    input  wire [15:0]  s_length,
    input  wire [31:0]  s_stamp,
    input  wire [7:0]   boards,
    input  wire [127:0] board_ids,
    input  wire [31:0]  board_streams,
    input  wire [9:0]   n_channels,
    input  wire         drop_when_full,
    input  wire [7:0]   window,
    input  wire [39:0]  far_fine,
    input  wire [31:0]  timeout,
    input  wire         keep_incomplete,
    output wire [63:0]  m_tdata,
    output wire         m_tvalid,
    input  wire         m_tready,
    output wire         m_tlast,
    output wire         m_end_of_burst,
    output wire [15:0]  m_length,
    output wire [31:0]  m_stamp,
    output wire [31:0]  m_parsed,
    output wire [31:0]  m_merged,
    output wire [13:0]  count_verdicts,
    output wire         count_dropped,
    output wire         count_complete,
    output wire         count_incomplete,
    output wire         count_rejected,
    output wire         count_bursts_begun,
    output wire         count_bursts_ended,
    output wire [7:0]   count_late,
    output wire [7:0]   count_duplicate,
    output wire [7:0]   count_ahead,
    output wire [7:0]   count_missing,
    output wire [7:0]   count_silenced,
    output wire [7:0]   silent,
    output wire [7:0]   ended,
    output wire [31:0]  fragments,
    output wire [31:0]  hits,
    output wire         idle
);
    wire [63:0] e_tdata;
    wire        e_tvalid, e_tready, e_tlast, e_tuser, verdict_valid, dropped, complete, incomplete, rejected, begins;
    wire        over;
    wire [3:0]  verdict, n_merged;
    wire [31:0] read_until, newest_stamp;
    wire [BOARDS-1:0] b_late, b_duplicate, b_ahead, b_missing, b_silenced, b_silent, b_ended, shown, doubted, taken,
                      waiting;
    wire        jump;
    wire [31:0] burst;
    data_path #(.BOARDS(BOARDS), .ITEM_BITS(ITEM_BITS), .HITS_BITS(HITS_BITS)) u_data (
        .clk(clk), .rst(rst), .cycle(now), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid),
        .s_tready(s_tready), .s_tlast(s_tlast), .s_tuser(s_tuser), .s_stream(s_stream), .s_length(s_length),
        .s_stamp(s_stamp), .boards(boards[BOARDS-1:0]), .board_ids(board_ids[16*BOARDS-1:0]),
        .board_streams(board_streams[4*BOARDS-1:0]), .n_channels(n_channels), .drop_when_full(drop_when_full),
        .window(window), .far_fine(far_fine), .timeout(timeout), .keep_incomplete(keep_incomplete),
        .m_tdata(e_tdata), .m_tvalid(e_tvalid), .m_tready(e_tready), .m_tlast(e_tlast), .m_tuser(e_tuser),
        .verdict_valid(verdict_valid), .verdict(verdict), .dropped(dropped), .event_complete(complete),
        .event_incomplete(incomplete), .event_rejected(rejected), .n_merged(n_merged), .burst_begins(begins),
        .burst_over(over), .late(b_late), .duplicate(b_duplicate), .ahead(b_ahead), .missing(b_missing),
        .silenced(b_silenced), .silent(b_silent), .ended(b_ended), .shown(shown), .doubted(doubted), .taken(taken),
        .waiting(waiting), .burst(burst), .jump(jump), .read_until(read_until), .newest_stamp(newest_stamp)
    );

    // ---- when the newest good datagram was read, and whether one is inside: each has one verdict
    reg [31:0] parsed_q;
    reg [7:0]  inside_q;
    reg        at_start_q;
    wire       enters = s_tvalid && s_tready && at_start_q;
    always @(posedge clk) begin
        if (verdict_valid && verdict == 4'd0) parsed_q <= now;
        if (s_tvalid && s_tready) at_start_q <= s_tlast;
        inside_q <= inside_q + {7'd0, enters} - {7'd0, verdict_valid};
        if (rst) begin
            parsed_q   <= 32'd0;
            at_start_q <= 1'b1;
            inside_q   <= 8'd0;
        end
    end

    wire is_empty;
    event_pack #(.BOARDS(BOARDS)) u_pack (
        .clk(clk), .rst(rst), .now(now), .stamp(newest_stamp), .parsed(parsed_q), .s_tdata(e_tdata),
        .s_tvalid(e_tvalid), .s_tready(e_tready), .s_tlast(e_tlast), .s_tuser(e_tuser), .m_tdata(m_tdata),
        .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast), .m_end_of_burst(m_end_of_burst),
        .m_length(m_length), .m_stamp(m_stamp), .m_parsed(m_parsed), .m_merged(m_merged), .is_empty(is_empty)
    );
    merge_sums #(.BOARDS(BOARDS)) u_sums (
        .clk(clk), .rst(rst), .n_merged(n_merged), .m_tdata(e_tdata), .m_taken(e_tvalid && e_tready), .m_tlast(e_tlast),
        .fragments(fragments), .hits(hits)
    );

    reg [13:0] verdicts_q;
    reg [5:0]  events_q;
    reg [39:0] boards_q;
    reg        idle_q;
    always @(posedge clk) begin
        verdicts_q <= verdict_valid ? 14'd1 << verdict : 14'd0;
        events_q   <= {over, begins, rejected, incomplete, complete, dropped};
        boards_q   <= {8'(b_silenced), 8'(b_missing), 8'(b_ahead), 8'(b_duplicate), 8'(b_late)};
        idle_q     <= inside_q == 8'd0 && is_empty && !s_tvalid && !rst;
    end
    assign count_verdicts = verdicts_q;
    assign {count_bursts_ended, count_bursts_begun, count_rejected, count_incomplete, count_complete, count_dropped} =
        events_q;
    assign {count_silenced, count_missing, count_ahead, count_duplicate, count_late} = boards_q;
    assign silent = 8'(b_silent);
    assign ended = 8'(b_ended);
    assign idle = idle_q;
    wire unused = ^{read_until, shown, burst, jump, doubted, taken, waiting, boards, board_ids, board_streams};
endmodule
`default_nettype wire
