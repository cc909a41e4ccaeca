// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace anello::store {

/// A row of a column with filters (ColumnFile), already filtered as it will be stored.
struct Chunk {
    const void* bytes = nullptr;
    std::size_t n_bytes = 0;
    std::uint32_t skipped_filters = 0;  ///< bit i: the column's filter i was not applied
};

}  // namespace anello::store
