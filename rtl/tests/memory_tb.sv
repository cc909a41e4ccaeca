// SPDX-License-Identifier: Apache-2.0
//
// memory_tb: memory_path with a cycle counter and the AXI4 IDs that cocotbext-axi wants.
//
// In, out: as memory_path.sv; now is the counter. Latency: none of its own.

module memory_tb (
    input  logic         clk,
    input  logic         rst,
    output logic [31:0]  now,
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
    output logic [0:0]   m_axi_awid,
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
    input  logic [0:0]   m_axi_bid,
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
    output logic         count_write_failed,
    // Signals for the test's model, as they depend on time: outcomes of records, buffers handed on, kinds of requests.
    output logic         seen_offer,
    output logic         seen_place,
    output logic         seen_discard,
    output logic         seen_give,
    output logic [4:0]   seen_list,
    output logic [2:0]   seen_reason,
    output logic         seen_request,
    output logic [1:0]   seen_kind
);

    always @(posedge clk) now <= rst ? 32'hfffff000 : now + 32'd1;  // stamps wrap early in each test
    assign m_axi_awid   = 1'b0;
    assign seen_offer   = path.core.c_valid;
    assign seen_place   = path.core.c_valid && path.core.c_ready;
    assign seen_discard = path.core.c_discard;
    assign seen_give    = path.core.e_valid && path.core.e_ready;
    assign seen_list    = path.core.e_list;
    assign seen_reason  = path.core.e_reason;
    assign seen_request = path.q_valid && path.q_ready;
    assign seen_kind    = path.q_kind;

    memory_path path (.*);
    wire unused = m_axi_bid[0];
endmodule
