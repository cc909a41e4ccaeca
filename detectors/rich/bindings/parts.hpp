// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace anello::rich {

void bind_rings(nanobind::module_& module);
void bind_time_clusters(nanobind::module_& module);
void bind_source(nanobind::module_& module);
void bind_node(nanobind::module_& module);
void bind_simulate(nanobind::module_& module);

}  // namespace anello::rich
