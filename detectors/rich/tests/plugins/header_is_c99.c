/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled and never run: the header must be C99. */
#include "rich/plugin_abi.h"

uint32_t anello_trigger_abi_version(void) {
    return ANELLO_TRIGGER_ABI_VERSION;
}
