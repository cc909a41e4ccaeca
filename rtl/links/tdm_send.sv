// SPDX-License-Identifier: Apache-2.0
//
// tdm_send: frames of time-division slots, one 16-bit word a cycle, without gaps.
//
// In:  sync: the next word begins a frame (0: frames follow each other freely); clock_counter; one AXI-Stream a channel
//      (64 bit, tkeep all ones but at tlast). Channel i owns slot i + 1 of each frame.
// Out: data, is_k for encoder_8b10b; frame_start, in the cycle whose clock_counter the frame carries.
// Frame: K28.5 D16.2 | slot 0: clock_counter (4 words), CRC (2) | each further slot: SLOT_WORDS * 4 words, trailer, CRC (2).
// Trailer: [3:0] 64-bit words in use, [6:4] bytes of the last one less 1, [7] a packet begins, [8] it ends, [15:9] number
//      of the slot in its channel (of slots with data). CRC-32C, seed ~slot number, low half first, all least byte first.
// Latency: 2 cycles from frame_start to the comma at data. tready depends on registers only.
// Parameters: CHANNELS (1..8), SLOT_WORDS (1..8). A frame has 7 + CHANNELS * (4 * SLOT_WORDS + 3) words.

module tdm_send #(
    parameter CHANNELS   = 4,
    parameter SLOT_WORDS = 4
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   sync,
    input  logic [63:0]            clock_counter,
    input  logic [CHANNELS*64-1:0] s_tdata,
    input  logic [CHANNELS*8-1:0]  s_tkeep,
    input  logic [CHANNELS-1:0]    s_tvalid,
    output logic [CHANNELS-1:0]    s_tready,
    input  logic [CHANNELS-1:0]    s_tlast,
    output logic                   frame_start,
    output logic [15:0]            data,
    output logic [1:0]             is_k
);

    localparam [5:0] N_DATA    = SLOT_WORDS * 4;
    localparam [3:0] LAST_SLOT = CHANNELS;
    localparam [15:0] COMMA    = {8'h50, 8'hbc};

    // Position in the frame: the comma, or word at_q of slot slot_q.
    logic       in_comma_q;
    logic [3:0] slot_q;
    logic [5:0] at_q;
    wire        of_channel = slot_q != 4'd0;
    wire [5:0]  n_data     = of_channel ? N_DATA : 6'd4;
    wire [5:0]  crc_low_at = of_channel ? N_DATA + 6'd1 : 6'd4;
    wire        is_data    = !in_comma_q && at_q < n_data;
    wire        is_trailer = !in_comma_q && of_channel && at_q == N_DATA;
    wire        is_low     = !in_comma_q && at_q == crc_low_at;
    wire        is_high    = !in_comma_q && at_q == crc_low_at + 6'd1;

    always_ff @(posedge clk) begin
        if (rst || sync) begin
            in_comma_q <= 1'b1;
            slot_q     <= 4'd0;
            at_q       <= 6'd0;
        end else begin
            in_comma_q <= is_high && slot_q == LAST_SLOT;
            if (is_high) slot_q <= slot_q == LAST_SLOT ? 4'd0 : slot_q + 4'd1;
            at_q <= (in_comma_q || is_high) ? 6'd0 : at_q + 6'd1;
        end
    end

    // The channel of the slot.
    logic [63:0] word;
    logic [7:0]  keep;
    logic        is_valid, is_last;
    logic [6:0]  number;
    logic [CHANNELS-1:0] inside_q;  // a packet of this channel is under way
    (* mem2reg *) logic [6:0] number_q [0:CHANNELS-1];  // registers: a few, cleared at once
    integer i;
    always @(*) begin
        word     = 64'd0;
        keep     = 8'd0;
        is_valid = 1'b0;
        is_last  = 1'b0;
        number   = 7'd0;
        for (i = 0; i < CHANNELS; i = i + 1) begin
            if (slot_q == i + 1) begin
                word     = s_tdata[i*64+:64];
                keep     = s_tkeep[i*8+:8];
                is_valid = s_tvalid[i];
                is_last  = s_tlast[i];
                number   = number_q[i];
            end
        end
    end

    function [2:0] less_one(input [7:0] of_keep);
        integer n;
        begin
            less_one = 3'd0;
            for (n = 1; n < 8; n = n + 1) if (of_keep[n]) less_one = n[2:0];
        end
    endfunction

    logic        ended_q, begins_q, ends_q;
    logic [3:0]  n_words_q;
    logic [2:0]  bytes_q;
    logic [63:0] rest_q;
    wire         asks  = is_data && of_channel && at_q[1:0] == 2'd0 && !ended_q;
    wire         takes = asks && is_valid;
    wire         skips = asks && !is_valid;

    genvar c;
    generate
        for (c = 0; c < CHANNELS; c = c + 1) begin : of_ready
            assign s_tready[c] = asks && slot_q == c + 1;
        end
    endgenerate

    // Word of the slot, before its CRC is put in.
    wire [15:0] trailer = {number, ends_q, begins_q, bytes_q, n_words_q};
    wire [15:0] plain   = in_comma_q ? COMMA : is_trailer ? trailer : takes ? word[15:0] : rest_q[15:0];

    always_ff @(posedge clk) begin
        if (in_comma_q) rest_q <= clock_counter;
        else if (takes) rest_q <= {16'd0, word[63:16]};
        else if (skips) rest_q <= 64'd0;
        else rest_q <= {16'd0, rest_q[63:16]};

        if (is_high || in_comma_q) begin
            n_words_q <= 4'd0;
            bytes_q   <= 3'd7;
            begins_q  <= 1'b0;
            ends_q    <= 1'b0;
            ended_q   <= 1'b0;
        end else begin
            if (takes) begin
                n_words_q <= n_words_q + 4'd1;
                bytes_q   <= less_one(keep);
                ends_q    <= is_last;
            end
            if ((takes && is_last) || skips) ended_q <= 1'b1;
            for (i = 0; i < CHANNELS; i = i + 1)
                if (takes && slot_q == i + 1 && n_words_q == 4'd0) begins_q <= !inside_q[i];
        end
    end

    // A frame that sync cuts short loses the words of its open slot. Its number is used up, so the receiver knows.
    wire cuts = sync && !(is_high && slot_q == LAST_SLOT);

    integer n;
    always_ff @(posedge clk) begin
        for (n = 0; n < CHANNELS; n = n + 1) begin
            if (rst) begin
                inside_q[n] <= 1'b0;
                number_q[n] <= 7'd0;
            end else if (slot_q == n + 1) begin
                if (takes) inside_q[n] <= !is_last;
                if ((is_trailer || cuts) && (takes || n_words_q != 4'd0)) number_q[n] <= number_q[n] + 7'd1;
            end
        end
    end

    logic [15:0] plain_q, data_q;
    logic        low_q, high_q, comma_q, comma_2q;
    wire  [31:0] crc;
    link_crc #(.WIDTH(16)) check (
        .clk(clk), .valid(is_data || is_trailer), .first(at_q == 6'd0), .seed(~{28'd0, slot_q}), .data(plain), .crc(crc)
    );

    assign frame_start = in_comma_q;
    always_ff @(posedge clk) begin
        plain_q  <= plain;
        low_q    <= is_low;
        high_q   <= is_high;
        comma_q  <= in_comma_q;
        data_q   <= low_q ? crc[15:0] : high_q ? crc[31:16] : plain_q;
        comma_2q <= comma_q;
    end

    assign data = data_q;
    assign is_k = {1'b0, comma_2q};

endmodule
