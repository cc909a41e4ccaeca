// SPDX-License-Identifier: Apache-2.0
// Walks the events of an MGP packet and unpacks their hits, 9 or 16 bits each: the decompressor.
// in:      start: n_events, payload_bytes, with_time of the packet; is_off: nothing is walked, its words only pass by
//          w_*: the words behind the packet's header
// out:     f_*: one beat per 1 to 4 hits, f_first on the first (or only) beat of a fragment; hit i of a beat is
//          f_hits[16*i+8:16*i] channel, f_hits[16*i+15:16*i+9] its time in 1/64 tick, 0 for 9-bit hits and beyond the last
//          done: the packet is through; verdict: ok, event_truncated, wrong_event_count or wrong_hit, the first of them
// latency: 3 cycles from the third word buffered (or the last) to a beat; one beat a cycle, 4 hits at most, its
//          fragment's 6-byte header included, as long as the words come that fast (8 bytes a cycle)
// config:  n_channels: channels from here on are a wrong_hit; 512: none
// What comes out is in doubt until the packet's verdict: beats of a truncated event may be among it.
`default_nettype none
module hit_unpack (
    input  wire        clk,
    input  wire        rst,
    input  wire [9:0]  n_channels,
    input  wire        start,
    input  wire        is_off,
    input  wire [15:0] n_events,
    input  wire [15:0] payload_bytes,
    input  wire        with_time,
    input  wire        w_valid,
    output wire        w_ready,
    input  wire [63:0] w_data,
    input  wire        w_last,
    input  wire        w_empty,
    output wire        f_valid,
    input  wire        f_ready,
    output wire        f_first,
    output wire [31:0] f_timestamp,
    output wire [7:0]  f_fine,
    output wire [7:0]  f_n_hits,
    output wire        f_has_hits,
    output wire [63:0] f_hits,
    output wire        done,
    output wire [3:0]  verdict
);
    localparam [3:0] OK = 0, EVENT_TRUNCATED = 8, WRONG_EVENT_COUNT = 9, WRONG_HIT = 11;
    localparam [1:0] IDLE = 0, WALK = 1, DRAIN = 2, DONE = 3;

    wire en = f_ready;
    reg [1:0]  state_q;
    reg        last_in_q, with_time_q;
    reg [15:0] n_left_q;
    reg [16:0] rest_q;    // bytes of the packet that no event has taken; negative: an event reached beyond them
    reg [7:0]  hits_left_q;
    reg        is_half_q; // 9-bit hits: the next 4 begin in the middle of a byte
    reg [3:0]  flush_q;

    // ---- words: up to 4, read at a byte's offset into the first
    (* mem2reg *) reg [63:0] word_q[0:3];  // registers: all move at once
    reg [2:0]  n_words_q, offset_q;
    wire [191:0] three = {word_q[2], word_q[1], word_q[0]} >> {offset_q, 3'd0};

    wire at_header = hits_left_q == 8'd0;
    wire [7:0] n_hits = at_header ? three[47:40] : hits_left_q;
    wire is_more = n_hits > 8'd4;
    wire [3:0] hit_bytes = with_time_q ? (is_more ? 4'd8 : {n_hits[2:0], 1'b0}) :
                           is_more ? (is_half_q ? 4'd5 : 4'd4) : (n_hits[2:0] == 3'd0 ? 4'd0 : {1'b0, n_hits[2:0]} + 4'd1);
    wire [3:0] taken = hit_bytes + (at_header ? 4'd6 : 4'd0);
    wire [4:0] offset_after = {2'd0, offset_q} + {1'b0, taken};

    wire is_over = rest_q[16] || (at_header && (n_left_q == 16'd0 || rest_q[15:0] < 16'd6 ||
                                                (last_in_q && n_words_q == 3'd0)));
    wire can_step = state_q == WALK && en && (n_words_q >= 3'd3 || last_in_q);
    wire step = can_step && !is_over;
    wire take_word = w_valid && w_ready;
    wire put_word = take_word && !w_empty && state_q == WALK;
    assign w_ready = !last_in_q && (state_q == DRAIN || (state_q == WALK && n_words_q != 3'd4));

    wire [1:0] gone_wanted = step ? offset_after[4:3] : 2'd0;
    wire [1:0] gone = {1'b0, gone_wanted} > n_words_q ? n_words_q[1:0] : gone_wanted;
    wire [2:0] n_kept = n_words_q - {1'b0, gone};
    always @(posedge clk) begin : keep_words
        integer i;
        for (i = 0; i < 4; i = i + 1)
            if (put_word && i[2:0] == n_kept) word_q[i] <= w_data;
            else if (gone == 2'd1 && i < 3) word_q[i] <= word_q[i + 1];
            else if (gone == 2'd2 && i < 2) word_q[i] <= word_q[i + 2];
    end

    // An event's length in bytes, compared with what is left; looked at one cycle later, by is_over.
    wire [9:0] all_hits_bytes = with_time_q ? {1'b0, n_hits, 1'b0} : {2'b00, n_hits} + ({2'b00, n_hits} + 10'd7 >> 3);
    reg  [3:0] walked_q;

    always @(posedge clk) begin
        n_words_q <= n_kept + {2'd0, put_word};
        if (take_word && w_last) last_in_q <= 1'b1;
        if (step) begin
            offset_q    <= offset_after[2:0];
            hits_left_q <= is_more ? n_hits - 8'd4 : 8'd0;
            is_half_q   <= is_more && !is_half_q;
            if (at_header) begin
                rest_q   <= rest_q - 17'd6 - {7'd0, all_hits_bytes};
                n_left_q <= n_left_q - 16'd1;
            end
        end
        case (state_q)
            IDLE: if (start) begin
                state_q     <= is_off ? DRAIN : WALK;
                walked_q    <= OK;
                with_time_q <= with_time;
                n_left_q    <= n_events;
                rest_q      <= {1'b0, payload_bytes};
                hits_left_q <= 8'd0;
                is_half_q   <= 1'b0;
                offset_q    <= 3'd0;
                n_words_q   <= 3'd0;
                last_in_q   <= 1'b0;
            end
            WALK: if (can_step && is_over) begin
                state_q  <= DRAIN;
                walked_q <= (n_left_q == 16'd0 && rest_q == 17'd0) ? OK :
                            (!rest_q[16] && (n_left_q == 16'd0 || rest_q == 17'd0)) ? WRONG_EVENT_COUNT : EVENT_TRUNCATED;
            end
            DRAIN: if (last_in_q && flush_q == 4'd0) state_q <= DONE;
            default: state_q <= IDLE;
        endcase
        // The beats on their way come out before done.
        flush_q <= state_q != DRAIN ? 4'd3 : (en && flush_q != 4'd0) ? flush_q - 4'd1 : flush_q;
        if (rst) state_q <= IDLE;
    end

    // ---- stage 1: the bytes of one beat
    reg        s1_valid_q, s1_first_q, s1_half_q;
    reg [31:0] s1_timestamp_q;
    reg [7:0]  s1_fine_q, s1_n_hits_q;
    reg [2:0]  s1_n_q;
    reg [63:0] s1_bytes_q;
    always @(posedge clk) if (en) begin
        s1_valid_q     <= step;
        s1_first_q     <= at_header;
        s1_half_q      <= is_half_q;
        s1_timestamp_q <= three[31:0];
        s1_fine_q      <= three[39:32];
        s1_n_hits_q    <= n_hits;
        s1_n_q         <= is_more ? 3'd4 : n_hits[2:0];
        s1_bytes_q     <= at_header ? three[111:48] : three[63:0];
        if (rst) s1_valid_q <= 1'b0;
    end

    // ---- stage 2: hits
    wire [39:0] bits = s1_half_q ? {4'd0, s1_bytes_q[39:4]} : s1_bytes_q[39:0];
    reg  [63:0] hits;
    reg         is_wrong;
    always @* begin : unpack
        integer i;
        reg [15:0] hit;
        is_wrong = 1'b0;
        for (i = 0; i < 4; i = i + 1) begin
            hit = with_time_q ? s1_bytes_q[16*i +: 16] : {7'd0, bits[9*i +: 9]};
            if (i[2:0] >= s1_n_q) hit = 16'd0;
            else if ({1'b0, hit[8:0]} >= n_channels) is_wrong = 1'b1;
            hits[16*i +: 16] = hit;
        end
    end
    reg        s2_valid_q, s2_first_q, s2_has_hits_q, wrong_hit_q;
    reg [31:0] s2_timestamp_q;
    reg [7:0]  s2_fine_q, s2_n_hits_q;
    reg [63:0] s2_hits_q;
    always @(posedge clk) begin
        if (en) begin
            s2_valid_q     <= s1_valid_q;
            s2_first_q     <= s1_first_q;
            s2_has_hits_q  <= s1_n_q != 3'd0;
            s2_timestamp_q <= s1_timestamp_q;
            s2_fine_q      <= s1_fine_q;
            s2_n_hits_q    <= s1_n_hits_q;
            s2_hits_q      <= hits;
            // rest_q is as it was left by this beat's event: a truncated one has no hits to be wrong.
            if (s1_valid_q && is_wrong && !rest_q[16]) wrong_hit_q <= 1'b1;
        end
        if (state_q == IDLE) wrong_hit_q <= 1'b0;
        if (rst) s2_valid_q <= 1'b0;
    end
    assign f_valid = s2_valid_q;
    assign f_first = s2_first_q;
    assign f_timestamp = s2_timestamp_q;
    assign f_fine = s2_fine_q;
    assign f_n_hits = s2_n_hits_q;
    assign f_has_hits = s2_has_hits_q;
    assign f_hits = s2_hits_q;
    assign done = state_q == DONE;
    assign verdict = wrong_hit_q ? WRONG_HIT : walked_q;
endmodule
`default_nettype wire
