// SPDX-License-Identifier: Apache-2.0
#include "rich/bindings/python_plugin.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "arrays.hpp"

namespace anello::rich {
namespace {

using Decisions = std::tuple<bindings::Input<std::uint32_t>, bindings::Input<float>, bindings::Input<float>,
                             bindings::Input<float>, bindings::Input<std::uint32_t>, bindings::Input<std::uint32_t>>;

template <typename T>
nb::object view(const T* values, std::size_t n, nb::handle owner) {
    return nb::cast(nb::ndarray<nb::numpy, const T, nb::ndim<1>>(values, {n}, owner));
}

/// The owner that a view keeps alive: a user may keep a view, and read it after the node is gone.
nb::object owner_of(const std::shared_ptr<const void>& memory) {
    return nb::capsule(new std::shared_ptr<const void>(memory),
                       [](void* kept) noexcept { delete static_cast<std::shared_ptr<const void>*>(kept); });
}

/// The callable has checked the shapes. This checks again that they fit together, because memory safety depends on it.
bool take(const Decisions& from, std::uint32_t n_events, anello_trigger_decisions& out) {
    const auto& [offset, x_mm, y_mm, radius_mm, n_hits, primitive_id] = from;
    const std::size_t n_rings = x_mm.shape(0);
    if (offset.shape(0) != n_events + 1 || primitive_id.shape(0) != n_events || y_mm.shape(0) != n_rings ||
        radius_mm.shape(0) != n_rings || n_hits.shape(0) != n_rings)
        return false;
    if (!std::is_sorted(offset.data(), offset.data() + n_events + 1) || offset.data()[n_events] > n_rings) return false;
    for (std::uint32_t event = 0; event < n_events; ++event) {
        const std::uint32_t first = offset.data()[event], n = offset.data()[event + 1] - first;
        anello_ring* ring = out.ring + std::size_t{event} * ANELLO_MAX_RINGS;
        for (std::uint32_t k = 0; k < std::min(n, ANELLO_MAX_RINGS); ++k)
            ring[k] = {x_mm.data()[first + k], y_mm.data()[first + k], radius_mm.data()[first + k],
                       n_hits.data()[first + k]};
        out.n_rings[event] = n;
        out.primitive_id[event] = primitive_id.data()[event];
    }
    return true;
}

class PythonPlugin final : public Plugin {
  public:
    PythonPlugin(nb::object decide, BatchMemory memory) : decide_(std::move(decide)), memory_(std::move(memory)) {}

    bool decide(const anello_trigger_batch& batch, anello_trigger_decisions& out) noexcept override {
        const nb::gil_scoped_acquire gil;
        const std::shared_ptr<const void> memory = memory_->lock();
        if (memory == nullptr) return false;
        try {
            const nb::object result = call(batch, owner_of(memory));
            return !result.is_none() && take(nb::cast<Decisions>(result), batch.n_events, out);
        } catch (...) {  // SystemExit and similar, and results that cannot be cast
            return false;
        }
    }

  private:
    nb::object call(const anello_trigger_batch& batch, const nb::object& owner) const {
        const std::size_t n_events = batch.n_events, n_hits = batch.hit_offset[n_events];
        return decide_(view(batch.event_key, n_events, owner), view(batch.hit_offset, n_events + 1, owner),
                       view(batch.hit_id, n_hits, owner), view(batch.x_mm, n_hits, owner),
                       view(batch.y_mm, n_hits, owner), view(batch.hit_time_fine, n_hits, owner));
    }

    nb::object decide_;
    BatchMemory memory_;
};

}  // namespace

MakePlugin make_python_plugin(nb::object decide, BatchMemory memory) {
    return [decide = std::move(decide), memory = std::move(memory)] {
        return std::make_unique<PythonPlugin>(decide, memory);
    };
}

}  // namespace anello::rich
