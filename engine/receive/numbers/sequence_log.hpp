// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/range_log.hpp"

namespace anello::receive {

/// The numbers of each epoch that a SequenceTracker expected, and those that never arrived, for the ledger. Read it
/// after the tracker was closed and its thread has ended.
struct SequenceLog {
    explicit SequenceLog(std::size_t max_ranges, std::size_t max_epochs = 4096)
        : expected(max_epochs), missing(max_ranges) {}

    /// Everything reported so far belonged to another source.
    void clear() noexcept {
        expected.clear();
        missing.clear();
    }

    RangeLog expected;  ///< one range per epoch
    RangeLog missing;
};

}  // namespace anello::receive
