// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/stage.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/port_counters.hpp"
#include "receive/datagrams/read_times.hpp"

namespace anello::pipeline {

/// Receives the datagrams of a DatagramIntake one by one. The intake's thread calls all members.
/// Hot path: no allocation, no lock, no log, no throw.
class DatagramUser {
  public:
    virtual ~DatagramUser() = default;
    /// If false, datagrams stay in the kernel for now.
    virtual bool has_room() noexcept { return true; }
    virtual void begin_batch(Nanoseconds) noexcept {}  ///< time of receipt of the following datagrams, monotonic clock
    virtual void use(const receive::Datagram& datagram) noexcept = 0;
    /// Called after each batch. All datagrams received until read_until_ns (monotonic clock) have been used; time-outs
    /// must use this time. Returns the work done.
    virtual std::size_t end_batch(Nanoseconds read_until_ns) noexcept = 0;
    /// How long its thread may wait for datagrams before the user's next time-out.
    virtual Nanoseconds longest_wait_ns() const noexcept { return usual_wait_ns; }
    virtual void finish() noexcept = 0;  ///< The end: no more datagrams will come.
};

/// The stage receive of chains that use datagrams one by one.
class DatagramIntake {
  public:
    /// Adds the counters "receive.port<p>". User and clock must outlive it.
    DatagramIntake(std::unique_ptr<receive::Backend> backend, DatagramUser& user, std::uint32_t batch_datagrams,
                   const Clock& clock, CounterPage& page);

    /// The stage, without add_notices and add_states.
    Stage stage();
    std::vector<std::uint16_t> ports() const;
    bool finished() const noexcept { return backend_->finished(); }
    /// Any thread: monotonic time of the last datagram; 0: there was none.
    Nanoseconds last_came_ns() const noexcept { return last_came_ns_.load(std::memory_order_relaxed); }
    void add_notices(Notices& notices);
    void add_states(States& states) const;

  private:
    enum class Phase : std::uint8_t { running, draining, drained };

    std::size_t work() noexcept;
    std::size_t receive_batch() noexcept;
    void show_backend(bool now) noexcept;

    std::unique_ptr<receive::Backend> backend_;
    DatagramUser& user_;
    const Clock& clock_;
    std::vector<receive::Datagram> batch_;
    receive::ReadTimes times_;
    std::vector<Counters<receive::PortCounter>> ports_;
    std::vector<AddedNotice> dropped_;  // of each port
    TroubleNotice trouble_;
    Nanoseconds shown_ns_ = 0;
    std::atomic<Nanoseconds> last_came_ns_{0};
    std::atomic<Phase> phase_{Phase::running};
};

}  // namespace anello::pipeline
