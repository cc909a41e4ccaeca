// SPDX-License-Identifier: Apache-2.0
#include "borrower.hpp"

#include <new>
#include <utility>

namespace anello::zeromq {

Borrower::Borrower(std::unique_ptr<LentMemory> memory, std::unique_ptr<Held[]> held) noexcept
    : memory_(std::move(memory)), held_(std::move(held)) {}

Borrower* Borrower::try_make(std::unique_ptr<LentMemory> memory) noexcept {
    std::unique_ptr<Held[]> held(new (std::nothrow) Held[memory->n_cells()]());
    return held == nullptr ? nullptr : new (std::nothrow) Borrower(std::move(memory), std::move(held));
}

// Hot path: no allocation, no lock, no log, no throw.
bool Borrower::try_take(const Loan& loan, zmq::msg_t& message) noexcept {
    const std::size_t n_cells = memory_->n_cells();
    if (loan.n_bytes == 0 || loan.n_bytes > memory_->size_bytes() || loan.first_cell >= n_cells) return false;
    const std::size_t end_bytes = loan.first_cell * LentMemory::cell_bytes + loan.n_bytes;
    if (end_bytes > memory_->size_bytes() || !memory_->try_touch(end_bytes)) return false;
    Held& held = held_[loan.first_cell];
    // Acquire: pairs with the release in give_back(), after which the other thread no longer uses the slot.
    if (held.in_use.load(std::memory_order_acquire)) return false;
    held.in_use.store(true, std::memory_order_relaxed);
    held.borrower = this;
    n_holders_.fetch_add(1, std::memory_order_relaxed);
    auto& taken_bytes = memory_->header().taken_bytes;  // one writer
    taken_bytes.store(taken_bytes.load(std::memory_order_relaxed) + loan.n_bytes, std::memory_order_relaxed);
    message.init_external_storage(&held.content, memory_->cell(loan.first_cell), loan.n_bytes, &Borrower::give_back,
                                  &held);
    return true;
}

/// This is a zmq_free_fn; any thread may call it.
void Borrower::give_back(void*, void* held_slot) noexcept {
    auto& held = *static_cast<Held*>(held_slot);
    Borrower* const borrower = held.borrower;
    const auto first_cell = static_cast<std::size_t>(&held - borrower->held_.get());
    held.in_use.store(false, std::memory_order_release);  // pairs with the acquire in try_take()
    // Release: the program no longer reads the bytes; pairs with the acquires in Lender::take_back().
    borrower->memory_->returned(first_cell).store(1, std::memory_order_release);
    borrower->memory_->header().n_returned.fetch_add(1, std::memory_order_release);
    borrower->let_go();
}

void Borrower::let_go() noexcept {
    // Acquire and release: the last holder sees everything that the other holders wrote.
    if (n_holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

}  // namespace anello::zeromq
