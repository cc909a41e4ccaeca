/* SPDX-License-Identifier: Apache-2.0 */
/* The network card's model as a shared library: the ports of rtl/nanet_io.sv, and one step of its clock. The engine
 * loads it at run time (receive.backend = "nanet") and is host, network and memory around it, so that it needs nothing
 * of the simulator that the library was made with. `anello nanet library` makes it. */
#ifndef ANELLO_NANET_ABI_H
#define ANELLO_NANET_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when a struct or function below changes. */
#define ANELLO_NANET_ABI_VERSION 1u

/* Inputs, named as in rtl/nanet_io.sv. */
typedef struct anello_nanet_in {
    uint64_t rx_tdata;
    uint32_t s_axil_wdata;
    uint16_t s_axil_awaddr, s_axil_araddr;
    uint8_t rst;
    uint8_t rx_tkeep, rx_tvalid, rx_tlast, rx_tuser;
    uint8_t tx_tready;
    uint8_t s_axil_awvalid, s_axil_wstrb, s_axil_wvalid, s_axil_bready, s_axil_arvalid, s_axil_rready;
    uint8_t m_axi_awready, m_axi_wready, m_axi_bresp, m_axi_bvalid;
} anello_nanet_in;

/* Outputs, as they are just before the clock rises: what is taken and given in this cycle. */
typedef struct anello_nanet_out {
    uint64_t tx_tdata, m_axi_awaddr, m_axi_wdata;
    uint32_t s_axil_rdata;
    uint8_t tx_tkeep, tx_tvalid, tx_tlast;
    uint8_t s_axil_awready, s_axil_wready, s_axil_bresp, s_axil_bvalid, s_axil_arready, s_axil_rresp, s_axil_rvalid;
    uint8_t m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awvalid, m_axi_wstrb, m_axi_wlast, m_axi_wvalid;
    uint8_t m_axi_bready, irq;
} anello_nanet_out;

/* How full a store has been at the most since the card was made, of how many places; size 0: not shown. */
typedef struct anello_nanet_level {
    uint32_t highest, size;
} anello_nanet_level;

typedef struct anello_nanet_levels {
    anello_nanet_level payload_words, payload_frames; /* payload buffer, words of 8 bytes */
    anello_nanet_level store_items, store_words;      /* of the merger's boards the fullest: fragments, words of hits */
    anello_nanet_level merged_words;                  /* merged events on their way to memory */
} anello_nanet_levels;

/* Returns ANELLO_NANET_ABI_VERSION as the library was compiled with. */
uint32_t anello_nanet_abi_version(void);
/* Which sources the model was made of: a digest, as text. */
const char* anello_nanet_sources(void);
/* A card in the state it has when it is switched on; NULL where there is no memory. One thread at a time uses it. */
void* anello_nanet_create(void);
void anello_nanet_destroy(void* card);
/* One cycle. */
void anello_nanet_step(void* card, const anello_nanet_in* in, anello_nanet_out* out);
/* May be missing: then nothing is shown. */
void anello_nanet_highest_levels(const void* card, anello_nanet_levels* levels);

#ifdef __cplusplus
}
#endif

#endif
