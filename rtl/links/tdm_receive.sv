// SPDX-License-Identifier: Apache-2.0
//
// tdm_receive: extracts the slots from the frames of tdm_send, which describes the layout.
//
// In:  data, bad (a byte without a valid code), start (the comma's word), is_aligned: from decoder and word_delay.
// Out: a slot's words after its CRC was found right, one a cycle: slot_valid, slot_data, slot_channel, slot_first and
//      slot_last of the slot's words, slot_bytes (bytes of the last word less 1), slot_begins and slot_ends (of a packet),
//      slot_number. slot_bad: pulse, slot slot_channel was dropped. clock_valid, clock_value: the sender's counter,
//      clock_bad: pulse, slot 0 was dropped.
// Latency: from the word with the last half of the CRC 3 cycles to the first word of the slot, 2 to clock_valid and pulses.
// Parameters: CHANNELS, SLOT_WORDS: as in the sender.

module tdm_receive #(
    parameter CHANNELS   = 4,
    parameter SLOT_WORDS = 4
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [15:0] data,
    input  logic        bad,
    input  logic        start,
    input  logic        is_aligned,
    output logic        slot_valid,
    output logic [63:0] slot_data,
    output logic [2:0]  slot_channel,
    output logic        slot_first,
    output logic        slot_last,
    output logic [2:0]  slot_bytes,
    output logic        slot_begins,
    output logic        slot_ends,
    output logic [6:0]  slot_number,
    output logic        slot_bad,
    output logic        clock_valid,
    output logic [63:0] clock_value,
    output logic        clock_bad
);

    localparam [5:0] N_DATA    = SLOT_WORDS * 4;
    localparam [3:0] MOST      = SLOT_WORDS;
    localparam [3:0] LAST_SLOT = CHANNELS;

    // Position in the frame; a start overrides the expected position.
    logic       in_frame_q;
    logic [3:0] slot_q;
    logic [5:0] at_q;
    wire        of_channel = slot_q != 4'd0;
    wire [5:0]  n_data     = of_channel ? N_DATA : 6'd4;
    wire [5:0]  low_at     = of_channel ? N_DATA + 6'd1 : 6'd4;
    wire        is_inside  = in_frame_q && !start;
    wire        is_data    = is_inside && at_q < n_data;
    wire        is_trailer = is_inside && of_channel && at_q == N_DATA;
    wire        is_low     = is_inside && at_q == low_at;
    wire        is_high    = is_inside && at_q == low_at + 6'd1;

    always_ff @(posedge clk) begin
        if (rst || !is_aligned) begin
            in_frame_q <= 1'b0;
        end else if (start) begin
            in_frame_q <= 1'b1;
            slot_q     <= 4'd0;
            at_q       <= 6'd0;
        end else if (is_high) begin
            in_frame_q <= slot_q != LAST_SLOT;
            slot_q     <= slot_q + 4'd1;
            at_q       <= 6'd0;
        end else begin
            at_q <= at_q + 6'd1;
        end
    end

    wire [31:0] crc;
    link_crc #(.WIDTH(16)) check (
        .clk(clk), .valid(is_data || is_trailer), .first(at_q == 6'd0), .seed(~{28'd0, slot_q}), .data(data), .crc(crc)
    );

    // There is room for two slots: one is read out while the next one comes.
    logic [63:0] ram [0:15];
    logic [63:0] gather_q, ram_q;
    logic        store_q, side_q, bad_q, is_end_q, end_channel_q, is_bad_q;
    logic [2:0]  store_at_q;
    logic [15:0] trailer_q;
    logic [31:0] sent_crc_q;
    logic [2:0]  channel_q;

    wire [3:0] end_words = trailer_q[3:0];
    // The CRC cannot detect a sender that breaks the rules itself.
    wire trailer_wrong = end_channel_q && (end_words > MOST || (trailer_q[8] && end_words == 4'd0));
    wire is_good = is_end_q && !is_bad_q && crc == sent_crc_q && !trailer_wrong;

    always_ff @(posedge clk) begin
        if (is_data) gather_q <= {data, gather_q[63:16]};
        store_q    <= is_data && at_q[1:0] == 2'd3;
        store_at_q <= at_q[4:2];
        if (store_q) ram[{side_q, store_at_q}] <= gather_q;
        if (is_trailer) trailer_q <= data;
        if (is_low || is_high) sent_crc_q <= {data, sent_crc_q[31:16]};

        // Up to eight words need five bits of at_q, and the slot's bad words are counted with its CRC.
        bad_q         <= is_inside && !is_high && (bad || (bad_q && at_q != 6'd0));
        is_bad_q      <= bad || bad_q;
        is_end_q      <= is_high && is_aligned && !rst;
        end_channel_q <= of_channel;
        if (is_high) channel_q <= slot_q[2:0] - 3'd1;
    end

    // A good slot is read out.
    logic       plays_q, played_side_q, first_q, last_q;
    logic [3:0] left_q;
    logic [2:0] play_at_q, play_channel_q, out_channel_q;
    logic [11:0] about_q, about_2q;
    logic       valid_q, first_2q, slot_bad_q, clock_valid_q, clock_bad_q;
    logic [63:0] clock_q;

    always_ff @(posedge clk) begin
        if (rst) begin
            side_q  <= 1'b0;
            plays_q <= 1'b0;
        end else begin
            if (is_end_q) side_q <= !side_q;
            if (is_good && end_channel_q && end_words != 4'd0) begin
                plays_q        <= 1'b1;
                played_side_q  <= side_q;
                left_q         <= end_words;
                play_at_q      <= 3'd0;
                first_q        <= 1'b1;
                play_channel_q <= channel_q;
                about_q        <= trailer_q[15:4];
            end else if (plays_q) begin
                plays_q   <= left_q != 4'd1;
                left_q    <= left_q - 4'd1;
                play_at_q <= play_at_q + 3'd1;
                first_q   <= 1'b0;
            end
        end
        ram_q         <= ram[{played_side_q, play_at_q}];
        valid_q       <= plays_q && !rst;
        last_q        <= plays_q && left_q == 4'd1;
        first_2q      <= first_q;
        out_channel_q <= (is_end_q && !is_good) ? channel_q : play_channel_q;
        about_2q      <= about_q;
        slot_bad_q    <= is_end_q && !is_good && end_channel_q;
        clock_bad_q   <= is_end_q && !is_good && !end_channel_q;
        clock_valid_q <= is_good && !end_channel_q;
        if (is_end_q && !end_channel_q) clock_q <= gather_end_q;
    end

    // The counter is complete while its CRC comes.
    logic [63:0] gather_end_q;
    always_ff @(posedge clk) if (is_low) gather_end_q <= gather_q;

    assign slot_valid   = valid_q;
    assign slot_data    = ram_q;
    assign slot_channel = out_channel_q;
    assign slot_first   = first_2q;
    assign slot_last    = last_q;
    assign slot_bytes   = about_2q[2:0];
    assign slot_begins  = about_2q[3];
    assign slot_ends    = about_2q[4];
    assign slot_number  = about_2q[11:5];
    assign slot_bad     = slot_bad_q;
    assign clock_valid  = clock_valid_q;
    assign clock_value  = clock_q;
    assign clock_bad    = clock_bad_q;

endmodule
