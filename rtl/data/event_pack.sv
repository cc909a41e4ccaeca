// SPDX-License-Identifier: Apache-2.0
// Packs merged events into records for the memory path, which needs a record's length before its first word.
// in:      s_*: merged events (event_emit.sv), a packet each, tuser with the last word of an end of burst; stamp and
//          parsed of the newest datagram; now, the cycle counter
// out:     m_*: whole events, one or more a record, with length in bytes, and the stamps of the first of them; an end
//          of burst is the last of its record (m_end_of_burst). is_empty: no event is inside
// latency: with nothing else to write 6 cycles (8 with more than 4 boards) from an event's first word in to the first
//          out, after another record 2 cycles from the end of that; then a word a cycle
// memory:  2^WORDS_LOG2 words of 64 bits, 16 records of 108 bits
// Events that come while a record is written make the next record, up to LIMIT words; a longer event makes its own. If
// no record is being written, an event makes a record as soon as its counts give its length.
`default_nettype none
module event_pack #(
    parameter BOARDS     = 4,
    parameter WORDS_LOG2 = 10,
    parameter LIMIT      = 128
) (
    input  wire        clk,
    input  wire        rst,
    input  wire [31:0] now,
    input  wire [31:0] stamp,
    input  wire [31:0] parsed,
    input  wire [63:0] s_tdata,
    input  wire        s_tvalid,
    output wire        s_tready,
    input  wire        s_tlast,
    input  wire        s_tuser,
    output wire [63:0] m_tdata,
    output wire        m_tvalid,
    input  wire        m_tready,
    output wire        m_tlast,
    output wire        m_end_of_burst,
    output wire [15:0] m_length,
    output wire [31:0] m_stamp,
    output wire [31:0] m_parsed,
    output wire [31:0] m_merged,
    output wire        is_empty
);
    // ---- in: whole events are added to the record that is open, or open a new one
    reg  [WORDS_LOG2:0] in_q, out_q;
    reg  [4:0]          closed_in_q, closed_out_q;
    reg  [10:0]         event_words_q, open_words_q;  // an event has at most 5 + 8 * 64
    reg  [95:0]         event_stamps_q, open_stamps_q;
    reg                 room_q;
    wire [WORDS_LOG2:0] n_words = in_q - out_q;
    wire [4:0]          n_closed = closed_in_q - closed_out_q;
    wire                is_closed = closed_in_q != closed_out_q;  // at least one record is
    assign s_tready = room_q;

    wire        take = s_tvalid && room_q;
    wire        is_first = event_words_q == 11'd0;
    wire        ends_event = take && s_tlast;
    reg         early_q;  // this event is a record already
    wire        event_done = ends_event && !early_q;
    wire        is_open = open_words_q != 11'd0;
    reg  [10:0] event_next_q;  // event_words_q + 1
    wire [10:0] together = open_words_q + event_next_q;
    wire        is_beyond = together > LIMIT;
    wire [95:0] event_stamps = is_first ? {now, parsed, stamp} : event_stamps_q;
    wire        is_hungry;  // no other record to be written
    // An end of burst always joins the open record, so that at most one record is closed in a cycle.
    wire        too_many = event_done && is_open && !s_tuser && is_beyond;
    wire        close = too_many || (event_done && s_tuser) || early || (is_hungry && (is_open || event_done));

    // ---- the length of an event from its counts
    localparam HEAD = BOARDS > 4 ? 5 : 3, COUNTS_AT = BOARDS > 4 ? 3 : 1;
    function [10:0] words_of(input [7:0] n_hits);
        words_of = {5'd0, n_hits[7:2]} + {10'd0, n_hits[1:0] != 2'd0};
    endfunction
    reg  [10:0] length_q;
    reg         is_known_q, is_end_q;
    wire        early = is_known_q && is_hungry && !is_open && !early_q && !ends_event;
    always @(posedge clk) begin
        if (take && is_first) length_q <= HEAD;
        if (take && (event_words_q == 11'd1 || (BOARDS > 4 && event_words_q == 11'd3)))
            length_q <= length_q + words_of(s_tdata[7:0]) + words_of(s_tdata[15:8]) + words_of(s_tdata[23:16]) +
                        words_of(s_tdata[31:24]);
        if (take && event_words_q == 11'd1) is_end_q <= s_tdata[47];
        is_known_q <= !ends_event && (is_known_q || (take && event_words_q == COUNTS_AT));
        early_q    <= !ends_event && (early_q || early);
        if (rst) begin
            is_known_q <= 1'b0;
            early_q    <= 1'b0;
        end
    end

    reg  [107:0] closed[0:15];
    wire [107:0] closing = {early ? is_end_q : event_done && s_tuser,
                            early ? length_q : event_done && !too_many ? together : open_words_q,
                            is_open ? open_stamps_q : event_stamps};
    always @(posedge clk) if (close) closed[closed_in_q[3:0]] <= closing;
    always @(posedge clk) begin
        // Two more words, and one more record, may come before this is seen.
        room_q <= n_words < (1 << WORDS_LOG2) - 3 && n_closed < 5'd14;
        if (take) begin
            in_q           <= in_q + 1'b1;
            event_words_q  <= s_tlast ? 11'd0 : event_next_q;
            event_next_q   <= s_tlast ? 11'd1 : event_next_q + 11'd1;
            event_stamps_q <= event_stamps;
        end
        if (close) closed_in_q <= closed_in_q + 5'd1;
        if (too_many) open_words_q <= event_next_q;
        else if (close) open_words_q <= 11'd0;
        else if (event_done) open_words_q <= together;
        if (event_done && (!is_open || too_many)) open_stamps_q <= event_stamps;
        if (rst) begin
            in_q          <= {(WORDS_LOG2 + 1){1'b0}};
            closed_in_q   <= 5'd0;
            event_words_q <= 11'd0;
            event_next_q  <= 11'd1;
            open_words_q  <= 11'd0;
            room_q        <= 1'b0;
        end
    end

    // ---- out: one record in hand
    reg  [63:0]  words[0:(1 << WORDS_LOG2) - 1];
    reg  [63:0]  word_q;
    reg  [107:0] hand_q;
    wire [107:0] next = closed[closed_out_q[3:0]];
    reg  [10:0]  left_q;
    reg          busy_q, valid_q, last_q;
    wire         fetch = busy_q && left_q != 11'd0 && out_q != in_q && (!valid_q || m_tready);
    wire         ends = valid_q && m_tready && last_q;
    assign is_hungry = !busy_q && !is_closed;
    always @(posedge clk) begin
        if (take) words[in_q[WORDS_LOG2-1:0]] <= s_tdata;
        if (fetch) word_q <= words[out_q[WORDS_LOG2-1:0]];
    end
    always @(posedge clk) begin
        valid_q <= fetch || (valid_q && !m_tready);
        if (fetch) begin
            last_q <= left_q == 11'd1;
            left_q <= left_q - 11'd1;
            out_q  <= out_q + 1'b1;
        end
        if (ends) busy_q <= 1'b0;
        if ((!busy_q || ends) && is_closed) begin
            busy_q       <= 1'b1;
            hand_q       <= next;
            left_q       <= next[106:96];
            closed_out_q <= closed_out_q + 5'd1;
        end
        if (rst) begin
            out_q        <= {(WORDS_LOG2 + 1){1'b0}};
            closed_out_q <= 5'd0;
            busy_q       <= 1'b0;
            valid_q      <= 1'b0;
        end
    end
    assign m_tdata = word_q;
    assign m_tvalid = valid_q;
    assign m_tlast = last_q;
    assign m_end_of_burst = hand_q[107];
    assign m_length = {2'd0, hand_q[106:96], 3'd0};
    assign {m_merged, m_parsed, m_stamp} = hand_q[95:0];
    assign is_empty = is_hungry && !is_open && is_first && !s_tvalid;
endmodule
`default_nettype wire
