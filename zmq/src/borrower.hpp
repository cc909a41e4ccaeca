// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "lent_memory.hpp"
#include "msg.hpp"

namespace anello::zeromq {

/// The receiving side of lent memory. Messages lie in it, and hold it until the last of them is closed, by any thread,
/// however long the connection has been gone.
class Borrower {
  public:
    /// Null without memory.
    static Borrower* try_make(std::unique_ptr<LentMemory> memory) noexcept;
    /// For std::unique_ptr: the connection lets go.
    struct LetGo {
        void operator()(Borrower* borrower) const noexcept { borrower->let_go(); }
    };

    /// Makes `message`, which is closed, the one that lies there. False: it cannot lie there, or one does; or its
    /// memory cannot be had. The connection's thread.
    bool try_take(const Loan& loan, zmq::msg_t& message) noexcept;

  private:
    /// A message's run of cells, at its first one.
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
    std::atomic<std::uint64_t> n_holders_{1};  ///< messages, and the connection
};

using BorrowerOfConnection = std::unique_ptr<Borrower, Borrower::LetGo>;

}  // namespace anello::zeromq
