// SPDX-License-Identifier: Apache-2.0
//
// udp_payload: decides on each frame, extracts its UDP payload and writes it to the buffer.
//
// In:  slots of frame_slots, facts of frame_headers, the port table, free places of the buffer; cut_through, a register.
// Out: words to the buffer (w_*): w_bytes of w_word count, w_last ends a frame, w_bad with it marks a frame whose check
//      failed, w_drop discards it, w_early makes each word readable at once (cut-through). side_push writes the frame's
//      sideband. verdict, one for each frame with verdict_valid: the codes of receive_counts.
// Latency: slot to w_* 0 cycles; slot_end to verdict and last word 2 cycles (the last word waits for the checksum).
//
// A frame that does not fit is dropped whole. In cut-through a frame is admitted only if all of it has room, as the UDP
// header gives its length; otherwise it may use places that become free while it comes, and is discarded if one lacks.
// The first check that fails, in the order of the parser, is the verdict; except overflow it is the same in both modes.

module udp_payload #(
    parameter FREE_BITS = 12
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 cut_through,
    input  logic [15:0]          entry_valid,
    input  logic [255:0]         entry_port,

    input  logic [63:0]          slot_word,
    input  logic [3:0]           slot_bytes,
    input  logic                 slot_valid,
    input  logic                 slot_is_udp,
    input  logic                 slot_end,
    input  logic                 slot_bad_fcs,

    input  logic                 too_short,
    input  logic                 mac_ok,
    input  logic                 type_arp,
    input  logic                 is_ipv4,
    input  logic                 ip_sum_ok,
    input  logic                 fragment,
    input  logic [7:0]           protocol,
    input  logic [16:0]          ip_payload_bytes,
    input  logic [31:0]          src_ip,
    input  logic [31:0]          stamp,
    input  logic [15:0]          pseudo_sum,
    input  logic [15:0]          pseudo_carry,

    input  logic [FREE_BITS-1:0] free_words,
    input  logic                 side_free,
    input  logic                 losing,
    output logic [63:0]          w_word,
    output logic [3:0]           w_bytes,
    output logic                 w_bad,
    output logic                 w_valid,
    output logic                 w_last,
    output logic                 w_drop,
    output logic                 w_early,
    output logic                 side_push,
    output logic [99:0]          side,

    output logic                 verdict_valid,
    output logic [3:0]           verdict
);

    localparam [3:0] ACCEPTED = 0, BAD_FCS = 1, TRUNCATED = 2, WRONG_MAC = 3, ARP = 4, NOT_IPV4 = 5, BAD_IP_CHECKSUM = 6,
                     FRAGMENT = 7, ICMP = 8, NOT_UDP = 9, UNKNOWN_PORT = 10, OVERFLOW = 11, BAD_UDP_CHECKSUM = 12;

    localparam [1:0] HEAD = 0, FIRST = 1, BODY = 2, DONE = 3;

    // The UDP header's slot.
    wire        is_udp = slot_valid && slot_is_udp && slot_bytes == 4'd8;
    wire [15:0] udp_bytes = {slot_word[39:32], slot_word[47:40]};
    wire [31:0] free_wide = {{(32 - FREE_BITS){1'b0}}, free_words};
    logic       room_q, lengths_ok_q, has_sum_q, early_q;
    logic [95:0] side_q;

    wire       port_found;
    wire [3:0] stream;
    logic      found_q;
    logic [3:0] stream_q;
    port_table table_of_ports (
        .clk(clk), .port({slot_word[23:16], slot_word[31:24]}), .entry_valid(entry_valid), .entry_port(entry_port),
        .found(port_found), .stream(stream)
    );

    always_ff @(posedge clk) begin
        if (is_udp) begin
            // One word more than the payload needs: the count of free words may be one cycle old.
            room_q       <= side_free && (!cut_through || {19'd0, udp_bytes[15:3]} < free_wide);
            lengths_ok_q <= !ip_payload_bytes[16] && udp_bytes >= 16'd8 && udp_bytes <= ip_payload_bytes[15:0];
            has_sum_q    <= slot_word[63:48] != 16'd0;
            early_q      <= cut_through;
            side_q       <= {stamp, udp_bytes - 16'd8, slot_word[7:0], slot_word[15:8], src_ip};
        end
    end

    // The port's match is known in the cycle of the next slot or earlier: it is kept from its first cycle on.
    logic just_udp_q;
    always_ff @(posedge clk) begin
        just_udp_q <= is_udp && !rst;
        if (just_udp_q) begin
            found_q  <= port_found;
            stream_q <= stream;
        end
    end
    wire       found = just_udp_q ? port_found : found_q;
    wire [3:0] stream_now = just_udp_q ? stream : stream_q;

    // Payload: bytes that remain, and the valid bytes of the next word.
    logic [1:0]  state_q;
    logic [15:0] left_q;
    logic        final_q, accept_q;
    logic [7:0]  mask_q;

    wire         in_payload = slot_valid && !slot_is_udp && (state_q == FIRST || state_q == BODY);
    wire  [15:0] left_next = (slot_is_udp ? udp_bytes : left_q) - 16'd8;
    wire         final_next = left_next[15:3] == 13'd0 || left_next == 16'd8;
    wire         whole = final_q ? left_q[3:0] <= slot_bytes : slot_bytes == 4'd8;

    wire admit = mac_ok && is_ipv4 && ip_sum_ok && !fragment && protocol == 8'd17 && lengths_ok_q && found && room_q;
    wire accept = state_q == FIRST ? admit : accept_q;
    wire write = in_payload && whole && !final_q && accept;
    wire take_final = in_payload && whole && final_q;

    always_ff @(posedge clk) begin
        if (rst || slot_end) state_q <= HEAD;
        else if (is_udp) state_q <= FIRST;
        else if (in_payload) state_q <= (whole && !final_q) ? BODY : DONE;

        if (is_udp || in_payload) begin
            left_q  <= left_next;
            final_q <= final_next;
            mask_q  <= (final_next && !left_next[3]) ? ~(8'hff << left_next[2:0]) : 8'hff;
        end
        if (in_payload && state_q == FIRST) accept_q <= admit;
    end

    wire [63:0] mask = {{8{mask_q[7]}}, {8{mask_q[6]}}, {8{mask_q[5]}}, {8{mask_q[4]}},
                        {8{mask_q[3]}}, {8{mask_q[2]}}, {8{mask_q[1]}}, {8{mask_q[0]}}};
    wire [63:0] masked = slot_word & mask;

    // The length counts twice, as it is also in the pseudo header: times two is a rotation by one bit, modulo 65535.
    wire         sum_ok;
    logic [15:0] unused_sum, unused_carry;
    wire  [63:0] udp_header = {slot_word[63:48], slot_word[46:32], slot_word[47], slot_word[31:0]};
    ones_sum udp_sum (
        .clk(clk), .valid(is_udp || in_payload), .load(is_udp), .seed_sum(pseudo_sum), .seed_carry(pseudo_carry),
        .word(is_udp ? udp_header : masked), .sum_q(unused_sum), .carry_q(unused_carry), .is_zero(sum_ok)
    );

    // The final word waits here for the verdict; complete: it has come.
    logic [63:0] final_word_q;
    logic [3:0]  final_bytes_q;
    logic        complete_q;
    always_ff @(posedge clk) begin
        if (is_udp) begin
            complete_q    <= 1'b0;
            final_bytes_q <= 4'd0;
        end else if (take_final) begin
            complete_q    <= 1'b1;
            final_bytes_q <= left_q[3:0];
        end
        if (take_final) final_word_q <= masked;
    end

    // One cycle after slot_end: the checks of the headers. Two cycles after: the checks of the payload.
    logic       ended_q, ended_accept_q, verdict_accept_q;
    logic [3:0] head_verdict_q;
    logic [3:0] head_verdict;
    always_comb begin
        if (slot_bad_fcs) head_verdict = BAD_FCS;
        else if (too_short) head_verdict = TRUNCATED;
        else if (!mac_ok) head_verdict = WRONG_MAC;
        else if (type_arp) head_verdict = ARP;
        else if (!is_ipv4) head_verdict = NOT_IPV4;
        else if (state_q == HEAD) head_verdict = TRUNCATED;
        else if (!ip_sum_ok) head_verdict = BAD_IP_CHECKSUM;
        else if (fragment) head_verdict = FRAGMENT;
        else if (protocol == 8'd1) head_verdict = ICMP;
        else if (protocol != 8'd17) head_verdict = NOT_UDP;
        else if (!lengths_ok_q) head_verdict = TRUNCATED;
        else if (!found) head_verdict = UNKNOWN_PORT;
        else if (!room_q) head_verdict = OVERFLOW;
        else head_verdict = ACCEPTED;
    end

    // The last word needs a place, too.
    wire       lacking = !early_q && (losing || free_wide[31:1] == 31'd0);
    wire [3:0] full_verdict = head_verdict_q != ACCEPTED ? head_verdict_q : lacking ? OVERFLOW :
                              !complete_q ? TRUNCATED : (has_sum_q && !sum_ok) ? BAD_UDP_CHECKSUM : ACCEPTED;

    logic verdict_bad_q, sent_q;
    always_ff @(posedge clk) begin
        ended_q          <= slot_end && !rst;
        head_verdict_q  <= head_verdict;
        ended_accept_q   <= slot_end && state_q != HEAD && accept;
        verdict_valid    <= ended_q && !rst;
        verdict          <= full_verdict;
        verdict_bad_q    <= full_verdict != ACCEPTED;
        verdict_accept_q <= ended_q && ended_accept_q && !rst;
        if (is_udp) sent_q <= 1'b0;
        else if (write) sent_q <= 1'b1;
    end

    // The words of a frame and its last one never come in one cycle: the next frame has headers first.
    assign w_valid   = write || verdict_accept_q;
    assign w_last    = verdict_accept_q;
    assign w_word    = verdict_accept_q ? final_word_q : slot_word;
    assign w_bytes   = verdict_accept_q ? final_bytes_q : 4'd8;
    assign w_bad     = verdict_accept_q && verdict_bad_q;
    assign w_early   = early_q;
    assign w_drop    = verdict_bad_q && !early_q;
    assign side_push = early_q ? !sent_q && w_valid : verdict_accept_q && !verdict_bad_q;
    assign side      = {stream_now, side_q};

endmodule
