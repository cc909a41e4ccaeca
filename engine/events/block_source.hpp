// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "receive/boards/fragment_block.hpp"

namespace anello::events {

/// Where the merger's input comes from: full blocks of up to 32 boards. Called once per block, by the merger's thread.
class BlockSource {
  public:
    virtual ~BlockSource() = default;
    /// The next full block of a board, in the order of hand-over. False when there is none now.
    virtual bool try_take(std::uint32_t board, receive::Completion& completion) noexcept = 0;
    /// Monotonic clock: all that the board sent and that came in until then can be taken now. Time-outs go by it.
    virtual Nanoseconds read_until_ns(std::uint32_t board) const noexcept = 0;
    /// False while nothing of the board is read because its blocks have not been given back.
    virtual bool is_wanted(std::uint32_t board) const noexcept = 0;
    virtual receive::FragmentColumns columns(std::uint32_t board, std::uint32_t buffer) noexcept = 0;
    /// The merger needs the buffer no more. Blocks of a board may come back in another order than they were taken.
    virtual void give_back(std::uint32_t board, std::uint32_t buffer) noexcept = 0;
};

}  // namespace anello::events
