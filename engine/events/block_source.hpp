// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/fragment_block.hpp"

namespace anello::events {

/// The merger's input: full blocks of up to 32 boards. The merger's thread calls it once per block.
class BlockSource {
  public:
    virtual ~BlockSource() = default;
    /// Takes the next full block of a board, in the order of hand-over. Returns false if there is none.
    virtual bool try_take(std::uint32_t board, receive::Completion& completion) noexcept = 0;
    /// Monotonic time until which everything that the board sent and this host received can be taken now. The time-outs
    /// use it.
    virtual Nanoseconds read_until_ns(std::uint32_t board) const noexcept = 0;
    /// False while the receive stage does not read the board because its blocks have not been given back.
    virtual bool is_wanted(std::uint32_t board) const noexcept = 0;
    virtual receive::FragmentColumns columns(std::uint32_t board, std::uint32_t buffer) noexcept = 0;
    /// Returns a buffer that the merger no longer needs. A board's blocks may return in another order than they were
    /// taken.
    virtual void give_back(std::uint32_t board, std::uint32_t buffer) noexcept = 0;
};

}  // namespace anello::events
