// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace anello::camera {

void bind_geometry(nanobind::module_& module);
void bind_calibration(nanobind::module_& module);
void bind_filter(nanobind::module_& module);
void bind_source(nanobind::module_& module);
void bind_node(nanobind::module_& module);
void bind_simulate(nanobind::module_& module);

}  // namespace anello::camera
