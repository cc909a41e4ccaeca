// SPDX-License-Identifier: Apache-2.0
#include "camera/bindings/parts.hpp"
#include "camera/simulate/virtual_camera.hpp"
#include "virtual_chains.hpp"

namespace anello::camera {

void bind_simulate(nanobind::module_& module) {
    static const simulate::ChainsOf<VirtualCamera> chains;
    bindings::bind_virtual_chains(module, chains);
}

}  // namespace anello::camera
