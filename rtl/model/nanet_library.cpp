// SPDX-License-Identifier: Apache-2.0
// The Verilated card as a shared library with C functions, receive/nanet/nanet_abi.h. build_model.py --library makes
// it.
#include <new>

#include "Vnanet_io.h"
#include "card_levels.hpp"
#include "receive/nanet/nanet_abi.h"

namespace {

/// Each card has its own context, so that several cards of one process share nothing.
struct Model {
    VerilatedContext context;
    Vnanet_io top{&context};
    anello_nanet_levels levels{};
};

void put(const anello_nanet_in& in, Vnanet_io& top) {
    top.rst = in.rst;
    top.rx_tdata = in.rx_tdata;
    top.rx_tkeep = in.rx_tkeep;
    top.rx_tvalid = in.rx_tvalid;
    top.rx_tlast = in.rx_tlast;
    top.rx_tuser = in.rx_tuser;
    top.tx_tready = in.tx_tready;
    top.s_axil_awaddr = in.s_axil_awaddr;
    top.s_axil_awvalid = in.s_axil_awvalid;
    top.s_axil_wdata = in.s_axil_wdata;
    top.s_axil_wstrb = in.s_axil_wstrb;
    top.s_axil_wvalid = in.s_axil_wvalid;
    top.s_axil_bready = in.s_axil_bready;
    top.s_axil_araddr = in.s_axil_araddr;
    top.s_axil_arvalid = in.s_axil_arvalid;
    top.s_axil_rready = in.s_axil_rready;
    top.m_axi_awready = in.m_axi_awready;
    top.m_axi_wready = in.m_axi_wready;
    top.m_axi_bresp = in.m_axi_bresp;
    top.m_axi_bvalid = in.m_axi_bvalid;
}

void get(const Vnanet_io& top, anello_nanet_out& out) {
    out.tx_tdata = top.tx_tdata;
    out.tx_tkeep = top.tx_tkeep;
    out.tx_tvalid = top.tx_tvalid;
    out.tx_tlast = top.tx_tlast;
    out.s_axil_awready = top.s_axil_awready;
    out.s_axil_wready = top.s_axil_wready;
    out.s_axil_bresp = top.s_axil_bresp;
    out.s_axil_bvalid = top.s_axil_bvalid;
    out.s_axil_arready = top.s_axil_arready;
    out.s_axil_rdata = top.s_axil_rdata;
    out.s_axil_rresp = top.s_axil_rresp;
    out.s_axil_rvalid = top.s_axil_rvalid;
    out.m_axi_awaddr = top.m_axi_awaddr;
    out.m_axi_awlen = top.m_axi_awlen;
    out.m_axi_awsize = top.m_axi_awsize;
    out.m_axi_awburst = top.m_axi_awburst;
    out.m_axi_awvalid = top.m_axi_awvalid;
    out.m_axi_wdata = top.m_axi_wdata;
    out.m_axi_wstrb = top.m_axi_wstrb;
    out.m_axi_wlast = top.m_axi_wlast;
    out.m_axi_wvalid = top.m_axi_wvalid;
    out.m_axi_bready = top.m_axi_bready;
    out.irq = top.irq;
}

}  // namespace

extern "C" {

std::uint32_t anello_nanet_abi_version() {
    return ANELLO_NANET_ABI_VERSION;
}

const char* anello_nanet_sources() {
    return NANET_SOURCES;
}

void* anello_nanet_create() {
    try {
        return new Model;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void anello_nanet_destroy(void* card) {
    delete static_cast<Model*>(card);
}

void anello_nanet_step(void* card, const anello_nanet_in* in, anello_nanet_out* out) {
    Model& model = *static_cast<Model*>(card);
    Vnanet_io& top = model.top;
    put(*in, top);
    top.clk = 0;
    top.eval();
    get(top, *out);
    if (in->rst == 0) levels::note_all(*top.rootp, model.levels);
    top.clk = 1;
    top.eval();
}

void anello_nanet_highest_levels(const void* card, anello_nanet_levels* levels) {
    *levels = static_cast<const Model*>(card)->levels;
}

}  // extern "C"
