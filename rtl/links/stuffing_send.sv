// SPDX-License-Identifier: Apache-2.0
//
// stuffing_send: packets and messages into words for four bonded lanes of 32 bits. The layout is our own, in the manner of
// APElink (word stuffing, header and footer of one 128-bit word, payload up to 4096 bytes).
//
// In:  packets (s_*, 128 bits; s_stream at the first word); messages of 64 bits, sent between any two words.
// Out: lanes, lane i in bits 32 * i and up, a word each cycle.
// A lane carries {28'h6ba51e7, its number} only in MAGIC, which has that in all four. After MAGIC comes one control word:
// each lane {type, 24 bits}, 96 bits of content. IDLE 01, ALIGN 02 (each ALIGN_PERIOD words), HEADER 04: [7:0] stream, [31:16]
// number of the packet. Then the payload, least byte first, in the last word zeros behind its end. FOOTER 08: [12:0] bytes,
// [60:48] their complement, [47:16] CRC-32C of header word and payload, XOR bytes. LITERAL 10: the next word has the magic put back in the lanes of [3:0], where
// zeros are sent. MESSAGE 20: [63:0], [95:64] its CRC-32C. Everything but payload may stand between any two words.
// Latency: 3 cycles from a word to lanes, 5 for a packet's first. Parameters: ALIGN_PERIOD, 32 words or more.

