// SPDX-License-Identifier: Apache-2.0
//
// arp_icmp_reply: turns a request into its reply, word by word as it passes.
//
// In:  whole requests (x_*) without gaps, at least 42 bytes, 0 after the last; this card's mac and ip, first byte lowest.
// Out: replies (m_*): 60 bytes for ARP, the request's length but at least 60 for an echo. A pulse at the end of each.
// Latency: 2 cycles.
//
// The sender's addresses come before their places in the reply, except the last four bytes of its MAC address,
// which the first word of the reply takes from the next word. An echo's TTL becomes 64. Both checksums are corrected
// (RFC 1624): only the TTL and the ICMP type change a sum, exchanged addresses do not.

module arp_icmp_reply (
    input  logic        clk,
    input  logic        rst,
    input  logic [47:0] mac,
    input  logic [31:0] ip,

    input  logic [63:0] x_word,
    input  logic [3:0]  x_bytes,
    input  logic        x_valid,
    output logic        x_ready,
    input  logic        x_last,

    output logic [63:0] m_tdata,
    output logic [7:0]  m_tkeep,
    output logic        m_tvalid,
    input  logic        m_tready,
    output logic        m_tlast,

    output logic        arp_answered,
    output logic        echo_answered
);

    localparam [15:0] TYPE_VLAN = 16'h0081, TYPE_ARP = 16'h0608, OP_REPLY = 16'h0200;
    localparam [7:0]  TTL = 8'd64;

    // y: the word that is changed. z: the changed word.
    logic [63:0] y_word, z_word;
    logic [3:0]  y_bytes, y_index, z_bytes;
    logic        y_valid, y_last, z_valid, z_last;
    logic        y_is_0;  // y_index == 0, in a register, as many other bits wait for it
    logic        reply_last, y_stops;  // the reply ends with y; either it or the request ends: registers, too

    wire       z_free = !z_valid || m_tready;
    wire       y_moves = y_valid && z_free && (!y_is_0 || x_valid);
    logic      has_tag_q, arp_q, drain_q;

    // A short reply is filled with zeros; after an ARP reply the rest of the request is discarded.
    wire pad = y_stops && y_last;
    wire cut = y_stops && !y_last;
    wire y_load = x_valid && x_ready && !drain_q;
    assign x_ready = drain_q || !y_valid || (y_moves && !y_stops);
    wire starts = !y_valid || reply_last;
    // Of the word that becomes y; arp_q is settled long before.
    wire ends_arp  = arp_q && y_index == 4'd6;
    wire ends_echo = !arp_q && y_index >= 4'd6;
    wire load_last = !starts && (ends_arp || (ends_echo && x_last));
    wire [3:0] load_index = starts ? 4'd0 : y_index + {3'd0, y_index != 4'd15};

    always_ff @(posedge clk) begin
        if (rst) begin
            y_valid <= 1'b0;
            drain_q <= 1'b0;
        end else begin
            if (y_load) y_valid <= 1'b1;
            else if (y_moves && !pad) y_valid <= 1'b0;
            if (y_moves && cut) drain_q <= 1'b1;
            else if (x_valid && x_last) drain_q <= 1'b0;
        end
        if (y_load) begin
            y_word   <= x_word;
            y_bytes  <= x_bytes;
            y_last   <= x_last;
            y_index  <= load_index;
            y_is_0   <= starts;
            reply_last <= load_last;
            y_stops    <= load_last != x_last;
        end else if (y_moves && pad) begin
            y_word   <= 64'd0;
            y_bytes  <= 4'd4;
            y_index  <= y_index + 4'd1;
            y_is_0   <= 1'b0;
            reply_last <= ends_arp || ends_echo;
            y_stops    <= !(ends_arp || ends_echo);
        end
    end

    // The sender's addresses and the TTL, caught as their word becomes y. (first byte lowest)
    logic [47:0] peer_mac;
    logic [31:0] peer_ip;
    logic [7:0]  ttl_q;
    always_ff @(posedge clk) begin
        if (y_load) begin
            case (load_index)
                4'd0: peer_mac[15:0] <= x_word[63:48];
                4'd1: begin
                    peer_mac[47:16] <= x_word[31:0];
                    has_tag_q        <= x_word[47:32] == TYPE_VLAN;
                    arp_q           <= x_word[47:32] == TYPE_ARP;
                end
                4'd2: begin
                    if (has_tag_q) arp_q <= x_word[15:0] == TYPE_ARP;
                    ttl_q <= x_word[55:48];
                end
                4'd3: begin
                    if (has_tag_q) peer_ip[15:0] <= x_word[63:48];
                    else peer_ip <= arp_q ? x_word[63:32] : x_word[47:16];
                end
                4'd4: begin
                    if (has_tag_q && arp_q) peer_ip <= x_word[31:0];
                    else if (has_tag_q) peer_ip[31:16] <= x_word[15:0];
                end
                default: ;
            endcase
        end
    end

    logic [63:0] turned;
    logic        mend_0, mend_2;  // the checksum in the first or third half-word of four is to be mended
    always_comb begin
        turned = y_word;
        mend_0 = 1'b0;
        mend_2 = 1'b0;
        if (y_index == 4'd0) turned = {mac[15:0], x_word[31:0], y_word[63:48]};
        else if (y_index == 4'd1) turned[31:0] = mac[47:16];
        else if (arp_q) begin
            case ({has_tag_q, y_index})
                5'h02:   turned[63:32] = {mac[15:0], OP_REPLY};
                5'h03:   turned = {ip, mac[47:16]};
                5'h04:   turned = {peer_ip[15:0], peer_mac};
                5'h05:   turned = {48'd0, peer_ip[31:16]};
                5'h12:   turned = y_word;
                5'h13:   turned = {mac, OP_REPLY};
                5'h14:   turned = {peer_mac[31:0], ip};
                5'h15:   turned = {16'd0, peer_ip, peer_mac[47:32]};
                default: turned = 64'd0;
            endcase
        end else begin
            case ({has_tag_q, y_index})
                5'h02: turned[55:48] = TTL;
                5'h03: begin
                    turned[63:16] = {peer_ip[15:0], ip};
                    mend_0        = 1'b1;
                end
                5'h04: begin
                    turned[31:0] = {16'd0, peer_ip[31:16]};
                    mend_2       = 1'b1;
                end
                5'h13: begin
                    turned[63:48] = ip[15:0];
                    turned[23:16] = TTL;
                    mend_2        = 1'b1;
                end
                5'h14: turned = {16'd0, peer_ip, ip[31:16]};
                5'h15: mend_0 = 1'b1;
                default: ;
            endcase
        end
    end

    // Old checksum + old - new, in one's complement and, as it does not matter to the sum, with the bytes exchanged.
    wire [15:0] old_sum = mend_0 ? y_word[15:0] : y_word[47:32];
    wire [15:0] plus    = y_index == 4'd3 ? {8'd0, has_tag_q ? y_word[23:16] : ttl_q} : 16'h0008;
    wire [15:0] minus   = y_index == 4'd3 ? {8'hff, ~TTL} : 16'h0000;
    wire [15:0] carries = (old_sum & plus) | (old_sum & minus) | (plus & minus);
    wire [16:0] sum     = {1'b0, old_sum ^ plus ^ minus} + {1'b0, carries[14:0], carries[15]};

    logic [16:0] z_sum;
    logic        z_mend_0, z_mend_2;
    wire  [3:0]  out_bytes = (arp_q || y_bytes < 4'd4) ? 4'd4 : y_bytes;
    always_ff @(posedge clk) begin
        if (z_free) begin
            z_word   <= turned;
            z_last   <= reply_last;
            z_bytes  <= !reply_last ? 4'd8 : y_index == 4'd7 ? out_bytes : y_bytes;
            z_sum    <= sum;
            z_mend_0 <= mend_0;
            z_mend_2 <= mend_2;
        end
        if (rst) z_valid <= 1'b0;
        else if (z_free) z_valid <= y_moves;
        arp_answered  <= !rst && y_moves && reply_last && arp_q;
        echo_answered <= !rst && y_moves && reply_last && !arp_q;
    end

    wire [15:0] mended = z_sum[15:0] + {15'd0, z_sum[16]};
    always_comb begin
        m_tdata = z_word;
        if (z_mend_0) m_tdata[15:0] = mended;
        if (z_mend_2) m_tdata[47:32] = mended;
        for (int i = 0; i < 8; i++) m_tkeep[i] = z_bytes > i[3:0];
    end
    assign m_tvalid = z_valid;
    assign m_tlast  = z_last;

endmodule
