// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "unit/receive/stream_rig.hpp"

namespace anello::receive::test {

/// A block that an unpacker writes to, open from the start.
struct UnpackedBlock {
    std::vector<std::byte> memory;
    BlockShape shape;
    FragmentColumns columns;
    FragmentWriter writer;

    explicit UnpackedBlock(const BlockShape& block_shape = {}) : memory(block_bytes(block_shape)), shape(block_shape) {
        columns = columns_of(memory, shape);
        writer.open(columns, shape);
    }
};

}  // namespace anello::receive::test
