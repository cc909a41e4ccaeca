// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace anello::bindings {

void bind_keys(nanobind::module_& module);
void bind_receive_backends(nanobind::module_& module);
void bind_packets(nanobind::module_& module);
void bind_card(nanobind::module_& module);
void bind_counter_pages(nanobind::module_& module);
void bind_exchange_node(nanobind::module_& module);
void bind_simulate(nanobind::module_& module);
void bind_stream(nanobind::module_& module);
void bind_counter_tables(nanobind::module_& module);

}  // namespace anello::bindings
