// SPDX-License-Identifier: Apache-2.0
//
// eth_ip_udp: extracts UDP payloads from Ethernet frames of a MAC, and counts every frame once.
//
// In:  beats of the MAC (s_*), no back-pressure; settings, constant while frames come, except cut_through, read
//      at each UDP header; now, the cycle counter.
// Out: payload stream (m_*, see receive_buffer); verdict, see udp_payload; what arp_icmp needs of each frame.
// Latency: first beat in to first payload beat out 8 cycles in cut-through (beats without gaps, no IP options; a payload
//      of one word waits for its checksum: last beat in + 5); store-and-forward: last beat in to first beat out 7.
// Parameters: WORDS_LOG2 and FRAMES_LOG2 of the buffer. A payload that does not fit is dropped whole: in cut-through
//      if there are fewer free words than it has, else if the buffer becomes full while it is written.

module eth_ip_udp #(
    parameter WORDS_LOG2  = 11,
    parameter FRAMES_LOG2 = 9
) (
    input  logic         clk,
    input  logic         rst,

    input  logic [63:0]  s_tdata,
    input  logic [7:0]   s_tkeep,
    input  logic         s_tvalid,
    input  logic         s_tlast,
    input  logic         s_tuser,

    input  logic [31:0]  now,
    input  logic [47:0]  own_mac,
    input  logic         promiscuous,
    input  logic         cut_through,
    input  logic [15:0]  entry_valid,
    input  logic [255:0] entry_port,

    output logic [63:0]  m_tdata,
    output logic [7:0]   m_tkeep,
    output logic         m_tvalid,
    input  logic         m_tready,
    output logic         m_tlast,
    output logic         m_tuser,
    output logic [3:0]   m_stream,
    output logic [31:0]  m_src_ip,
    output logic [15:0]  m_src_port,
    output logic [15:0]  m_length,
    output logic [31:0]  m_stamp,

    output logic         verdict_valid,
    output logic [3:0]   verdict,

    output logic [63:0]  beat_word,
    output logic [3:0]   beat_bytes,
    output logic         beat_valid,
    output logic         beat_last,
    output logic [63:0]  word,
    output logic         word_valid,
    output logic [4:0]   word_index,
    output logic         end_valid,
    output logic         end_bad_fcs,
    output logic         has_tag,
    output logic         type_arp,
    output logic         plain_icmp,
    output logic         mac_own,
    output logic         mac_broadcast,
    output logic [15:0]  ip_bytes
);

    wire [63:0] slot_word;
    wire [3:0]  slot_bytes;
    wire        slot_valid, slot_is_udp, slot_end, slot_bad_fcs;
    wire [4:0]  beat_index;
    wire        in_frame, type_ipv4, version_4;
    wire [3:0]  ihl;

    frame_slots slots (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tlast(s_tlast), .s_tuser(s_tuser),
        .slot_word(slot_word), .slot_bytes(slot_bytes), .slot_valid(slot_valid), .slot_is_udp(slot_is_udp),
        .slot_end(slot_end), .slot_bad_fcs(slot_bad_fcs),
        .beat_word(beat_word), .beat_bytes(beat_bytes), .beat_valid(beat_valid), .beat_last(beat_last),
        .beat_index(beat_index), .in_frame(in_frame),
        .has_tag(has_tag), .type_ipv4(type_ipv4), .type_arp(type_arp), .version_4(version_4), .ihl(ihl)
    );

    wire        too_short, mac_ok, is_ipv4, ip_sum_ok, fragment;
    wire [7:0]  protocol;
    wire [16:0] ip_payload_bytes;
    wire [31:0] src_ip, stamp;
    wire [15:0] pseudo_sum, pseudo_carry;

    frame_headers headers (
        .clk(clk), .s_tdata(s_tdata), .s_tvalid(s_tvalid),
        .beat_word(beat_word), .beat_bytes(beat_bytes), .beat_valid(beat_valid), .beat_last(beat_last),
        .beat_index(beat_index), .in_frame(in_frame),
        .has_tag(has_tag), .type_ipv4(type_ipv4), .version_4(version_4), .ihl(ihl),
        .now(now), .own_mac(own_mac), .promiscuous(promiscuous),
        .word(word), .word_valid(word_valid), .word_index(word_index),
        .too_short(too_short), .mac_ok(mac_ok), .mac_own(mac_own), .mac_broadcast(mac_broadcast),
        .is_ipv4(is_ipv4), .ip_sum_ok(ip_sum_ok), .fragment(fragment), .protocol(protocol), .ip_bytes(ip_bytes),
        .ip_payload_bytes(ip_payload_bytes), .src_ip(src_ip), .stamp(stamp),
        .pseudo_sum(pseudo_sum), .pseudo_carry(pseudo_carry)
    );

    wire [63:0]         w_word;
    wire [3:0]          w_bytes;
    wire                w_bad, w_valid, w_last, w_drop, w_early, side_push, side_free, losing;
    wire [99:0]         side;
    wire [WORDS_LOG2:0] free_words;

    udp_payload #(.FREE_BITS(WORDS_LOG2 + 1)) payload (
        .clk(clk), .rst(rst), .cut_through(cut_through), .entry_valid(entry_valid), .entry_port(entry_port),
        .slot_word(slot_word), .slot_bytes(slot_bytes), .slot_valid(slot_valid), .slot_is_udp(slot_is_udp),
        .slot_end(slot_end), .slot_bad_fcs(slot_bad_fcs),
        .too_short(too_short), .mac_ok(mac_ok), .type_arp(type_arp), .is_ipv4(is_ipv4), .ip_sum_ok(ip_sum_ok),
        .fragment(fragment), .protocol(protocol), .ip_payload_bytes(ip_payload_bytes), .src_ip(src_ip), .stamp(stamp),
        .pseudo_sum(pseudo_sum), .pseudo_carry(pseudo_carry),
        .free_words(free_words), .side_free(side_free), .losing(losing),
        .w_word(w_word), .w_bytes(w_bytes), .w_bad(w_bad), .w_valid(w_valid), .w_last(w_last), .w_drop(w_drop),
        .w_early(w_early), .side_push(side_push), .side(side),
        .verdict_valid(verdict_valid), .verdict(verdict)
    );

    receive_buffer #(.WORDS_LOG2(WORDS_LOG2), .FRAMES_LOG2(FRAMES_LOG2)) payload_buffer (
        .clk(clk), .rst(rst),
        .w_word(w_word), .w_bytes(w_bytes), .w_bad(w_bad), .w_valid(w_valid), .w_last(w_last), .w_drop(w_drop),
        .w_early(w_early), .side_push(side_push), .side(side), .free_words(free_words), .side_free(side_free),
        .losing(losing), .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast),
        .m_tuser(m_tuser), .m_stream(m_stream), .m_src_ip(m_src_ip), .m_src_port(m_src_port), .m_length(m_length),
        .m_stamp(m_stamp)
    );

    assign end_valid   = slot_end;
    assign end_bad_fcs = slot_bad_fcs;
    assign plain_icmp  = is_ipv4 && ip_sum_ok && !fragment && ihl == 4'd5 && protocol == 8'd1;

endmodule
