// SPDX-License-Identifier: Apache-2.0
#include "rich/bindings/parts.hpp"
#include "rich/simulate/virtual_chain.hpp"
#include "virtual_chains.hpp"

namespace anello::rich {

void bind_simulate(nanobind::module_& module) {
    static const simulate::ChainsOf<VirtualChain> chains;
    bindings::bind_virtual_chains(module, chains);
}

}  // namespace anello::rich
