// SPDX-License-Identifier: Apache-2.0
// A model of the card that answers a number of accesses to its registers, 0 by default, and takes frames
// without any reaction.
#include <atomic>

#include "receive/nanet/nanet_abi.h"

namespace {

std::atomic<long> answers_left{0};
bool owes_write = false, owes_read = false;

}  // namespace

extern "C" {

void silent_card_answers(long n) {
    answers_left = n;
}

std::uint32_t anello_nanet_abi_version() {
    return ANELLO_NANET_ABI_VERSION;
}

const char* anello_nanet_sources() {
    return "none";
}

void* anello_nanet_create() {
    return &answers_left;
}

void anello_nanet_destroy(void*) {}

void anello_nanet_step(void*, const anello_nanet_in* in, anello_nanet_out* out) {
    *out = {};
    out->s_axil_bvalid = owes_write;
    out->s_axil_rvalid = owes_read;
    owes_write = owes_read = false;
    const bool asks = in->s_axil_awvalid != 0 || in->s_axil_arvalid != 0;
    if (!asks || answers_left <= 0) return;
    --answers_left;
    owes_write = in->s_axil_awvalid != 0;
    owes_read = in->s_axil_arvalid != 0;
    out->s_axil_awready = out->s_axil_wready = in->s_axil_awvalid;
    out->s_axil_arready = in->s_axil_arvalid;
}

}  // extern "C"
