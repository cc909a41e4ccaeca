// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace anello::zeromq {

/// A second thread that copies the back of large messages while the I/O thread copies the front: one core's copy is
/// slower than the memory. The I/O thread never depends on it: what the helper does not come to, it does itself.
/// PERF NOTE: messages of 1 MB 12.0 GB/s alone, 19 with it; `./dev bench zmq`.
class Copier {
  public:
    /// Below this the hand-over costs what it brings.
    static constexpr std::size_t smallest_bytes = 256 * 1024;

    /// The one of this process, which lives as long as somebody holds it. Null: a single core, or no thread to be had.
    static std::shared_ptr<Copier> try_share() noexcept;
    Copier();  ///< Throws std::system_error.
    ~Copier();
    Copier(const Copier&) = delete;
    Copier& operator=(const Copier&) = delete;

    /// Any thread; while the helper serves another one, this one copies alone.
    void copy(std::byte* to, const std::byte* from, std::size_t n_bytes) noexcept;

  private:
    /// The pieces that nobody has taken yet, in one word with the number of the job: who exchanges the word has a
    /// piece, and what it read about the job before was true.
    struct Ticket {
        std::uint32_t job;
        std::uint16_t front, back;
        bool some_left() const noexcept { return front != back; }
    };
    static constexpr std::size_t smallest_piece_bytes = 64 * 1024;

    void run() noexcept;
    bool help() noexcept;
    void copy_piece(std::size_t index) noexcept;
    bool spin(std::uint32_t job) const noexcept;

    std::mutex one_at_a_time_;
    std::atomic<std::byte*> to_ = nullptr;
    std::atomic<const std::byte*> from_ = nullptr;
    std::atomic<std::size_t> n_bytes_ = 0, piece_bytes_ = 0;
    alignas(64) std::atomic<Ticket> ticket_{Ticket{0, 0, 0}};
    alignas(64) std::atomic<std::uint32_t> n_helped_ = 0;  ///< pieces of this job that the helper has done
    alignas(64) std::atomic<std::uint32_t> job_ = 0;       ///< what the helper sleeps on
    std::atomic<bool> end_ = false;
    std::thread helper_;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace anello::zeromq
