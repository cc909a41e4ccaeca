// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "rich/decide/plugin.hpp"

namespace anello::rich {

namespace nb = nanobind;

/// The node whose memory holds the batches; null before it starts and when it is being deleted. Read and write it only
/// with the GIL held.
using BatchMemory = std::shared_ptr<std::weak_ptr<const void>>;

/// Lets a Python callable (anello.rich.python_trigger.PythonTrigger) decide batches, with the GIL held: for
/// prototypes.
/// It gets read-only views of event_key, hit_offset, hit_id, x_mm, y_mm, hit_time_fine, each of which keeps the
/// memory alive, and returns (ring_offset u32[E+1], x_mm, y_mm, radius_mm f32[R], n_hits u32[R], primitive_id
/// u32[E]), or None when it failed.
MakePlugin make_python_plugin(nb::object decide, BatchMemory memory);

}  // namespace anello::rich
