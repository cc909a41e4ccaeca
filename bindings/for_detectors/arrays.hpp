// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

namespace anello::bindings {

namespace nb = nanobind;

template <typename T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A NumPy array that takes over the vector's memory without a copy.
template <typename T, typename... Extents>
nb::object to_numpy(std::vector<T> values, Extents... extents) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    if constexpr (sizeof...(extents) == 0)
        return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), {owned->size()}, owner));
    else
        return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), {static_cast<std::size_t>(extents)...}, owner));
}

}  // namespace anello::bindings
