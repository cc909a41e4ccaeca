// SPDX-License-Identifier: Apache-2.0
//
// stuffing_receive: extracts packets and messages from the words of stuffing_send, which describes the layout.
//
// In:  lanes in step, is_aligned.
// Out: packets (m_*, 128 bits) as words for a FIFO that takes frames back: m_drop with m_tlast; m_bytes of the word less 1;
//      m_stream. message, message_valid: pulse. Pulses of what was wrong: bad_word, a lane alone has the magic, or a control
//      word is none; bad_packet, checksum, length or a missing part; bad_message; missing: the number of a packet does not
//      follow.
// Latency: a word leaves 3 cycles after the next word has come; the last word 2 cycles after the footer.

module stuffing_receive (
    input  logic         clk,
    input  logic         rst,
    input  logic [127:0] lanes,
    input  logic         is_aligned,
    output logic [127:0] m_tdata,
    output logic [3:0]   m_bytes,
    output logic [7:0]   m_stream,
    output logic         m_tvalid,
    output logic         m_tlast,
    output logic         m_drop,
    output logic [63:0]  message,
    output logic         message_valid,
    output logic         good_packet,
    output logic         bad_word,
    output logic         bad_packet,
    output logic         bad_message,
    output logic         missing
);

    localparam [127:0] MAGIC = 128'h6ba51e73_6ba51e72_6ba51e71_6ba51e70;
    localparam [7:0] IDLE = 8'h01, ALIGN = 8'h02, HEADER = 8'h04, FOOTER = 8'h08, LITERAL = 8'h10, MESSAGE = 8'h20;

    // Kinds that each word may have, from its content alone.
    logic [127:0] word_q;
    logic [3:0]   magic_q;
    logic         agree_q, valid_q, empty_q, footer_filled_q, literal_filled_q;
    logic [3:0]   zero_q;
    wire [95:0]   in_content = {lanes[119:96], lanes[87:64], lanes[55:32], lanes[23:0]};
    integer i;
    always_ff @(posedge clk) begin
        word_q  <= lanes;
        valid_q <= is_aligned && !rst;
        agree_q <= lanes[31:24] == lanes[63:56] && lanes[31:24] == lanes[95:88] && lanes[31:24] == lanes[127:120];
        for (i = 0; i < 4; i = i + 1) begin
            magic_q[i] <= lanes[32*i+:32] == MAGIC[32*i+:32];
            zero_q[i]  <= lanes[32*i+:32] == 32'd0;
        end
        // Unused bits are zero, so that a flipped one is detected.
        empty_q          <= in_content == 96'd0;
        footer_filled_q  <= in_content[15:13] == 3'd0 && in_content[95:61] == 35'd0 && in_content[60:48] == ~in_content[12:0];
        literal_filled_q <= in_content[95:4] == 92'd0;
    end

    // Kind of the word, from the words before it.
    localparam [1:0] FREE = 2'd0, CONTROL = 2'd1, LITERAL_WORD = 2'd2;
    logic [1:0]  state_q;
    logic [3:0]  replaced_q;
    wire  [7:0]  kind     = word_q[31:24];
    wire  [95:0] content  = {word_q[119:96], word_q[87:64], word_q[55:32], word_q[23:0]};
    wire is_known = ((kind == IDLE || kind == ALIGN) && empty_q) || kind == HEADER || (kind == FOOTER && footer_filled_q) ||
                    (kind == LITERAL && literal_filled_q) || kind == MESSAGE;
    wire is_magic    = magic_q == 4'hf;
    wire is_control  = valid_q && state_q == CONTROL && agree_q && is_known;
    wire is_misfit   = state_q == CONTROL ? !(agree_q && is_known)
                     : state_q == LITERAL_WORD ? (magic_q != 4'd0 || (replaced_q & ~zero_q) != 4'd0)
                     : (magic_q != 4'd0 && !is_magic);
    wire is_wrong    = valid_q && is_misfit;
    wire is_data    = valid_q && state_q != CONTROL && magic_q == 4'd0;
    wire is_header  = is_control && kind == HEADER;
    wire is_footer  = is_control && kind == FOOTER;

    logic [127:0] data;
    integer l;
    always @(*)
        for (l = 0; l < 4; l = l + 1)
            data[32*l+:32] = (state_q == LITERAL_WORD && replaced_q[l]) ? MAGIC[32*l+:32] : word_q[32*l+:32];

    always_ff @(posedge clk) begin
        if (is_control) replaced_q <= content[3:0];
        if (rst || !valid_q) state_q <= FREE;
        else if (is_magic) state_q <= CONTROL;
        else state_q <= (is_control && kind == LITERAL) ? LITERAL_WORD : FREE;
    end

    // The packet. Its newest word waits in held_q for the next one, or for the footer's verdict.
    logic         open_q, has_held_q, closing_q, put_q, put_last_q, put_drop_q, good_q, bad_packet_q, missing_q, known_q;
    logic [8:0]   n_words_q;
    logic [7:0]   stream_q, held_stream_q;
    logic [15:0]  number_q;
    logic [12:0]  length_q;
    logic [127:0] held_q, put_data_q;
    logic         crc_right_q;
    wire  [31:0]  crc;
    wire          too_long = is_data && n_words_q == 9'd256;
    wire          breaks   = open_q && (is_wrong || is_header || too_long || !valid_q);
    wire          takes    = is_data && open_q && !breaks;
    wire          right    = crc_right_q && length_q != 13'd0 && has_held_q &&
                             {4'd0, n_words_q} == ((length_q + 13'd15) >> 4);
    logic [3:0]   put_bytes_q;

    link_crc #(.WIDTH(128)) check (
        .clk(clk), .valid(is_header || is_data), .first(is_header), .seed(32'hffffffff), .data(is_header ? word_q : data),
        .crc(crc)
    );

    always_ff @(posedge clk) begin
        closing_q   <= is_footer && open_q && !rst;
        crc_right_q <= content[47:16] == (crc ^ {19'd0, content[12:0]});
        if (is_footer) length_q <= content[12:0];
        if (is_header) begin
            stream_q  <= content[7:0];
            number_q  <= content[31:16] + 16'd1;
        end
        if (takes) held_q <= data;

        // At most one of these in a cycle: a word before another, the last word with its verdict, a discarded packet.
        put_q       <= !rst && ((takes && has_held_q) || closing_q || breaks);
        put_last_q  <= closing_q || breaks;
        put_drop_q  <= breaks || !right;
        put_data_q  <= held_q;
        put_bytes_q <= closing_q ? length_q[3:0] - 4'd1 : 4'd15;
        held_stream_q <= stream_q;
        good_q       <= closing_q && right;
        bad_packet_q <= !rst && (breaks || (closing_q && !right));
        missing_q    <= !rst && is_header && known_q && content[31:16] != number_q;

        if (rst) begin
            open_q     <= 1'b0;
            has_held_q <= 1'b0;
            known_q    <= 1'b0;
        end else begin
            if (is_header) open_q <= 1'b1;
            else if (breaks || is_footer) open_q <= 1'b0;
            if (is_header || breaks) has_held_q <= 1'b0;
            else if (takes) has_held_q <= 1'b1;
            if (is_header) n_words_q <= 9'd0;
            else if (takes) n_words_q <= n_words_q + 9'd1;
            if (is_header) known_q <= 1'b1;
        end
    end

    // A message is valid if its checksum is right.
    logic [63:0] message_q, message_2q, message_3q;
    logic [31:0] sent_q, sent_2q;
    logic        is_message_q, is_message_2q, message_valid_q, bad_message_q, bad_word_q;
    wire  [31:0] message_crc;
    link_crc #(.WIDTH(64)) check_message (
        .clk(clk), .valid(1'b1), .first(1'b1), .seed(32'hffffffff), .data(content[63:0]), .crc(message_crc)
    );
    always_ff @(posedge clk) begin
        {message_q, sent_q}   <= {content[63:0], content[95:64]};
        {message_2q, sent_2q} <= {message_q, sent_q};
        is_message_q    <= is_control && kind == MESSAGE && !rst;
        is_message_2q   <= is_message_q;
        message_3q      <= message_2q;
        message_valid_q <= is_message_2q && message_crc == sent_2q;
        bad_message_q   <= is_message_2q && message_crc != sent_2q;
        bad_word_q      <= is_wrong && !rst;
    end

    assign m_tdata       = put_data_q;
    assign m_bytes       = put_bytes_q;
    assign m_stream      = held_stream_q;
    assign m_tvalid      = put_q;
    assign m_tlast       = put_last_q;
    assign m_drop        = put_drop_q;
    assign message       = message_3q;
    assign message_valid = message_valid_q;
    assign good_packet   = good_q;
    assign bad_word      = bad_word_q;
    assign bad_packet    = bad_packet_q;
    assign bad_message   = bad_message_q;
    assign missing       = missing_q;

endmodule
