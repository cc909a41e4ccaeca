// SPDX-License-Identifier: Apache-2.0
//
// receive_counts: turns the verdict on a frame into one pulse of one counter; the sum of the counters is all frames.
//
// In:  verdict with verdict_valid.
// Out: one pulse. accepted: delivered, and good. arp and icmp: handled by arp_icmp. All others: the frame was dropped,
//      or in cut-through, where bad_fcs, truncated and bad_udp_checksum may come too late, delivered and marked bad.
//      Checks, in their order, the first that fails counts:
//      bad_fcs; truncated (ends with its type); wrong_mac; arp; not_ipv4 (or version, or ihl below 5); truncated (ends
//      before 8 bytes after the IP header); bad_ip_checksum; fragment; icmp; not_udp; truncated (UDP length below 8 or
//      beyond the IP length); unknown_port; overflow; truncated (ends before the UDP length); bad_udp_checksum.
// Latency: 1 cycle.

module receive_counts (
    input  logic       clk,
    input  logic       verdict_valid,
    input  logic [3:0] verdict,
    output logic       accepted,
    output logic       bad_fcs,
    output logic       truncated,
    output logic       wrong_mac,
    output logic       arp,
    output logic       not_ipv4,
    output logic       bad_ip_checksum,
    output logic       fragment,
    output logic       icmp,
    output logic       not_udp,
    output logic       unknown_port,
    output logic       overflow,
    output logic       bad_udp_checksum
);

    always_ff @(posedge clk) begin
        accepted         <= verdict_valid && verdict == 4'd0;
        bad_fcs          <= verdict_valid && verdict == 4'd1;
        truncated        <= verdict_valid && verdict == 4'd2;
        wrong_mac        <= verdict_valid && verdict == 4'd3;
        arp              <= verdict_valid && verdict == 4'd4;
        not_ipv4         <= verdict_valid && verdict == 4'd5;
        bad_ip_checksum  <= verdict_valid && verdict == 4'd6;
        fragment         <= verdict_valid && verdict == 4'd7;
        icmp             <= verdict_valid && verdict == 4'd8;
        not_udp          <= verdict_valid && verdict == 4'd9;
        unknown_port     <= verdict_valid && verdict == 4'd10;
        overflow         <= verdict_valid && verdict == 4'd11;
        bad_udp_checksum <= verdict_valid && verdict == 4'd12;
    end

endmodule
