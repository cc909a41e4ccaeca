// SPDX-License-Identifier: Apache-2.0
// Checks the header of an MGP packet (docs/reference/mgp.md) while it passes, and passes on the words after it.
// in:      the payload stream of one UDP datagram (s_*), byte 0 in tdata[7:0], with length, stream and stamp
// out:     w_*: the words after the header; a packet without any gives one empty word. Header fields and the verdicts
//          that need no checksum (early: before it, late: after it) hold while the packet's first word is offered
//          sum_*: once per packet, a few cycles after its last word: checksum and frame are right; until sum_taken
// latency: 1 cycle from word to word; one word a cycle. A packet's third word waits for the last packet's sum_taken
// config:  board_ids, board_streams: source and stream of each board; board_mask: boards in use
`default_nettype none
module mgp_header #(
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
    output wire                 w_valid,
    input  wire                 w_ready,
    output wire [63:0]          w_data,
    output wire                 w_last,
    output wire                 w_empty,
    output wire [3:0]           early,
    output wire [3:0]           late,
    output wire [2:0]           board,
    output wire [7:0]           flags,
    output wire [15:0]          length,
    output wire [15:0]          n_events,
    output wire [31:0]          burst_id,
    output wire [31:0]          stamp,
    output wire                 sum_valid,
    output wire                 sum_good,
    output wire                 frame_good,
    input  wire                 sum_taken,
    output wire                 in_frame
);
    localparam [3:0] OK = 0, TOO_SHORT = 1, WRONG_MAGIC = 2, WRONG_VERSION = 3, WRONG_LENGTH = 4, WRONG_FLAGS = 5,
                     UNKNOWN_SOURCE = 6, WRONG_EVENT_COUNT = 9;

    reg [2:0]  beat_q;  // 0 to 3: header, 4: after it
    reg        w_valid_q, w_last_q, w_empty_q;
    reg [63:0] w_data_q;
    reg        sum_valid_q, waits_q, ended_q;
    wire       room = !w_valid_q || w_ready;
    // Only one checksum is on its way: what is expected of a packet is loaded with its third word.
    wire       open = room && !((beat_q == 3'd2 || s_tlast) && (waits_q || sum_valid_q || ended_q));
    wire       take = s_tvalid && open;
    assign s_tready = open;

    function [2:0] n_ones(input [3:0] keep);
        case (keep)
            4'b0000: n_ones = 3'd0;
            4'b0001, 4'b0010, 4'b0100, 4'b1000: n_ones = 3'd1;
            4'b0111, 4'b1011, 4'b1101, 4'b1110: n_ones = 3'd3;
            4'b1111: n_ones = 3'd4;
            default: n_ones = 3'd2;
        endcase
    endfunction

    // ---- header fields
    reg        is_short_q, magic_q, version_q, flags_q, length_q, totals_q, any_q;
    reg [7:0]  flags_field_q;
    reg [15:0] length_field_q, n_events_q, source_q;
    reg [31:0] burst_q, checksum_q, stamp_q;
    reg [3:0]  stream_q;
    always @(posedge clk)
        if (take) begin
            if (beat_q == 3'd0) begin
                is_short_q     <= s_length < 16'd32;
                magic_q        <= s_tdata[31:0] == 32'h3150474d;
                version_q      <= s_tdata[39:32] == 8'd1;
                flags_field_q  <= s_tdata[47:40];
                flags_q        <= s_tdata[47:44] == 4'd0 && s_tdata[43:42] != 2'b11;
                length_q       <= s_tdata[63:48] == s_length;
                totals_q       <= s_length == 16'd64;
                length_field_q <= s_length;
                stamp_q        <= s_stamp;
                stream_q       <= s_stream;
            end
            if (beat_q == 3'd1) begin
                source_q   <= s_tdata[15:0];
                n_events_q <= s_tdata[31:16];
                any_q      <= s_tdata[31:16] != 16'd0;
            end
            if (beat_q == 3'd2) begin
                burst_q    <= s_tdata[31:0];
                checksum_q <= s_tdata[63:32];
            end
        end

    // ---- which board; settled by the fourth word
    reg [BOARDS-1:0] matches_q;
    always @(posedge clk) begin : find_board
        integer i;
        for (i = 0; i < BOARDS; i = i + 1)
            matches_q[i] <= source_q == board_ids[16*i +: 16] && stream_q == board_streams[4*i +: 4] && board_mask[i];
    end
    reg [2:0] board_now;
    always @* begin : lowest_board
        integer i;
        board_now = 3'd0;
        for (i = BOARDS - 1; i >= 0; i = i - 1) if (matches_q[i]) board_now = i[2:0];
    end

    wire is_marker = flags_field_q[3] || flags_field_q[2];
    assign early = is_short_q ? TOO_SHORT : !magic_q ? WRONG_MAGIC : !version_q ? WRONG_VERSION :
                   !flags_q ? WRONG_FLAGS : !length_q ? WRONG_LENGTH : OK;
    assign late = any_q == is_marker ? WRONG_EVENT_COUNT : (is_marker && !totals_q) ? WRONG_LENGTH :
                  matches_q == {BOARDS{1'b0}} ? UNKNOWN_SOURCE : OK;
    assign board = board_now;
    assign flags = flags_field_q;
    assign length = length_field_q;
    assign n_events = n_events_q;
    assign burst_id = burst_q;
    assign stamp = stamp_q;

    // ---- words after the header
    always @(posedge clk) begin
        if (room) w_valid_q <= 1'b0;
        if (take) begin
            beat_q    <= s_tlast ? 3'd0 : beat_q[2] ? 3'd4 : beat_q + 3'd1;
            w_valid_q <= beat_q[2] || s_tlast;
            w_last_q  <= s_tlast;
            w_empty_q <= !beat_q[2];
            w_data_q  <= s_tdata;
        end
        if (rst) begin
            beat_q    <= 3'd0;
            w_valid_q <= 1'b0;
        end
    end
    assign w_valid = w_valid_q;
    assign w_last = w_last_q;
    assign w_empty = w_empty_q;
    assign w_data = w_data_q;

    // ---- checksum: the checksum's own bytes count as zeros, and so do those that fill the last word
    reg  [63:0] counted;
    always @* begin : count_bytes
        integer i;
        for (i = 0; i < 8; i = i + 1)
            counted[8*i +: 8] = (!s_tkeep[i] || (beat_q == 3'd2 && i >= 4)) ? 8'd0 : s_tdata[8*i +: 8];
    end
    reg         crc_valid_q, crc_first_q;
    reg  [63:0] counted_q;
    wire [31:0] crc, expected;
    wire        is_ready;
    crc32c_word u_crc (.clk(clk), .valid(crc_valid_q), .first(crc_first_q), .data(counted_q), .crc(crc));
    crc32c_expect u_expect (
        .clk(clk), .rst(rst), .load(take && beat_q == 3'd2), .checksum(s_tdata[63:32]), .n_zeros(3'd0 - length_field_q[2:0]),
        .expected(expected), .is_ready(is_ready)
    );

    reg [15:0] n_bytes_q, n_bytes_before_q;
    reg [2:0]  n_low_q, n_high_q;  // bytes of the last word, in its halves
    reg        is_bad_q, had_checksum_q, ended2_q, ended3_q, summed_q, is_flagged_q, is_zero_q, same_q, size_good_q;
    reg [15:0] length_end_q;
    reg [31:0] crc_end_q;
    always @(posedge clk) begin
        crc_valid_q <= take;
        crc_first_q <= beat_q == 3'd0;
        counted_q   <= counted;
        ended_q     <= take && s_tlast;
        ended2_q    <= ended_q;
        ended3_q    <= ended2_q;
        if (take) begin
            n_bytes_q        <= s_tlast ? 16'd0 : n_bytes_q + 16'd8;
            n_bytes_before_q <= n_bytes_q;
            n_low_q          <= n_ones(s_tkeep[3:0]);
            n_high_q         <= n_ones(s_tkeep[7:4]);
            is_bad_q         <= s_tuser;
            length_end_q     <= beat_q == 3'd0 ? s_length : length_field_q;
            // A packet that ends before its checksum came is too short anyway.
            had_checksum_q   <= beat_q >= 3'd3;
        end
        if (ended_q) begin
            size_good_q  <= n_bytes_before_q + {13'd0, n_low_q} + {13'd0, n_high_q} == length_end_q && !is_bad_q;
            is_flagged_q <= flags_field_q[1];
            is_zero_q    <= checksum_q == 32'd0;
            waits_q      <= 1'b1;
        end
        if (ended3_q) crc_end_q <= crc;
        summed_q <= !ended_q && (ended3_q || summed_q);
        same_q <= crc_end_q == expected;
        if (waits_q && summed_q && (is_ready || !had_checksum_q)) begin
            waits_q     <= 1'b0;
            sum_valid_q <= 1'b1;
        end
        if (sum_taken) sum_valid_q <= 1'b0;
        if (rst) begin
            n_bytes_q   <= 16'd0;
            waits_q     <= 1'b0;
            sum_valid_q <= 1'b0;
            ended_q     <= 1'b0;
            ended2_q    <= 1'b0;
            ended3_q    <= 1'b0;
        end
    end
    assign in_frame = beat_q != 3'd0;
    assign sum_valid = sum_valid_q;
    assign sum_good = is_flagged_q ? same_q : is_zero_q;
    assign frame_good = size_good_q;
endmodule
`default_nettype wire
