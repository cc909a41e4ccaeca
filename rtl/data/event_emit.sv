// SPDX-License-Identifier: Apache-2.0
// Writes merged events as records of 64-bit words, with the hits fetched from the boards' stores.
// in:      d_*: one event: members, times, counts and hit addresses of its fragments, 0 of others; d_is_end: end of burst
// out:     m_*: one record a packet (AXI-Stream). Word 0: {burst, timestamp}. Then for each 4 boards two words:
//          {n_boards, missing, flags, fine, n_hits of 4 boards} (from the second 4 on the upper half is 0) and
//          {their offsets from the event's time, 16 bits each, 1/256 tick}. Then the hits, board by board, each board's
//          in whole words of 4: {time 1/64 tick, channel}. flags: 1 incomplete, 128 end of burst; m_tuser: end of burst
//          in_use, use_address: per board the begin of the hits that are still to be fetched
// latency: 4 cycles from d_valid to the first word; a word a cycle, records back to back
`default_nettype none
module event_emit #(
    parameter BOARDS    = 4,
    parameter HITS_BITS = 11
) (
    input  wire                        clk,
    input  wire                        rst,
    input  wire                        d_valid,
    output wire                        d_ready,
    input  wire                        d_is_end,
    input  wire [31:0]                 d_burst,
    input  wire [31:0]                 d_timestamp,
    input  wire [7:0]                  d_fine,
    input  wire [BOARDS-1:0]           d_missing,
    input  wire [BOARDS-1:0]           d_members,
    input  wire [8*BOARDS-1:0]         d_n_hits,
    input  wire [16*BOARDS-1:0]        d_offsets,
    input  wire [HITS_BITS*BOARDS-1:0] d_addresses,
    input  wire [3:0]                  n_boards,
    output wire [HITS_BITS-1:0]        read_address,
    input  wire [64*BOARDS-1:0]        read_data,
    output wire [BOARDS-1:0]           in_use,
    output wire [HITS_BITS*BOARDS-1:0] use_address,
    output wire [63:0]                 m_tdata,
    output wire                        m_tvalid,
    input  wire                        m_tready,
    output wire                        m_tlast,
    output wire                        m_tuser
);
    localparam GROUPS = (BOARDS + 3) / 4;
    localparam LAST_HEADER = 2 * GROUPS;

    // ---- the event that is being written
    reg                        busy_q, is_end_q, has_hits_q;
    reg [2:0]                  at_q;      // header word; LAST_HEADER + 1: hits
    reg                        in_header_q, is_last_header_q;  // the same as at_q, as much logic waits for it
    reg [31:0]                 burst_q, timestamp_q;
    reg [7:0]                  fine_q;
    reg [7:0]                  missing_q;
    reg [63:0]                 n_hits_q;
    reg [127:0]                offsets_q;
    reg [BOARDS-1:0]           todo_q, members_q;
    reg [HITS_BITS*BOARDS-1:0] addresses_q;
    reg [7*BOARDS-1:0]         n_words_q;  // words of each board's hits
    reg [BOARDS-1:0]           has_one_q;  // the board has exactly one such word

    // ---- the present board: the lowest with words to fetch
    function lowest_of(input [BOARDS-1:0] flags, input [BOARDS-1:0] places);
        integer i;
        begin
            lowest_of = 1'b0;
            for (i = BOARDS - 1; i >= 0; i = i - 1) if (places[i]) lowest_of = flags[i];
        end
    endfunction
    function is_one(input [BOARDS-1:0] places);
        is_one = places != {BOARDS{1'b0}} && (places & (places - 1'b1)) == {BOARDS{1'b0}};
    endfunction
    reg [2:0]           board;
    reg [HITS_BITS-1:0] first_address;
    reg [6:0]           n_words;
    always @* begin : lowest
        integer i;
        board = 3'd0;
        first_address = {HITS_BITS{1'b0}};
        n_words = 7'd0;
        for (i = BOARDS - 1; i >= 0; i = i - 1)
            if (todo_q[i]) begin
                board = i[2:0];
                first_address = addresses_q[HITS_BITS*i +: HITS_BITS];
                n_words = n_words_q[7*i +: 7];
            end
    end
    wire [BOARDS-1:0] others = todo_q & (todo_q - 1'b1);
    reg  [6:0] word_q, word_2_q;  // word of the present board; two words later
    // The end of the event must be known at once, as the next may wait, so each part of the condition is in a register:
    // the first word of a board that has only one; a later word that is its last; no board after this one has words.
    reg        is_first_q, is_only_q, is_end_of_board_q, is_last_board_q;
    wire       is_last_of_board = is_first_q ? is_only_q : is_end_of_board_q;

    wire is_last = in_header_q ? is_last_header_q && !has_hits_q : is_last_of_board && is_last_board_q;
    reg  go_q;
    wire finishes = busy_q && go_q && is_last;
    assign d_ready = !busy_q || finishes;

    reg [BOARDS-1:0] d_todo, d_has_one;
    always @* begin : with_hits
        integer i;
        for (i = 0; i < BOARDS; i = i + 1) begin
            d_todo[i]    = d_n_hits[8*i +: 8] != 8'd0;
            d_has_one[i] = d_n_hits[8*i +: 8] <= 8'd4;
        end
    end

    wire [7:0] flags = {is_end_q, 6'd0, missing_q != 8'd0};
    reg [63:0] header_word;
    always @*
        case (at_q)
            3'd0: header_word = {burst_q, timestamp_q};
            3'd1: header_word = {4'd0, n_boards, missing_q, flags, fine_q, n_hits_q[31:0]};
            3'd2: header_word = offsets_q[63:0];
            3'd3: header_word = {32'd0, n_hits_q[63:32]};
            default: header_word = offsets_q[127:64];
        endcase

    always @(posedge clk) begin : take_event
        integer i;
        if (busy_q && go_q) begin
            if (in_header_q) begin
                at_q             <= at_q + 3'd1;
                in_header_q      <= !is_last_header_q;
                is_last_header_q <= at_q == LAST_HEADER - 1;
            end else if (is_last_of_board) begin
                todo_q          <= others;
                is_only_q       <= lowest_of(has_one_q, others);
                is_last_board_q <= is_one(others);
            end
            is_first_q <= in_header_q || is_last_of_board;
            word_q     <= in_header_q || is_last_of_board ? 7'd0 : word_q + 7'd1;
            word_2_q   <= in_header_q || is_last_of_board ? 7'd2 : word_2_q + 7'd1;
            is_end_of_board_q <= word_2_q == n_words;
            if (is_last) busy_q <= 1'b0;
        end
        if (d_valid && d_ready) begin
            busy_q      <= 1'b1;
            at_q        <= 3'd0;
            in_header_q <= 1'b1;
            is_last_header_q <= 1'b0;
            is_end_q    <= d_is_end;
            burst_q     <= d_burst;
            timestamp_q <= d_timestamp;
            fine_q      <= d_fine;
            missing_q   <= 8'(d_missing);
            n_hits_q    <= 64'(d_n_hits);
            offsets_q   <= 128'(d_offsets);
            for (i = 0; i < BOARDS; i = i + 1)
                n_words_q[7*i +: 7] <= {1'b0, d_n_hits[8*i + 2 +: 6]} + {6'd0, d_n_hits[8*i +: 2] != 2'd0};
            has_one_q       <= d_has_one;
            is_only_q       <= lowest_of(d_has_one, d_todo);
            is_last_board_q <= is_one(d_todo);
            members_q   <= d_members;
            todo_q      <= d_todo;
            has_hits_q  <= d_todo != {BOARDS{1'b0}};
            addresses_q <= d_addresses;
        end
        if (rst) busy_q <= 1'b0;
    end
    assign in_use = busy_q ? members_q : {BOARDS{1'b0}};
    assign use_address = addresses_q;

    // ---- words on their way: 4 stages parallel to the stores' registers, then a FIFO that always has room for them
    reg  [3:0]            valid_q, is_hit_q, last_q, user_q;
    (* mem2reg *) reg [63:0] header_q[0:3];  // registers: all move at once
    (* mem2reg *) reg [2:0] board_q[0:3];  // registers: all move at once
    reg  [HITS_BITS-1:0]  read_address_q;
    assign read_address = read_address_q;
    always @(posedge clk) begin : travel
        integer i;
        valid_q  <= {valid_q[2:0], busy_q && go_q};
        is_hit_q <= {is_hit_q[2:0], !in_header_q};
        last_q   <= {last_q[2:0], is_last};
        user_q   <= {user_q[2:0], is_end_q};
        header_q[0] <= header_word;
        board_q[0]  <= board;
        for (i = 1; i < 4; i = i + 1) begin
            header_q[i] <= header_q[i - 1];
            board_q[i]  <= board_q[i - 1];
        end
        read_address_q <= first_address + {{(HITS_BITS - 7){1'b0}}, word_q};
        if (rst) valid_q <= 4'd0;
    end
    reg [63:0] fetched;
    always @* begin : pick
        integer i;
        fetched = 64'd0;
        for (i = 0; i < BOARDS; i = i + 1) if (board_q[3] == i[2:0]) fetched = read_data[64*i +: 64];
    end
    reg        out_valid_q;
    reg [65:0] out_q;
    always @(posedge clk) begin
        out_valid_q <= valid_q[3] && !rst;
        out_q       <= {user_q[3] && last_q[3], last_q[3], is_hit_q[3] ? fetched : header_q[3]};
    end
    wire [4:0] n_waiting;
    word_queue #(.WIDTH(66)) u_queue (
        .clk(clk), .rst(rst), .put(out_valid_q), .put_word(out_q), .n_inside(n_waiting), .is_there(m_tvalid),
        .word({m_tuser, m_tlast, m_tdata}), .take(m_tready)
    );
    // 16 places, of which 7 may be claimed by words on their way.
    always @(posedge clk) go_q <= n_waiting < 5'd9 && !rst;
endmodule
`default_nettype wire
