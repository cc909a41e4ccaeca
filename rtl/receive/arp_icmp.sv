// SPDX-License-Identifier: Apache-2.0
//
// arp_icmp: answers ARP requests and ICMP echo requests for own_ip.
//
// In:  beats, words 1 to 5 and facts of each frame (eth_ip_udp). Answered are ARP requests (Ethernet, IPv4) sent to own_mac
//      or to all, and echo requests sent to own_mac with a right IPv4 header checksum, whole, without IP options.
// Out: replies to the MAC (m_*, without gaps while m_tready holds), at least 60 bytes, with the request's VLAN tag. An echo
//      whose ICMP checksum is wrong comes back with it still wrong. One pulse for each reply sent (arp_answered,
//      echo_answered), and for each request lost because the buffer was full or too short for it (overflow).
// Latency: request's last beat in to reply's first beat out 10 cycles.
// Parameters: WORDS_LOG2 of the buffer: 2**WORDS_LOG2 words of requests wait.

module arp_icmp #(
    parameter WORDS_LOG2 = 8
) (
    input  logic        clk,
    input  logic        rst,
    input  logic [47:0] own_mac,
    input  logic [31:0] own_ip,

    input  logic [63:0] beat_word,
    input  logic [3:0]  beat_bytes,
    input  logic        beat_valid,
    input  logic        beat_last,
    input  logic [63:0] word,
    input  logic        word_valid,
    input  logic [4:0]  word_index,

    input  logic        end_valid,
    input  logic        end_bad_fcs,
    input  logic        has_tag,
    input  logic        type_arp,
    input  logic        plain_icmp,
    input  logic        mac_own,
    input  logic        mac_broadcast,
    input  logic [15:0] ip_bytes,

    output logic [63:0] m_tdata,
    output logic [7:0]  m_tkeep,
    output logic        m_tvalid,
    input  logic        m_tready,
    output logic        m_tlast,

    output logic        arp_answered,
    output logic        echo_answered,
    output logic        overflow
);

    // Constants as on the wire, with the first byte lowest.
    wire [47:0] mac = {own_mac[7:0], own_mac[15:8], own_mac[23:16], own_mac[31:24], own_mac[39:32], own_mac[47:40]};
    wire [31:0] ip  = {own_ip[7:0], own_ip[15:8], own_ip[23:16], own_ip[31:24]};

    // Whether the frame is a request to this card: one flag for each kind, which a wrong word clears.
    logic arp_q, echo_q;
    always_ff @(posedge clk) begin
        if (word_valid) begin
            case (word_index)
                5'd1: begin
                    arp_q  <= word[63:48] == 16'h0100;
                    echo_q <= 1'b1;
                end
                5'd2: if (word[47:0] != 48'h0100_0406_0008) arp_q <= 1'b0;
                5'd3: if (word[63:48] != ip[15:0]) echo_q <= 1'b0;
                5'd4: begin
                    if (word[63:48] != ip[15:0]) arp_q <= 1'b0;
                    if (word[15:0] != ip[31:16] || word[31:16] != 16'h0008) echo_q <= 1'b0;
                end
                5'd5: if (word[15:0] != ip[31:16]) arp_q <= 1'b0;
                default: ;
            endcase
        end
    end

    // Whether all of it has come. A frame too long for the counter is far too long for the buffer.
    logic [12:0] n_beats_q;
    logic [15:0] frame_bytes_q, needed_q;
    always_ff @(posedge clk) begin
        if (rst) n_beats_q <= 13'd0;
        else if (beat_valid) n_beats_q <= beat_last ? 13'd0 : n_beats_q + 13'd1;
        frame_bytes_q <= {n_beats_q, 3'd0} + {12'd0, beat_bytes};
        needed_q      <= ip_bytes + (has_tag ? 16'd18 : 16'd14);
    end

    wire arp_whole  = frame_bytes_q >= (has_tag ? 16'd46 : 16'd42);
    wire echo_whole = frame_bytes_q >= needed_q && ip_bytes >= 16'd28 && ip_bytes < 16'd65000;
    wire wanted     = end_valid && !end_bad_fcs &&
                      ((type_arp && arp_q && arp_whole && (mac_own || mac_broadcast)) ||
                       (plain_icmp && echo_q && echo_whole && mac_own));

    // The beats are delayed by two cycles, so that the last one comes with the decision.
    logic [69:0] wait_1_q, wait_2_q;
    logic        wanted_q;
    logic [7:0]  keep_byte;
    always_comb begin
        for (int i = 0; i < 8; i++) keep_byte[i] = beat_bytes > i[3:0];
    end
    wire [63:0] mask = {{8{keep_byte[7]}}, {8{keep_byte[6]}}, {8{keep_byte[5]}}, {8{keep_byte[4]}},
                        {8{keep_byte[3]}}, {8{keep_byte[2]}}, {8{keep_byte[1]}}, {8{keep_byte[0]}}};
    always_ff @(posedge clk) begin
        wait_1_q <= {beat_valid && !rst, beat_last, beat_bytes, beat_word & mask};
        wait_2_q <= {wait_1_q[69] && !rst, wait_1_q[68:0]};
        wanted_q <= wanted;
    end

    wire [63:0]         x_word;
    wire [3:0]          x_bytes;
    wire                x_valid, x_ready, x_last, unused_ready, unused_losing;
    wire [WORDS_LOG2:0] unused_free;
    axis_fifo #(.WIDTH(68), .DEPTH_LOG2(WORDS_LOG2)) requests (
        .clk(clk), .rst(rst),
        .s_tdata(wait_2_q[67:0]), .s_tvalid(wait_2_q[69]), .s_tready(unused_ready), .s_tlast(wait_2_q[68]),
        .s_drop(!wanted_q), .s_early(1'b0),
        .m_tdata({x_bytes, x_word}), .m_tvalid(x_valid), .m_tready(x_ready), .m_tlast(x_last),
        .free_words(unused_free), .losing(unused_losing), .overflow(overflow)
    );

    wire [63:0] r_tdata;
    wire [7:0]  r_tkeep;
    wire        r_tvalid, r_tready, r_tlast;
    arp_icmp_reply reply (
        .clk(clk), .rst(rst), .mac(mac), .ip(ip),
        .x_word(x_word), .x_bytes(x_bytes), .x_valid(x_valid), .x_ready(x_ready), .x_last(x_last),
        .m_tdata(r_tdata), .m_tkeep(r_tkeep), .m_tvalid(r_tvalid), .m_tready(r_tready), .m_tlast(r_tlast),
        .arp_answered(arp_answered), .echo_answered(echo_answered)
    );

    axis_skid #(.WIDTH(73)) out (
        .clk(clk), .rst(rst),
        .s_tdata({r_tlast, r_tkeep, r_tdata}), .s_tvalid(r_tvalid), .s_tready(r_tready),
        .m_tdata({m_tlast, m_tkeep, m_tdata}), .m_tvalid(m_tvalid), .m_tready(m_tready)
    );

endmodule
