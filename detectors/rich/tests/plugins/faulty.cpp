// SPDX-License-Identifier: Apache-2.0
// A plugin whose parameters select its behaviour, most of it faulty.
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "rich/plugin_abi.h"

extern "C" {

uint32_t anello_trigger_abi_version(void) {
    return ANELLO_TRIGGER_ABI_VERSION;
}

void* anello_trigger_create(const char* parameters, char* error, size_t error_size) {
    const std::string fault = parameters;
    if (fault == "refuse") std::snprintf(error, error_size, "Refusing is all it can.");
    return fault.rfind("refuse", 0) == 0 ? nullptr : new std::string(fault);
}

int anello_trigger_decide(void* handle, const anello_trigger_batch* batch, anello_trigger_decisions* out) {
    const std::string& fault = *static_cast<const std::string*>(handle);
    if (batch->struct_size != sizeof(*batch) || out->struct_size != sizeof(*out)) return 1;
    for (uint32_t event = 0; event < batch->n_events; ++event) {
        anello_ring* ring = out->ring + event * ANELLO_MAX_RINGS;
        for (uint32_t k = 0; k < ANELLO_MAX_RINGS; ++k) ring[k] = {1.0f + static_cast<float>(k), 2, 150, 70'000};
        out->n_rings[event] = 2;
        if (fault == "many rings") out->n_rings[event] = 0xFFFFFFFF;
        if (fault == "no number") ring[0].x_mm = std::nanf("");
        if (fault == "infinite") ring[0].radius_mm = INFINITY;
        if (fault == "inside out") ring[0].radius_mm = -150;
        if (fault == "timestamp") out->primitive_id[event] = 0x42;
        if (fault == "17 bits") out->primitive_id[event] = 0x10000;
        if (fault == "primitive") out->primitive_id[event] = 0x777;
    }
    if (fault == "throw") throw std::runtime_error("a fault of the plugin");
    return fault == "fail" ? 7 : 0;
}

void anello_trigger_destroy(void* handle) {
    delete static_cast<std::string*>(handle);
}
}
