// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "lent_memory.hpp"
#include "msg.hpp"

namespace anello::zeromq {

/// The receiving side of lent memory. Received messages lie in this memory and keep it alive until the program has
/// closed the last of them, from any thread, even after the connection has ended.
class Borrower {
  public:
    /// Returns null if memory is short.
    static Borrower* try_make(std::unique_ptr<LentMemory> memory) noexcept;
    /// Deleter for std::unique_ptr: the connection gives up its hold.
    struct LetGo {
        void operator()(Borrower* borrower) const noexcept { borrower->let_go(); }
    };

    /// Makes `message`, which must be closed, refer to the bytes at `loan`. Returns false if the loan is outside the
    /// memory or begins at a message in use, or if no pages are free. Only the connection's thread calls it.
    bool try_take(const Loan& loan, zmq::msg_t& message) noexcept;

  private:
    /// The state of a message's run of cells, kept at the index of its first cell.
    struct Held {
        zmq::msg_t::content_t content;
        Borrower* borrower;
        std::atomic<bool> in_use;
    };

    Borrower(std::unique_ptr<LentMemory> memory, std::unique_ptr<Held[]> held) noexcept;
    ~Borrower() = default;
    static void give_back(void* data, void* held) noexcept;
    void let_go() noexcept;

    std::unique_ptr<LentMemory> memory_;
    std::unique_ptr<Held[]> held_;             ///< one for each cell
    std::atomic<std::uint64_t> n_holders_{1};  ///< messages in use, plus the connection
};

using BorrowerOfConnection = std::unique_ptr<Borrower, Borrower::LetGo>;

}  // namespace anello::zeromq
