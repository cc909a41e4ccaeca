// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "simulate/virtual_chains.hpp"

namespace anello::bindings {

/// Adds virtual_search, virtual_reduce, virtual_replay and virtual_books to a detector's module. `chains` must live as
/// long as the program.
void bind_virtual_chains(nanobind::module_& module, const simulate::VirtualChains& chains);

}  // namespace anello::bindings
