// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/range_log.hpp"

namespace anello::source {

/// Why numbers that a board made were not sent, or were sent altered.
enum class Withheld : std::uint8_t {
    board_dead,
    lost_on_purpose,
    refused_by_system,
    truncated_on_purpose,
    corrupted_on_purpose,
};

/// The numbers of a board's sequence that were made, and those of them that were withheld, for the ledger: packets with
/// mgp, events with mep (an epoch per burst), fragments where events have numbers. Read it when the source's thread has
/// ended.
struct SentLog {
    static constexpr std::size_t max_epochs = 4096;

    explicit SentLog(std::size_t max_ranges) : made(max_epochs), withheld(max_ranges) {}

    void withhold(std::uint32_t epoch, std::uint64_t begin, std::uint64_t end, Withheld why) noexcept {
        withheld.add(epoch, begin, end, static_cast<std::uint32_t>(why));
    }

    RangeLog made;  ///< one range per epoch
    RangeLog withheld;
};

/// Chosen so that all boards of a process together use at most about 32 MB.
constexpr std::size_t max_withheld_ranges(std::size_t n_boards) noexcept {
    return n_boards < 16 ? 65'536 : 1'048'576 / n_boards;
}

}  // namespace anello::source
