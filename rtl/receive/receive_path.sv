// SPDX-License-Identifier: Apache-2.0
//
// receive_path: all modules between the MAC and the data path.
//
// In:  frames of a 10G MAC (s_*, no back-pressure); settings from registers; now, the cycle counter.
// Out: payload stream (m_*, see receive_buffer); replies to the MAC (tx_*); one pulse for each count (receive_counts,
//      arp_icmp).
// Latency: see eth_ip_udp and arp_icmp; a frame is counted 6 cycles after its last beat.
// Parameters: WORDS_LOG2, FRAMES_LOG2 of the payload buffer; REPLY_LOG2, words of requests that wait for the sender.

module receive_path #(
    parameter WORDS_LOG2  = 11,
    parameter FRAMES_LOG2 = 9,
    parameter REPLY_LOG2  = 8
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
    input  logic [31:0]  own_ip,
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

    output logic [63:0]  tx_tdata,
    output logic [7:0]   tx_tkeep,
    output logic         tx_tvalid,
    input  logic         tx_tready,
    output logic         tx_tlast,

    output logic         count_accepted,
    output logic         count_bad_fcs,
    output logic         count_truncated,
    output logic         count_wrong_mac,
    output logic         count_arp,
    output logic         count_not_ipv4,
    output logic         count_bad_ip_checksum,
    output logic         count_fragment,
    output logic         count_icmp,
    output logic         count_not_udp,
    output logic         count_unknown_port,
    output logic         count_overflow,
    output logic         count_bad_udp_checksum,
    output logic         count_arp_answered,
    output logic         count_echo_answered,
    output logic         count_reply_overflow
);

    wire        verdict_valid;
    wire [3:0]  verdict;
    wire [63:0] beat_word, word;
    wire [3:0]  beat_bytes;
    wire        beat_valid, beat_last, word_valid;
    wire [4:0]  word_index;
    wire        end_valid, end_bad_fcs, has_tag, type_arp, plain_icmp, mac_own, mac_broadcast;
    wire [15:0] ip_bytes;

    eth_ip_udp #(.WORDS_LOG2(WORDS_LOG2), .FRAMES_LOG2(FRAMES_LOG2)) parser (
        .clk(clk), .rst(rst),
        .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid), .s_tlast(s_tlast), .s_tuser(s_tuser),
        .now(now), .own_mac(own_mac), .promiscuous(promiscuous), .cut_through(cut_through),
        .entry_valid(entry_valid), .entry_port(entry_port),
        .m_tdata(m_tdata), .m_tkeep(m_tkeep), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast),
        .m_tuser(m_tuser), .m_stream(m_stream), .m_src_ip(m_src_ip), .m_src_port(m_src_port), .m_length(m_length),
        .m_stamp(m_stamp),
        .verdict_valid(verdict_valid), .verdict(verdict),
        .beat_word(beat_word), .beat_bytes(beat_bytes), .beat_valid(beat_valid), .beat_last(beat_last),
        .word(word), .word_valid(word_valid), .word_index(word_index),
        .end_valid(end_valid), .end_bad_fcs(end_bad_fcs), .has_tag(has_tag), .type_arp(type_arp),
        .plain_icmp(plain_icmp), .mac_own(mac_own), .mac_broadcast(mac_broadcast), .ip_bytes(ip_bytes)
    );

    receive_counts counts (
        .clk(clk), .verdict_valid(verdict_valid), .verdict(verdict),
        .accepted(count_accepted), .bad_fcs(count_bad_fcs), .truncated(count_truncated),
        .wrong_mac(count_wrong_mac), .arp(count_arp), .not_ipv4(count_not_ipv4),
        .bad_ip_checksum(count_bad_ip_checksum), .fragment(count_fragment), .icmp(count_icmp),
        .not_udp(count_not_udp), .unknown_port(count_unknown_port), .overflow(count_overflow),
        .bad_udp_checksum(count_bad_udp_checksum)
    );

    arp_icmp #(.WORDS_LOG2(REPLY_LOG2)) replies (
        .clk(clk), .rst(rst), .own_mac(own_mac), .own_ip(own_ip),
        .beat_word(beat_word), .beat_bytes(beat_bytes), .beat_valid(beat_valid), .beat_last(beat_last),
        .word(word), .word_valid(word_valid), .word_index(word_index),
        .end_valid(end_valid), .end_bad_fcs(end_bad_fcs), .has_tag(has_tag), .type_arp(type_arp),
        .plain_icmp(plain_icmp), .mac_own(mac_own), .mac_broadcast(mac_broadcast), .ip_bytes(ip_bytes),
        .m_tdata(tx_tdata), .m_tkeep(tx_tkeep), .m_tvalid(tx_tvalid), .m_tready(tx_tready), .m_tlast(tx_tlast),
        .arp_answered(count_arp_answered), .echo_answered(count_echo_answered), .overflow(count_reply_overflow)
    );

endmodule