module stuffing_send #(
    parameter ALIGN_PERIOD = 256
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [127:0] s_tdata,
    input  logic [15:0]  s_tkeep,
    input  logic         s_tlast,
    input  logic [7:0]   s_stream,
    input  logic         s_tvalid,
    output logic         s_tready,
    input  logic [63:0]  message,
    input  logic         message_valid,
    output logic         message_ready,
    output logic [127:0] lanes
);

    localparam [127:0] MAGIC = 128'h6ba51e73_6ba51e72_6ba51e71_6ba51e70;
    localparam [7:0] IDLE = 8'h01, ALIGN = 8'h02, HEADER = 8'h04, FOOTER = 8'h08, LITERAL = 8'h10, MESSAGE = 8'h20;
    localparam [15:0] LAST_OF_PERIOD = ALIGN_PERIOD - 1;

    // What the word is, found on its way into the register: its bytes beyond the end are zero, lanes like the magic marked.
    logic [127:0] clean;
    logic [3:0]   alike, bytes;
    integer i;
    always @(*) begin
        bytes = 4'd0;
        for (i = 0; i < 16; i = i + 1) begin
            clean[8*i+:8] = s_tkeep[i] ? s_tdata[8*i+:8] : 8'd0;
            if (s_tkeep[i]) bytes = i[3:0];
        end
        for (i = 0; i < 4; i = i + 1) alike[i] = clean[32*i+:32] == MAGIC[32*i+:32];
    end

    wire [127:0] word;
    wire [3:0]   word_alike, word_bytes;
    wire [7:0]   word_stream;
    wire         word_last, has_word;
    logic        takes;
    axis_skid #(.WIDTH(145)) entry (
        .clk(clk), .rst(rst), .s_tdata({s_stream, alike, bytes, s_tlast, clean}), .s_tvalid(s_tvalid), .s_tready(s_tready),
        .m_tdata({word_stream, word_alike, word_bytes, word_last, word}), .m_tvalid(has_word), .m_tready(takes)
    );

    // A message waits for its checksum.
    logic [63:0] message_q;
    logic [1:0]  message_age_q;
    logic        has_message_q, sends_message;
    wire  [31:0] message_crc;
    assign message_ready = !has_message_q;
    link_crc #(.WIDTH(64)) check_message (
        .clk(clk), .valid(message_valid && message_ready), .first(1'b1), .seed(32'hffffffff), .data(message),
        .crc(message_crc)
    );
    always_ff @(posedge clk) begin
        if (message_ready) message_q <= message;
        message_age_q <= {message_age_q[0], has_message_q};
        if (rst) has_message_q <= 1'b0;
        else if (message_ready) has_message_q <= message_valid;
        else if (sends_message) has_message_q <= 1'b0;
    end

    // after_q: the word due next. What is chosen at FREE is MAGIC or payload; MAGIC is followed by control_q's word.
    localparam [1:0] FREE = 2'd0, CONTROL = 2'd1, LITERAL_WORD = 2'd2;
    logic [1:0]   state_q;
    logic [7:0]   control_q;
    logic         in_packet_q, footer_due_q, align_due_q;
    logic [15:0]  period_q, number_q;
    logic [12:0]  length_q;
    logic [127:0] lanes_q;
    wire  [31:0]  crc;

    wire        is_free = state_q == FREE;
    wire        ask_message = has_message_q && message_age_q == 2'b11;
    wire        plain  = is_free && !align_due_q && !ask_message && in_packet_q && has_word && word_alike == 4'd0;
    assign takes       = plain || state_q == LITERAL_WORD;
    assign sends_message = state_q == CONTROL && control_q == MESSAGE;

    logic [7:0] kind;
    always @(*) begin
        if (align_due_q) kind = ALIGN;
        else if (ask_message) kind = MESSAGE;
        else if (footer_due_q) kind = FOOTER;
        else if (has_word && !in_packet_q) kind = HEADER;
        else if (has_word) kind = LITERAL;
        else kind = IDLE;
    end

    logic [95:0] content;
    always @(*) begin
        case (control_q)
            HEADER:  content = {64'd0, number_q, 8'd0, word_stream};
            FOOTER:  content = {35'd0, ~length_q, crc ^ {19'd0, length_q}, 3'd0, length_q};
            LITERAL: content = {92'd0, word_alike};
            MESSAGE: content = {message_crc, message_q};
            default: content = 96'd0;
        endcase
    end
    wire [127:0] control = {control_q, content[95:72], control_q, content[71:48], control_q, content[47:24],
                            control_q, content[23:0]};

    logic [127:0] masked;
    integer l;
    always @(*) for (l = 0; l < 4; l = l + 1) masked[32*l+:32] = word_alike[l] ? 32'd0 : word[32*l+:32];

    wire is_header = state_q == CONTROL && control_q == HEADER;
    link_crc #(.WIDTH(128)) check (
        .clk(clk), .valid(is_header || takes), .first(is_header), .seed(32'hffffffff), .data(is_header ? control : word),
        .crc(crc)
    );

    always_ff @(posedge clk) begin
        lanes_q <= state_q == CONTROL ? control : takes ? masked : MAGIC;
        if (is_free && !plain) control_q <= kind;
        if (takes) length_q <= length_q + {9'd0, word_bytes} + 13'd1;
        if (is_header) length_q <= 13'd0;

        if (rst) begin
            state_q      <= FREE;
            in_packet_q  <= 1'b0;
            footer_due_q <= 1'b0;
            align_due_q  <= 1'b1;
            period_q     <= 16'd0;
            number_q     <= 16'd0;
        end else begin
            case (state_q)
                FREE:    state_q <= plain ? FREE : CONTROL;
                CONTROL: state_q <= control_q == LITERAL ? LITERAL_WORD : FREE;
                default: state_q <= FREE;
            endcase

            if (takes && word_last) footer_due_q <= 1'b1;
            else if (state_q == CONTROL && control_q == FOOTER) footer_due_q <= 1'b0;
            if (takes && word_last) in_packet_q <= 1'b0;
            else if (is_header) in_packet_q <= 1'b1;
            if (is_header) number_q <= number_q + 16'd1;

            period_q <= period_q == LAST_OF_PERIOD ? 16'd0 : period_q + 16'd1;
            if (period_q == LAST_OF_PERIOD) align_due_q <= 1'b1;
            else if (is_free) align_due_q <= 1'b0;
        end
    end

    assign lanes = lanes_q;

endmodule
