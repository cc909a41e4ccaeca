// SPDX-License-Identifier: Apache-2.0
//
// receive_tb: receive_path with its cycle counter and its counters, which a test reads at the end.
//
// In, out: as receive_path; counts, 16 counters of 32 bits in the order of frames.py, the first one lowest.

module receive_tb #(
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
    input  logic [47:0]  own_mac,
    input  logic [31:0]  own_ip,
    input  logic         promiscuous,
    input  logic         cut_through,
    input  logic [15:0]  entry_valid,
    input  logic [255:0] entry_port,
    // All fields of the payload stream in one word: one look a cycle.
    output logic [173:0] m_all,
    output logic         m_tvalid,
    input  logic         m_tready,
    output logic [72:0]  tx_all,
    output logic         tx_tvalid,
    input  logic         tx_tready,
    output logic [31:0]  now,
    output logic [511:0] counts
);

    always_ff @(posedge clk) now <= rst ? 32'd0 : now + 32'd1;

    logic [63:0] m_tdata;
    logic [7:0]  m_tkeep;
    logic        m_tlast, m_tuser;
    logic [3:0]  m_stream;
    logic [31:0] m_src_ip, m_stamp;
    logic [15:0] m_src_port, m_length;
    assign m_all = {m_tdata, m_tkeep, m_tlast, m_tuser, m_stream, m_src_ip, m_src_port, m_length, m_stamp};

    logic [63:0] tx_tdata;
    logic [7:0]  tx_tkeep;
    logic        tx_tlast;
    assign tx_all = {tx_tdata, tx_tkeep, tx_tlast};

    logic [15:0] pulse;
    receive_path #(.WORDS_LOG2(WORDS_LOG2), .FRAMES_LOG2(FRAMES_LOG2), .REPLY_LOG2(REPLY_LOG2)) dut (
        .count_accepted(pulse[0]), .count_bad_fcs(pulse[1]), .count_truncated(pulse[2]), .count_wrong_mac(pulse[3]),
        .count_arp(pulse[4]), .count_not_ipv4(pulse[5]), .count_bad_ip_checksum(pulse[6]), .count_fragment(pulse[7]),
        .count_icmp(pulse[8]), .count_not_udp(pulse[9]), .count_unknown_port(pulse[10]), .count_overflow(pulse[11]),
        .count_bad_udp_checksum(pulse[12]), .count_arp_answered(pulse[13]), .count_echo_answered(pulse[14]),
        .count_reply_overflow(pulse[15]), .*
    );

    always_ff @(posedge clk) begin
        for (int i = 0; i < 16; i++) begin
            if (rst) counts[32*i +: 32] <= 32'd0;
            else counts[32*i +: 32] <= counts[32*i +: 32] + {31'd0, pulse[i]};
        end
    end

endmodule
