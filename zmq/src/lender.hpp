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

/// The sending side of lent memory: it copies messages into the memory and takes back the runs that the receiver has
/// returned. It never waits: a message that finds no place is not lent, and goes through the ring. One thread uses it.
class Lender {
  public:
    /// copier: null if this thread copies alone.
    Lender(std::unique_ptr<LentMemory> memory, std::shared_ptr<Copier> copier);

    /// Copies the message into a free run. Returns false if there is no place, or if more than max_unread_bytes would
    /// be unread; two messages of this size are always allowed, so that one is copied while the receiver wakes up.
    bool try_lend(std::span<const std::byte> message, std::size_t max_unread_bytes, Loan& loan) noexcept;

    int descriptor() const noexcept { return memory_->descriptor(); }
    std::size_t n_lent() const noexcept { return lent_.size(); }

  private:
    void take_back() noexcept;

    std::unique_ptr<LentMemory> memory_;
    std::shared_ptr<Copier> copier_;
    CellMap cells_;
    std::vector<std::size_t> lent_;  ///< first cells
    std::uint64_t n_returned_ = 0;   ///< Header::n_returned at the last look
    std::uint64_t lent_bytes_ = 0;   ///< bytes of all messages lent so far
};

}  // namespace anello::zeromq
