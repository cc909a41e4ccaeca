// SPDX-License-Identifier: Apache-2.0
// A plugin that lacks two of its functions.
#include "rich/plugin_abi.h"

extern "C" {

uint32_t anello_trigger_abi_version(void) {
    return ANELLO_TRIGGER_ABI_VERSION;
}

void* anello_trigger_create(const char*, char*, size_t) {
    return nullptr;
}
}
