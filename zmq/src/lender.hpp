// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cell_map.hpp"
#include "copier.hpp"
#include "lent_memory.hpp"

namespace anello::zeromq {

/// The sending side of lent memory: puts messages into it, and takes back what the receiver has done with. Nothing here
/// waits: what has no place is not lent, and goes by the ring. One thread.
class Lender {
  public:
    /// copier: null where this thread copies alone.
    Lender(std::unique_ptr<LentMemory> memory, std::shared_ptr<Copier> copier);

    /// A copy of the message in a free run. False: no place, or the receiver would have more than max_unread_bytes to
    /// read; two messages of this size it may have, so that one is copied while it wakes for the other.
    bool try_lend(std::span<const std::byte> message, std::size_t max_unread_bytes, Loan& loan) noexcept;

    int descriptor() const noexcept { return memory_->descriptor(); }
    std::size_t n_lent() const noexcept { return lent_.size(); }

  private:
    void take_back() noexcept;

    std::unique_ptr<LentMemory> memory_;
    std::shared_ptr<Copier> copier_;
    CellMap cells_;
    std::vector<std::size_t> lent_;  ///< first cells
    std::uint64_t n_returned_ = 0;   ///< the receiver's word when it was last looked at
    std::uint64_t lent_bytes_ = 0;   ///< of all messages so far
};

}  // namespace anello::zeromq
