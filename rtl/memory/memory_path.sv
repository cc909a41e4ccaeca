// SPDX-License-Identifier: Apache-2.0
//
// memory_path: memory_core with an AXI4 master: payload stream in, writes to host or GPU memory out.
//
// In:  payload stream (s_*), register file (list_*, tlb_*, ring_*, flush): see memory_core.sv.
// Out: AXI4 write channels, 64 bit, one ID, bursts within 2 kB (256 beats); interrupts; pulses for counters.
//      count_write_failed: an error came back; from then on bit 7 of each completion's reason is 1.
// Latency: first beat in to AW 14 cycles, to its first W beat 16, before any stall of the bus.
// Parameter: OPEN_LOG2, 2**OPEN_LOG2 bursts may wait for their acknowledgement.

module memory_path #(
    parameter OPEN_LOG2 = 5
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [31:0]  now,

    input  logic [63:0]  s_tdata,
    input  logic [7:0]   s_tkeep,
    input  logic         s_tvalid,
    output logic         s_tready,
    input  logic         s_tlast,
    input  logic         s_tuser,
    input  logic         s_end_of_burst,
    input  logic [4:0]   s_stream,
    input  logic [31:0]  s_src_ip,
    input  logic [15:0]  s_src_port,
    input  logic [15:0]  s_length,
    input  logic [31:0]  s_stamp,
    input  logic [31:0]  s_parsed,
    input  logic [31:0]  s_merged,

    input  logic         list_write,
    input  logic [4:0]   list_index,
    input  logic [2:0]   list_register,
    input  logic [31:0]  list_data,
    input  logic         tlb_write,
    input  logic [3:0]   tlb_index,
    input  logic [1:0]   tlb_register,
    input  logic [31:0]  tlb_data,
    input  logic [47:0]  ring_base,
    input  logic [4:0]   ring_size_log2,
    input  logic [31:0]  ring_tail,
    output logic [31:0]  ring_head,
    input  logic         flush,

    output logic [63:0]  m_axi_awaddr,
    output logic [7:0]   m_axi_awlen,
    output logic [2:0]   m_axi_awsize,
    output logic [1:0]   m_axi_awburst,
    output logic         m_axi_awvalid,
    input  logic         m_axi_awready,
    output logic [63:0]  m_axi_wdata,
    output logic [7:0]   m_axi_wstrb,
    output logic         m_axi_wlast,
    output logic         m_axi_wvalid,
    input  logic         m_axi_wready,
    input  logic [1:0]   m_axi_bresp,
    input  logic         m_axi_bvalid,
    output logic         m_axi_bready,

    output logic         irq_completion,
    output logic         irq_missing,
    output logic [31:0]  missing_page,
    output logic         idle,
    output logic         count_written,
    output logic         count_dropped,
    output logic         count_too_long,
    output logic         count_overwritten,
    output logic         count_completion,
    output logic         count_ring_full,
    output logic         count_tlb_miss,
    output logic         count_tlb_stall,
    output logic         count_write_failed
);

    wire [63:0] q_address, d_data;
    wire [11:0] q_bytes;
    wire [1:0]  q_kind;
    wire        q_valid, q_ready, d_valid, d_ready, record_done, completion_done, failed;

    memory_core #(.PIECE_LOG2(11)) core (
        .clk(clk), .rst(rst), .now(now), .s_tdata(s_tdata), .s_tkeep(s_tkeep), .s_tvalid(s_tvalid),
        .s_tready(s_tready), .s_tlast(s_tlast), .s_tuser(s_tuser), .s_end_of_burst(s_end_of_burst),
        .s_stream(s_stream), .s_src_ip(s_src_ip), .s_src_port(s_src_port), .s_length(s_length), .s_stamp(s_stamp),
        .s_parsed(s_parsed), .s_merged(s_merged), .list_write(list_write), .list_index(list_index),
        .list_register(list_register), .list_data(list_data), .tlb_write(tlb_write), .tlb_index(tlb_index),
        .tlb_register(tlb_register), .tlb_data(tlb_data), .ring_base(ring_base), .ring_size_log2(ring_size_log2),
        .ring_tail(ring_tail), .ring_head(ring_head), .flush(flush), .irq_completion(irq_completion),
        .irq_missing(irq_missing), .missing_page(missing_page), .idle(idle), .count_written(count_written),
        .count_dropped(count_dropped), .count_too_long(count_too_long), .count_overwritten(count_overwritten),
        .count_completion(count_completion), .count_ring_full(count_ring_full), .count_tlb_miss(count_tlb_miss),
        .count_tlb_stall(count_tlb_stall), .q_address(q_address), .q_bytes(q_bytes), .q_kind(q_kind),
        .q_valid(q_valid), .q_ready(q_ready), .d_data(d_data), .d_valid(d_valid), .d_ready(d_ready),
        .record_done(record_done), .completion_done(completion_done), .failed(failed)
    );
    axi4_writer #(.OPEN_LOG2(OPEN_LOG2)) axi (
        .clk(clk), .rst(rst), .s_address(q_address), .s_bytes(q_bytes), .s_kind(q_kind), .s_valid(q_valid),
        .s_ready(q_ready), .d_data(d_data), .d_valid(d_valid), .d_ready(d_ready), .m_axi_awaddr(m_axi_awaddr),
        .m_axi_awlen(m_axi_awlen), .m_axi_awsize(m_axi_awsize), .m_axi_awburst(m_axi_awburst),
        .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready), .m_axi_wdata(m_axi_wdata),
        .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_wvalid(m_axi_wvalid),
        .m_axi_wready(m_axi_wready), .m_axi_bresp(m_axi_bresp), .m_axi_bvalid(m_axi_bvalid),
        .m_axi_bready(m_axi_bready), .record_done(record_done), .completion_done(completion_done), .failed(failed)
    );
    assign count_write_failed = failed;
endmodule
