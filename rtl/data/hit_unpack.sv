// SPDX-License-Identifier: Apache-2.0
// Walks the events of an MGP packet and unpacks their hits, 9 or 16 bits each: the decompressor.
// in:      start: n_events, payload_bytes, with_time of the packet; is_off: its words only pass and are not unpacked
//          w_*: the words after the packet's header
// out:     f_*: one beat per 1 to 4 hits, f_first on the first (or only) beat of a fragment; hit i of a beat is
//          f_hits[16*i+8:16*i] channel, f_hits[16*i+15:16*i+9] its time in 1/64 tick, 0 for 9-bit hits and beyond the last
//          done: the packet is through; verdict: ok, event_truncated, wrong_event_count or wrong_hit, the first of them
// latency: 3 cycles from the third word buffered (or the last) to a beat; one beat a cycle, 4 hits at most, its
//          fragment's 6-byte header included, as long as the words come that fast (8 bytes a cycle)
// config:  n_channels: channels from here on are a wrong_hit; 512: none
// Beats are not valid before the packet's verdict: they may belong to a truncated event.
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
    reg [16:0] rest_q;    // bytes of the packet not taken by an event; negative: an event was longer than the packet
    reg [7:0]  hits_left_q;
    reg        is_half_q; // 9-bit hits: the next 4 begin in the middle of a byte
    reg [3:0]  flush_q;
    reg        at_header_q, left_more_q, none_left_q, is_short_q;  // hits_left_q == 0, > 4; n_left_q == 0; rest_q < 6

    // ---- words: a ring of 4, read from any byte. Each word is stored with the length of a fragment's first beat
    // if its number of hits is this or that byte: it must be known within the cycle, as the next beat begins after it.
    (* mem2reg *) reg [95:0] word_q[0:3];  // registers: three are read at once
    reg [4:0] at_q;  // word, byte of it
    // at_q + 5: the place of a fragment's number of hits, with which the next step begins. It is kept in two registers,
    // one for the next step and one for all other logic, as the wires to both together are long. The second one is
    // inverted, since synthesis would merge two equal registers.
    reg [4:0] next_at_q, not_n_at_q;
    wire [4:0] n_at = ~not_n_at_q;
    reg [1:0] put_at_q;
    reg [2:0] n_words_q;
    function is_above_4(input [7:0] n);  // without the carry chain that a comparison becomes
        is_above_4 = n[7:3] != 5'd0 || (n[2] && n[1:0] != 2'd0);
    endfunction
    reg [63:0] first, second, third;
    always @*
        case (at_q[4:3])
            2'd0: {third, second, first} = {word_q[2][63:0], word_q[1][63:0], word_q[0][63:0]};
            2'd1: {third, second, first} = {word_q[3][63:0], word_q[2][63:0], word_q[1][63:0]};
            2'd2: {third, second, first} = {word_q[0][63:0], word_q[3][63:0], word_q[2][63:0]};
            default: {third, second, first} = {word_q[1][63:0], word_q[0][63:0], word_q[3][63:0]};
        endcase
    wire [191:0] three = {third, second, first} >> {at_q[2:0], 3'd0};
    wire [255:0] all_bytes = {word_q[3][63:0], word_q[2][63:0], word_q[1][63:0], word_q[0][63:0]};
    wire [127:0] all_taken = {word_q[3][95:64], word_q[2][95:64], word_q[1][95:64], word_q[0][95:64]};
    wire [7:0]   first_n = all_bytes[{n_at, 3'd0} +: 8];
    wire         first_is_more = is_above_4(first_n);
    wire [3:0]   first_taken = all_taken[{next_at_q, 2'd0} +: 4];

    wire [7:0] n_hits = at_header_q ? first_n : hits_left_q;
    wire is_more = at_header_q ? first_is_more : left_more_q;

    // Bytes of a beat with n hits (5: more than 4), tables instead of sums: a carry chain is slower for so few bits.
    function [3:0] first_bytes(input timed, input [2:0] n);  // with the fragment's 6 bytes; no hit begins half a byte on
        case (n)
            3'd0: first_bytes = 4'd6;
            3'd1: first_bytes = 4'd8;
            3'd2: first_bytes = timed ? 4'd10 : 4'd9;
            3'd3: first_bytes = timed ? 4'd12 : 4'd10;
            3'd4: first_bytes = timed ? 4'd14 : 4'd11;
            default: first_bytes = timed ? 4'd14 : 4'd10;
        endcase
    endfunction
    function [3:0] more_bytes(input timed, input is_half, input [2:0] n);
        case (n)
            3'd0: more_bytes = 4'd0;
            3'd1: more_bytes = 4'd2;
            3'd2: more_bytes = timed ? 4'd4 : 4'd3;
            3'd3: more_bytes = timed ? 4'd6 : 4'd4;
            3'd4: more_bytes = timed ? 4'd8 : 4'd5;
            default: more_bytes = timed ? 4'd8 : is_half ? 4'd5 : 4'd4;
        endcase
    endfunction
    reg [31:0] put_taken;
    always @* begin : bytes_of_first_beat
        integer i;
        for (i = 0; i < 8; i = i + 1)
            put_taken[4*i +: 4] = first_bytes(with_time_q, is_above_4(w_data[8*i +: 8]) ? 3'd5 : w_data[8*i +: 3]);
    end
    wire [3:0] taken = at_header_q ? first_taken :
                       more_bytes(with_time_q, is_half_q, left_more_q ? 3'd5 : hits_left_q[2:0]);
    wire [4:0] after = {2'd0, at_q[2:0]} + {1'b0, taken};

    wire is_over = rest_q[16] || (at_header_q && (none_left_q || is_short_q || (last_in_q && n_words_q == 3'd0)));
    wire can_step = state_q == WALK && en && (n_words_q[2] || n_words_q[1:0] == 2'd3 || last_in_q);
    wire step = can_step && !is_over;
    wire take_word = w_valid && w_ready;
    wire put_word = take_word && !w_empty && state_q == WALK;
    assign w_ready = !last_in_q && (state_q == DRAIN || (state_q == WALK && !n_words_q[2]));

    // Words that remain after a step; a truncated packet has fewer than its events need.
    function [2:0] words_after(input [2:0] n, input [1:0] gone, input put);
        case (n)
            3'd0: words_after = {2'd0, put};
            3'd1: words_after = gone == 2'd0 ? (put ? 3'd2 : 3'd1) : {2'd0, put};
            3'd2: words_after = gone == 2'd0 ? (put ? 3'd3 : 3'd2) : gone == 2'd1 ? (put ? 3'd2 : 3'd1) : {2'd0, put};
            3'd3: words_after = gone == 2'd0 ? (put ? 3'd4 : 3'd3) : gone == 2'd1 ? (put ? 3'd3 : 3'd2) :
                                put ? 3'd2 : 3'd1;
            default: words_after = gone == 2'd0 ? 3'd4 : gone == 2'd1 ? 3'd3 : 3'd2;  // nothing is put into a full ring
        endcase
    endfunction

    always @(posedge clk) begin
        if (put_word) word_q[put_at_q] <= {put_taken, w_data};
        if (put_word) put_at_q <= put_at_q + 2'd1;
        if (step) at_q <= at_q + {1'b0, taken};
        if (step) not_n_at_q <= ~(next_at_q + {1'b0, taken});
        if (step) next_at_q <= next_at_q + {1'b0, taken};
        if (state_q == IDLE && start) begin
            at_q       <= 5'd0;
            next_at_q  <= 5'd5;
            not_n_at_q <= ~5'd5;
            put_at_q   <= 2'd0;
        end
    end

    // An event's length in bytes, compared with what is left; looked at one cycle later, by is_over. 9-bit hits: 9/8 of
    // their number, rounded up.
    wire [8:0]  hits_bytes = with_time_q ? {first_n, 1'b0} : {1'b0, first_n};
    wire [4:0]  eighths = with_time_q ? 5'd0 : first_n[7:3];
    wire        rounded = !with_time_q && first_n[2:0] != 3'd0;
    // rest_q - 6 - hits_bytes - eighths - rounded as one sum of two: -x is ~x + 1, eighths take what is left of the 6 with
    // them, three numbers are saved as sum and carries, and rounded has the lowest carry's place. rest_beyond: 12.
    function [5:0] plus(input [4:0] n, input [4:0] constant);  // without the carry chain that a sum becomes
        integer i;
        reg     carry;
        begin
            carry = 1'b0;
            for (i = 0; i < 5; i = i + 1) begin
                plus[i] = n[i] ^ constant[i] ^ carry;
                carry   = constant[i] ? n[i] || carry : n[i] && carry;
            end
            plus[5] = carry;
        end
    endfunction
    function [16:0] less(input [16:0] from, input [8:0] hits, input [5:0] others, input round);
        reg [16:0] not_hits, not_others, carries;
        begin
            not_hits   = ~{8'd0, hits};
            not_others = ~{11'd0, others};
            carries    = (from & not_hits) | (from & not_others) | (not_hits & not_others);
            less       = (from ^ not_hits ^ not_others) + {carries[15:0], !round};
        end
    endfunction
    wire [16:0] rest = less(rest_q, hits_bytes, plus(eighths, 5'd5), rounded);
    wire [16:0] rest_beyond = less(rest_q, hits_bytes, plus(eighths, 5'd11), rounded);
    reg  [3:0]  walked_q;

    always @(posedge clk) begin
        // The number of words that remain after the step is known last: all three answers are ready before.
        n_words_q <= step && after[4] ? words_after(n_words_q, 2'd2, put_word) :
                     step && after[3] ? words_after(n_words_q, 2'd1, put_word) : words_after(n_words_q, 2'd0, put_word);
        if (take_word && w_last) last_in_q <= 1'b1;
        if (step) begin
            at_header_q <= !is_more;
            left_more_q <= is_more && (n_hits[7:4] != 4'd0 || (n_hits[3] && n_hits[2:0] != 3'd0));
            hits_left_q <= is_more ? n_hits - 8'd4 : 8'd0;
            is_half_q   <= is_more && !is_half_q;
            if (at_header_q) begin
                rest_q      <= rest;
                is_short_q  <= rest_beyond[16];
                n_left_q    <= n_left_q - 16'd1;
                none_left_q <= n_left_q == 16'd1;
            end
        end
        case (state_q)
            IDLE: if (start) begin
                state_q     <= is_off ? DRAIN : WALK;
                walked_q    <= OK;
                with_time_q <= with_time;
                n_left_q    <= n_events;
                none_left_q <= n_events == 16'd0;
                rest_q      <= {1'b0, payload_bytes};
                is_short_q  <= payload_bytes < 16'd6;
                hits_left_q <= 8'd0;
                at_header_q <= 1'b1;
                left_more_q <= 1'b0;
                is_half_q   <= 1'b0;
                n_words_q   <= 3'd0;
                last_in_q   <= 1'b0;
            end
            WALK: if (can_step && is_over) begin
                state_q  <= DRAIN;
                walked_q <= (none_left_q && rest_q == 17'd0) ? OK :
                            (!rest_q[16] && (none_left_q || rest_q == 17'd0)) ? WRONG_EVENT_COUNT : EVENT_TRUNCATED;
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
        s1_first_q     <= at_header_q;
        s1_half_q      <= is_half_q;
        s1_timestamp_q <= three[31:0];
        s1_fine_q      <= three[39:32];
        s1_n_hits_q    <= n_hits;
        s1_n_q         <= is_more ? 3'd4 : n_hits[2:0];
        s1_bytes_q     <= at_header_q ? three[111:48] : three[63:0];
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
            // rest_q still belongs to this beat's event: a truncated event has no wrong hits.
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
