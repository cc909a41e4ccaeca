// SPDX-License-Identifier: Apache-2.0
// A plugin for another version of the interface.
#include "rich/plugin_abi.h"

extern "C" uint32_t anello_trigger_abi_version(void) {
    return ANELLO_TRIGGER_ABI_VERSION + 1;
}
