// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/range_log.hpp"

namespace anello::receive {

/// What a SequenceTracker records for the ledger: per epoch the numbers that it expected, and those of them that never
/// arrived. Read it when the tracker has been closed and its thread has ended.
struct SequenceLog {
    explicit SequenceLog(std::size_t max_ranges, std::size_t max_epochs = 4096)
        : expected(max_epochs), missing(max_ranges) {}

    /// What was reported until now was another's.
    void clear() noexcept {
        expected.clear();
        missing.clear();
    }

    RangeLog expected;  ///< one range per epoch
    RangeLog missing;
};

}  // namespace anello::receive
