// SPDX-License-Identifier: Apache-2.0
#include "copier.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <span>
#include <system_error>

#include "core/copy_ahead.hpp"

namespace anello::zeromq {
namespace {

/// How long the helper looks for the next message of a stream before it sleeps: about 20 us.
constexpr int n_looks_before_sleep = 400;
constexpr int n_looks_before_yield = 1000;
constexpr std::size_t max_pieces = 1024;
/// Messages of this size or more are no longer in the caches when their memory is used again.
constexpr std::size_t cold_bytes = std::size_t{4} << 20;

void pause() noexcept {
    __builtin_ia32_pause();
}

bool has_cores() noexcept {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1;
}

/// Blocks all signals in the helper thread, as libzmq does for its threads: signals are for the program's own threads.
class WithoutSignals {
  public:
    WithoutSignals() noexcept {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

  private:
    sigset_t before_;
};

}  // namespace

std::shared_ptr<Copier> Copier::try_share() noexcept {
    // The mutex is never destroyed, as a program may end while its I/O threads still run.
    static auto& mutex = *new std::mutex;
    static auto& shared = *new std::weak_ptr<Copier>;
    try {
        const std::lock_guard lock(mutex);
        std::shared_ptr<Copier> found = shared.lock();
        if (found == nullptr && has_cores()) shared = found = std::make_shared<Copier>();
        return found;
    } catch (const std::exception&) {
        return {};  // std::bad_alloc or std::system_error: without the helper, copies are only slower
    }
}

Copier::Copier() {
    const WithoutSignals meanwhile;
    helper_ = std::thread([this]() noexcept { run(); });
}

Copier::~Copier() {
    end_.store(true, std::memory_order_relaxed);  // ordered by the next line
    job_.fetch_add(1, std::memory_order_release);
    job_.notify_one();
    helper_.join();
}

// Hot path: no allocation, no log, no throw; a lock is tried, never waited for.
void Copier::copy(std::byte* to, const std::byte* from, std::size_t n_bytes) noexcept {
    const std::unique_lock lock(one_at_a_time_, std::try_to_lock);
    if (n_bytes < smallest_bytes || !lock.owns_lock()) {
        std::memcpy(to, from, n_bytes);
        return;
    }
    const std::size_t piece_bytes = std::max(smallest_piece_bytes, (n_bytes + max_pieces - 1) / max_pieces);
    const auto n_pieces = static_cast<std::uint16_t>((n_bytes + piece_bytes - 1) / piece_bytes);
    to_.store(to, std::memory_order_relaxed);  // these are ordered by the ticket
    from_.store(from, std::memory_order_relaxed);
    n_bytes_.store(n_bytes, std::memory_order_relaxed);
    piece_bytes_.store(piece_bytes, std::memory_order_relaxed);
    n_helped_.store(0, std::memory_order_relaxed);
    const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;
    Ticket ticket{job, 0, n_pieces};
    ticket_.store(ticket, std::memory_order_release);  // pairs with the acquire in help()
    job_.store(job, std::memory_order_release);
    job_.notify_one();

    std::uint32_t n_own = 0;
    while (ticket.some_left()) {
        const Ticket taken{job, static_cast<std::uint16_t>(ticket.front + 1), ticket.back};
        if (!ticket_.compare_exchange_weak(ticket, taken, std::memory_order_relaxed)) continue;
        copy_piece(ticket.front);
        ++n_own;
        ticket = ticket_.load(std::memory_order_relaxed);
    }
    // Acquire: makes the helper's bytes visible here; pairs with the release in help().
    for (int i = 0; n_helped_.load(std::memory_order_acquire) != n_pieces - n_own; ++i)
        i < n_looks_before_yield ? pause() : static_cast<void>(sched_yield());
}

void Copier::run() noexcept {
    std::uint32_t job = 0;
    while (!end_.load(std::memory_order_relaxed)) {
        while (help()) {
        }
        if (!spin(job)) job_.wait(job, std::memory_order_acquire);
        job = job_.load(std::memory_order_acquire);
    }
}

bool Copier::spin(std::uint32_t job) const noexcept {
    for (int i = 0; i < n_looks_before_sleep; ++i) {
        if (job_.load(std::memory_order_relaxed) != job) return true;
        pause();
    }
    return false;
}

/// Copies one piece from the back, where this core also copied the last message (cache). False: no piece was left.
bool Copier::help() noexcept {
    Ticket ticket = ticket_.load(std::memory_order_acquire);
    if (!ticket.some_left()) return false;
    const Ticket taken{ticket.job, ticket.front, static_cast<std::uint16_t>(ticket.back - 1)};
    if (!ticket_.compare_exchange_weak(ticket, taken, std::memory_order_relaxed)) return true;
    copy_piece(taken.back);
    n_helped_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in copy()
    return true;
}

void Copier::copy_piece(std::size_t index) noexcept {
    const std::size_t piece_bytes = piece_bytes_.load(std::memory_order_relaxed);
    const std::size_t begin = index * piece_bytes;
    const std::size_t n_bytes = std::min(piece_bytes, n_bytes_.load(std::memory_order_relaxed) - begin);
    const std::span from(from_.load(std::memory_order_relaxed) + begin, n_bytes);
    std::byte* const to = to_.load(std::memory_order_relaxed) + begin;
    if (n_bytes_.load(std::memory_order_relaxed) >= cold_bytes)
        copy_ahead(to, from);
    else
        std::memcpy(to, from.data(), n_bytes);
}

}  // namespace anello::zeromq
