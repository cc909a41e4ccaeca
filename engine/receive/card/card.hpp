// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/thread.hpp"
#include "receive/card/clop.hpp"
#include "receive/card/make_backend.hpp"

namespace anello::receive {

/// The functions of NaNet's driver in software: open the card, register a list of persistent buffers for each UDP port,
/// wait for full buffers, give them back.
///
///     Card card({.address = "10.0.0.2"});
///     Clop& board = card.register_buffers({.port = 6000, .format = "mgp"});
///     card.start();
///     for (ClopBuffer buffer; board.wait(buffer, -1); board.give_back(buffer))
///         for (const DatagramRecord& datagram : buffer.datagrams) use(buffer.bytes, datagram);
///
/// The configured backend receives the datagrams, and they are copied once. If a list with policy wait is too small for
/// one read, all lists of the card wait; lists on different cards do not affect each other. docs/how-to/card.md.
class Card {
  public:
    /// `backend.ports` must be empty: the ports are those of the lists. For captures the default is to split by all
    /// known formats.
    explicit Card(BackendConfig backend, ThreadConfig thread = {.name = "card"},
                  const Clock& clock = SystemClock::instance());
    ~Card() { stop(); }
    Card(const Card&) = delete;
    Card& operator=(const Card&) = delete;

    /// Call it before open(); the list lives as long as the card. Throws ConfigError, SystemError.
    Clop& register_buffers(const ClopConfig& config);
    /// Binds the ports; then Clop::port() returns them. Throws ConfigError, SystemError.
    void open();
    void start();  ///< Calls open() if necessary, and starts a thread that calls do_work().
    /// Ends the thread and hands on all received data; the card cannot be started again. May be called twice.
    void stop() noexcept;

    /// For programs that receive in a thread of their own, after open(). Returns the datagrams taken plus the open
    /// buffers.
    /// Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;

    const CounterPage& counters() const noexcept { return page_; }
    std::string describe() const { return backend_ == nullptr ? "not open" : backend_->describe(); }
    std::int64_t cpu_time_ns() const noexcept { return thread_ == nullptr ? 0 : thread_->cpu_time_ns(); }

  private:
    void refuse_shared(std::span<const std::byte> given) const;  ///< Throws ConfigError.
    void receive() noexcept;
    std::size_t place(Nanoseconds now_ns) noexcept;
    void show(Nanoseconds now_ns) noexcept;

    BackendConfig config_;
    ThreadConfig thread_config_;
    const Clock& clock_;
    CounterPage page_;
    std::vector<std::unique_ptr<Clop>> clops_;
    std::vector<std::span<const std::byte>> given_;  ///< the program's memory for each list; empty: the list's own
    std::unique_ptr<Backend> backend_;
    std::vector<Datagram> batch_;
    std::size_t next_ = 0, n_batch_ = 0;  ///< position in the batch, and its size
    Nanoseconds shown_ns_ = 0;
    bool stopped_ = false;
    std::unique_ptr<WorkerThread> thread_;
};

}  // namespace anello::receive
