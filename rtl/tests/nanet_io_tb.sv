// SPDX-License-Identifier: Apache-2.0
//
// nanet_io_tb: nanet_io with the AXI4 IDs that cocotbext-axi wants, and what its test must see inside.
//
// In, out: as nanet_io.sv; s_*: the payload stream between receive and memory path, to be looked at only; the rest as
// memory_tb.sv. Latency: none of its own.

module nanet_io_tb (
    input  logic        clk,
    input  logic        rst,
    input  logic [63:0] rx_tdata,
    input  logic [7:0]  rx_tkeep,
    input  logic        rx_tvalid,
    input  logic        rx_tlast,
    input  logic        rx_tuser,
    output logic [63:0] tx_tdata,
    output logic [7:0]  tx_tkeep,
    output logic        tx_tvalid,
    input  logic        tx_tready,
    output logic        tx_tlast,
    input  logic [12:0] s_axil_awaddr,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [3:0]  s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [1:0]  s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [12:0] s_axil_araddr,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [1:0]  s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,
    output logic [0:0]  m_axi_awid,
    output logic [63:0] m_axi_awaddr,
    output logic [7:0]  m_axi_awlen,
    output logic [2:0]  m_axi_awsize,
    output logic [1:0]  m_axi_awburst,
    output logic        m_axi_awvalid,
    input  logic        m_axi_awready,
    output logic [63:0] m_axi_wdata,
    output logic [7:0]  m_axi_wstrb,
    output logic        m_axi_wlast,
    output logic        m_axi_wvalid,
    input  logic        m_axi_wready,
    input  logic [0:0]  m_axi_bid,
    input  logic [1:0]  m_axi_bresp,
    input  logic        m_axi_bvalid,
    output logic        m_axi_bready,
    input  logic        fail_writes,  // each acknowledgement says that it failed
    output logic        irq,

    output logic [31:0] now,
    output logic        enable,
    output logic        payload_tvalid,  // as they leave the receive path
    output logic        payload_tready,
    output logic        payload_tlast,
    output logic        s_tvalid,  // as the memory path takes them
    output logic        s_tready,
    output logic        s_tlast,
    output logic [31:0] s_stamp,
    output logic        count_written,
    output logic        count_dropped,
    output logic        count_too_long,
    output logic        count_overwritten,
    output logic        count_completion,
    output logic        count_ring_full,
    output logic        count_tlb_miss,
    output logic        count_tlb_stall,
    output logic        count_write_failed,
    output logic        seen_offer,
    output logic        seen_place,
    output logic        seen_discard,
    output logic        seen_give,
    output logic [4:0]  seen_list,
    output logic [2:0]  seen_reason,
    output logic        seen_request,
    output logic [1:0]  seen_kind,
    output logic        seen_credit,
    output logic [4:0]  seen_credit_list,
    output logic [6:0]  seen_credits
);

    wire [1:0] bresp = fail_writes ? 2'd2 : m_axi_bresp;
    nanet_io #(.FIRST_CYCLE(32'hffff_f000)) card (.m_axi_bresp(bresp), .*);  // stamps wrap early in each test
    wire unused = m_axi_bid[0];

    assign m_axi_awid         = 1'b0;
    assign now                = card.now;
    assign enable             = card.enable;
    assign payload_tvalid     = card.payload_tvalid;
    assign payload_tready     = card.payload_tready;
    assign payload_tlast      = card.payload_tlast;
    assign s_tvalid           = card.held_tvalid;
    assign s_tready           = card.held_tready;
    assign s_tlast            = card.held_tlast;
    assign s_stamp            = card.held_stamp;
    assign count_written      = card.memory.count_written;
    assign count_dropped      = card.memory.count_dropped;
    assign count_too_long     = card.memory.count_too_long;
    assign count_overwritten  = card.memory.count_overwritten;
    assign count_completion   = card.memory.count_completion;
    assign count_ring_full    = card.memory.count_ring_full;
    assign count_tlb_miss     = card.memory.count_tlb_miss;
    assign count_tlb_stall    = card.memory.count_tlb_stall;
    assign count_write_failed = card.memory.count_write_failed;
    assign seen_offer         = card.memory.core.c_valid;
    assign seen_place         = card.memory.core.c_valid && card.memory.core.c_ready;
    assign seen_discard       = card.memory.core.c_discard;
    assign seen_give          = card.memory.core.e_valid && card.memory.core.e_ready;
    assign seen_list          = card.memory.core.e_list;
    assign seen_reason        = card.memory.core.e_reason;
    assign seen_request       = card.memory.q_valid && card.memory.q_ready;
    assign seen_kind          = card.memory.q_kind;
    assign seen_credit        = card.list_write && card.list_register == 3'd7;
    assign seen_credit_list   = card.list_index;
    assign seen_credits       = card.list_data[6:0];
endmodule
