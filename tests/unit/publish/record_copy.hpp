// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/publish/ways.hpp"

namespace anello::publish::test {

inline Received copy_of(const OutgoingRecord& record) {
    Received copy(record.length_bytes() / 8);
    record.copy_to(reinterpret_cast<std::byte*>(copy.data()));
    return copy;
}

template <typename T>
std::vector<T> array_of(const RecordView& view, const char* name) {
    const std::span<const T> values = view.array<T>(name);
    return {values.begin(), values.end()};
}

}  // namespace anello::publish::test
