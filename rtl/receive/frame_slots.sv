// SPDX-License-Identifier: Apache-2.0
//
// frame_slots: realigns a frame of the MAC so that the UDP header is one word and the payload follows from byte 0.
//
// In:  beats of the MAC (s_*; no back-pressure; s_tuser with s_tlast: bad frame check sequence).
// Out: slots: slot_is_udp marks the UDP header, the following ones hold payload and padding, slot_bytes of the 8 bytes
//      are of the frame. slot_end, one for each frame of any kind, comes the cycle after the last beat's slot and
//      holds the rest of that beat. beat_*: the beats, registered, with their index (stops at 31);
//      in_frame: a beat at the port belongs to the frame of beat_*. has_tag, type_*, ihl and
//      version_4: the first fields of the header, needed to find the UDP header.
// Latency: beat to beat_* 1 cycle; last byte of a word to its slot 1 cycle; last beat to slot_end 2 cycles.
//
// The UDP header begins at byte 14 + 4*ihl (+ 4 with a tag), so a word's first byte is byte 2 or byte 6 of a beat.

module frame_slots (
    input  logic        clk,
    input  logic        rst,

    input  logic [63:0] s_tdata,
    input  logic [7:0]  s_tkeep,
    input  logic        s_tvalid,
    input  logic        s_tlast,
    input  logic        s_tuser,

    output logic [63:0] slot_word,
    output logic [3:0]  slot_bytes,
    output logic        slot_valid,
    output logic        slot_is_udp,
    output logic        slot_end,
    output logic        slot_bad_fcs,

    output logic [63:0] beat_word,
    output logic [3:0]  beat_bytes,
    output logic        beat_valid,
    output logic        beat_last,
    output logic [4:0]  beat_index,
    output logic        in_frame,

    output logic        has_tag,
    output logic        type_ipv4,
    output logic        type_arp,
    output logic        version_4,
    output logic [3:0]  ihl
);

    localparam [15:0] TYPE_VLAN = 16'h0081;  // as in a beat, with the first byte in the low half
    localparam [15:0] TYPE_IPV4 = 16'h0008;
    localparam [15:0] TYPE_ARP  = 16'h0608;

    logic [3:0] n_bytes;
    byte_count count_bytes (.keep(s_tkeep), .bytes(n_bytes));

    // Index of the beat at the port.
    logic [4:0] index_q;
    always_ff @(posedge clk) begin
        if (rst) index_q <= 5'd0;
        else if (s_tvalid) index_q <= s_tlast ? 5'd0 : (index_q + {4'd0, index_q != 5'd31});
    end

    assign in_frame = index_q != 5'd0;

    logic bad_fcs_q;
    always_ff @(posedge clk) begin
        beat_valid <= s_tvalid && !rst;
        beat_last  <= s_tvalid && s_tlast && !rst;
        if (s_tvalid) begin
            beat_word  <= s_tdata;
            beat_bytes <= s_tlast ? n_bytes : 4'd8;
            beat_index <= index_q;
            bad_fcs_q  <= s_tuser && s_tlast;
        end
    end

    always_ff @(posedge clk) begin
        if (s_tvalid && index_q == 5'd1) begin
            has_tag    <= s_tdata[47:32] == TYPE_VLAN;
            type_ipv4 <= s_tdata[47:32] == TYPE_IPV4;
            type_arp  <= s_tdata[47:32] == TYPE_ARP;
            ihl       <= s_tdata[51:48];
            version_4 <= s_tdata[55:52] == 4'd4;
        end else if (s_tvalid && index_q == 5'd2 && has_tag) begin
            type_ipv4 <= s_tdata[15:0] == TYPE_IPV4;
            type_arp  <= s_tdata[15:0] == TYPE_ARP;
            ihl       <= s_tdata[19:16];
            version_4 <= s_tdata[23:20] == 4'd4;
        end
    end

    // The beat that completes the UDP header, and whether words begin at byte 6. Both are right at beat 5, the first
    // that can complete it; a header too short for IPv4 never matches.
    logic [4:0] udp_index_q;
    logic       at_byte_6_q, body_q;
    wire  [4:0] header_quads = {1'b0, ihl} + {4'd0, has_tag};
    wire  [4:0] header_beats = header_quads + 5'd5;
    wire        is_udp = s_tvalid && index_q >= 5'd5 && index_q == udp_index_q;

    always_ff @(posedge clk) begin
        udp_index_q <= {1'b0, header_beats[4:1]};
        at_byte_6_q <= !header_quads[0];
        // The beat at the port when beat_last holds belongs to the next frame.
        if (rst || beat_last) body_q <= 1'b0;
        else if (is_udp) body_q <= 1'b1;
    end

    logic [3:0] with_next, left_over;
    always_comb begin
        if (!s_tlast) with_next = 4'd8;
        else if (at_byte_6_q) with_next = n_bytes >= 4'd6 ? 4'd8 : n_bytes + 4'd2;
        else with_next = n_bytes >= 4'd2 ? 4'd8 : n_bytes + 4'd6;

        if (at_byte_6_q) left_over = beat_bytes > 4'd6 ? beat_bytes - 4'd6 : 4'd0;
        else left_over = beat_bytes > 4'd2 ? beat_bytes - 4'd2 : 4'd0;
    end

    always_ff @(posedge clk) begin
        slot_word    <= at_byte_6_q ? {s_tdata[47:0], beat_word[63:48]} : {s_tdata[15:0], beat_word[63:16]};
        slot_bytes   <= beat_last ? left_over : with_next;
        slot_is_udp  <= is_udp && !rst;
        slot_end     <= beat_last && !rst;
        slot_valid   <= !rst && (is_udp || (body_q && (s_tvalid || beat_last)));
        slot_bad_fcs <= bad_fcs_q;
    end

endmodule
