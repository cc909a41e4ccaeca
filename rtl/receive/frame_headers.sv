// SPDX-License-Identifier: Apache-2.0
//
// frame_headers: reads the Ethernet and IPv4 headers of a frame, and checks the IPv4 header's checksum.
//
// In:  beats and first fields of frame_slots; now, the cycle counter; own_mac (first byte on the wire in bits 47:40).
// Out: facts. All are right in the cycle of the frame's slot_end, and until then from the cycle after its UDP header's
//      slot on; ip_payload_bytes, src_ip, stamp and pseudo_* from the UDP header's slot on. Numbers are in host order.
//      word_*: the frame's 8-byte words 1 to 5 without the VLAN tag, for modules that read more fields.
// Latency: a header's last byte at the port to its facts 3 cycles.
//
// The tag is cut out by one multiplexer, so that every field has one place. With a tag, a word is complete when the next
// beat is at the port: that is as late as the word of an untagged frame that has been registered once.

module frame_headers (
    input  logic        clk,

    input  logic [63:0] s_tdata,
    input  logic        s_tvalid,

    input  logic [63:0] beat_word,
    input  logic [3:0]  beat_bytes,
    input  logic        beat_valid,
    input  logic        beat_last,
    input  logic [4:0]  beat_index,
    input  logic        in_frame,
    input  logic        has_tag,
    input  logic        type_ipv4,
    input  logic        version_4,
    input  logic [3:0]  ihl,

    input  logic [31:0] now,
    input  logic [47:0] own_mac,
    input  logic        promiscuous,

    output logic [63:0] word,
    output logic        word_valid,
    output logic [4:0]  word_index,

    output logic        too_short,
    output logic        mac_ok,
    output logic        mac_own,
    output logic        mac_broadcast,
    output logic        is_ipv4,
    output logic        ip_sum_ok,
    output logic        fragment,
    output logic [7:0]  protocol,
    output logic [15:0] ip_bytes,
    output logic [16:0] ip_payload_bytes,
    output logic [31:0] src_ip,
    output logic [31:0] stamp,
    output logic [15:0] pseudo_sum,
    output logic [15:0] pseudo_carry
);

    wire [47:0] mac = {own_mac[7:0], own_mac[15:8], own_mac[23:16], own_mac[31:24], own_mac[39:32], own_mac[47:40]};

    wire first = beat_valid && beat_index == 5'd0;
    logic [31:0] now_q;  // a beat has spent one cycle in its register

    always_ff @(posedge clk) begin
        now_q <= now;
        if (first) begin
            mac_own       <= beat_word[47:0] == mac;
            mac_broadcast <= &beat_word[47:0];
            mac_ok        <= promiscuous || beat_word[47:0] == mac || &beat_word[47:0];
            stamp         <= now_q;
        end
        // The frame ends before the first byte after its type, so it cannot be classified.
        if (beat_last) begin
            case (beat_index)
                5'd0:    too_short <= 1'b1;
                5'd1:    too_short <= beat_bytes < 4'd7 || has_tag;
                5'd2:    too_short <= has_tag && beat_bytes < 4'd3;
                default: too_short <= 1'b0;
            endcase
        end
    end

    assign word       = has_tag ? {s_tdata[31:0], beat_word[63:32]} : beat_word;
    assign word_index = beat_index;
    assign word_valid = beat_index != 5'd0 && (has_tag ? (beat_last || (s_tvalid && in_frame)) : beat_valid);

    wire word_1 = word_valid && word_index == 5'd1;
    wire word_2 = word_valid && word_index == 5'd2;
    wire word_3 = word_valid && word_index == 5'd3;
    wire word_4 = word_valid && word_index == 5'd4;

    always_ff @(posedge clk) begin
        if (word_2) begin
            ip_bytes <= {word[7:0], word[15:8]};
            fragment <= word[37] || |word[36:32] || |word[47:40];
            protocol <= word[63:56];
        end
        if (word_3) src_ip <= {word[23:16], word[31:24], word[39:32], word[47:40]};
        // Bit 16: the total length is less than the header's.
        ip_payload_bytes <= {1'b0, ip_bytes} - {11'd0, ihl, 2'b00};
        is_ipv4          <= type_ipv4 && version_4 && ihl >= 4'd5;
    end

    // Header checksum: from lane 3 of word 1 to lane 0 (ihl odd) or lane 2 (even) of word (ihl + 3) / 2.
    logic [4:0] last_word_q;
    logic       in_header_q;
    wire  [4:0] last_word = {1'b0, ihl} + 5'd3;
    wire        at_last = word_index == last_word_q;
    wire        in_header = word_index == 5'd1 || in_header_q;
    wire  [3:0] lanes = word_index == 5'd1 ? 4'b1000 : !at_last ? 4'b1111 : ihl[0] ? 4'b0001 : 4'b0111;

    always_ff @(posedge clk) begin
        last_word_q <= {1'b0, last_word[4:1]};
        if (beat_last) in_header_q <= 1'b0;
        else if (word_1) in_header_q <= 1'b1;
        else if (word_valid && at_last) in_header_q <= 1'b0;
    end

    wire [63:0] header_mask = {{16{lanes[3]}}, {16{lanes[2]}}, {16{lanes[1]}}, {16{lanes[0]}}};
    wire        header_sum_is_zero;
    logic [15:0] unused_sum, unused_carry;
    ones_sum header_sum (
        .clk(clk), .valid(word_valid && in_header), .load(word_1), .seed_sum(16'd0), .seed_carry(16'd0),
        .word(word & header_mask), .sum_q(unused_sum), .carry_q(unused_carry), .is_zero(header_sum_is_zero)
    );
    always_ff @(posedge clk) ip_sum_ok <= header_sum_is_zero;

    // Pseudo header of the UDP checksum: protocol 17 and the addresses; the length joins with the UDP header.
    wire unused_zero;
    ones_sum pseudo (
        .clk(clk), .valid(word_3 || word_4), .load(word_3), .seed_sum(16'h1100), .seed_carry(16'd0),
        .word(word_3 ? {word[63:16], 16'd0} : {48'd0, word[15:0]}),
        .sum_q(pseudo_sum), .carry_q(pseudo_carry), .is_zero(unused_zero)
    );

endmodule
