// SPDX-License-Identifier: Apache-2.0
#include "lender.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace anello::zeromq {

Lender::Lender(std::unique_ptr<LentMemory> memory, std::shared_ptr<Copier> copier)
    : memory_(std::move(memory)), copier_(std::move(copier)), cells_(memory_->n_cells()) {
    lent_.reserve(memory_->n_cells());
}

// Hot path: no allocation, no lock, no log, no throw.
bool Lender::try_lend(std::span<const std::byte> message, std::size_t max_unread_bytes, Loan& loan) noexcept {
    const std::uint64_t unread = lent_bytes_ - memory_->header().taken_bytes.load(std::memory_order_relaxed);
    if (unread + message.size() > std::max(max_unread_bytes, 2 * message.size())) return false;
    if (message.size() > memory_->size_bytes()) return false;
    take_back();
    const std::size_t n_cells = (message.size() + LentMemory::cell_bytes - 1) / LentMemory::cell_bytes;
    const std::size_t first = cells_.try_take(n_cells);
    if (first == CellMap::none) return false;
    if (!memory_->try_touch((first + n_cells) * LentMemory::cell_bytes)) {
        cells_.give_back(first);
        return false;
    }
    if (copier_ != nullptr)
        copier_->copy(memory_->cell(first), message.data(), message.size());
    else
        std::memcpy(memory_->cell(first), message.data(), message.size());
    lent_.push_back(first);  // never allocates: the constructor reserved a place for each cell
    lent_bytes_ += message.size();
    loan = {first, message.size()};
    return true;
}

/// Takes back returned runs. It checks lent runs only, so a receiver that sets wrong flags harms its own messages only.
void Lender::take_back() noexcept {
    // Acquire: pairs with the release in Borrower::give_back(), which sets the run's flag before.
    const std::uint64_t n_returned = memory_->header().n_returned.load(std::memory_order_acquire);
    if (n_returned == n_returned_) return;
    n_returned_ = n_returned;
    std::erase_if(lent_, [this](std::size_t first) noexcept {
        std::atomic<std::uint8_t>& returned = memory_->returned(first);
        if (returned.load(std::memory_order_acquire) == 0) return false;
        returned.store(0, std::memory_order_relaxed);  // visible to the receiver with the run's next loan
        cells_.give_back(first);
        return true;
    });
}

}  // namespace anello::zeromq
