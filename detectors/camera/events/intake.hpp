// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "camera/events/builder/builder.hpp"
#include "core/thread.hpp"
#include "receive/card/datagram_blocks.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/port_counters.hpp"
#include "receive/datagrams/read_times.hpp"

namespace anello::receive {
class SocketBackend;
}

namespace anello::camera {

struct CameraIntakeConfig {
    CameraBuilderConfig builder;
    bool with_blocks = false;  ///< three-stage: receive_work() and build_work() may run in two threads
    receive::DatagramBlocksConfig blocks;
    std::uint32_t batch_datagrams = 64;  ///< at most this many per receive_work()
    std::uint32_t first_port = 0;        ///< number of the backend's first stream, for the counters' names
};

/// Receives and builds for one group of boards, in one of two layouts. Without blocks, datagrams go straight from the
/// backend into events, and one thread calls both members below; with blocks, two threads may.
class CameraIntake {
  public:
    /// Counters are added to `page` as "receive.port<p>"; the builder adds its own. Throws ConfigError, SystemError.
    CameraIntake(const CameraIntakeConfig& config, std::unique_ptr<receive::Backend> backend, const Clock& clock,
                 CounterPage& page);

    /// Hot path, both: no allocation, no lock, no log, no throw. They return the number of steps; 0: nothing to do.
    std::size_t receive_work() noexcept;
    std::size_t build_work() noexcept;
    bool has_blocks() const noexcept { return blocks_ != nullptr && !blocks_->is_empty(); }  ///< For build_work().

    /// The longest time that each may sleep; short while an event is open, as its time-out must be checked.
    Nanoseconds receive_wait_ns() const noexcept;
    Nanoseconds build_wait_ns() const noexcept { return builder_.is_at_rest() ? longest_idle_ns : usual_wait_ns; }

    /// Call it, from any thread, when the sources have ended: all received datagrams are built, then the run is ended.
    void drain() noexcept;
    bool is_drained() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::drained; }

    CameraBuilder& builder() noexcept { return builder_; }
    const CameraBuilder& builder() const noexcept { return builder_; }
    receive::Backend& backend() noexcept { return *backend_; }
    const receive::Backend& backend() const noexcept { return *backend_; }
    const Counters<receive::PortCounter>& port_counters(std::size_t stream) const noexcept { return ports_[stream]; }

  private:
    enum class Phase : std::uint8_t { running, draining_receive, draining_build, drained };

    std::size_t read(Nanoseconds now_ns) noexcept;
    void follow_choice() noexcept;
    std::size_t receive() noexcept;
    std::size_t receive_in_place() noexcept;
    void count(const receive::Datagram& datagram) noexcept;
    void show_backend(Nanoseconds now_ns) noexcept;
    std::size_t receive_and_build() noexcept;
    std::size_t receive_into_blocks() noexcept;
    void tell_read(bool was_open, std::uint64_t n_handed_on, Nanoseconds read_until_ns) noexcept;
    Nanoseconds built_until_ns() noexcept;
    void end_receiving() noexcept;
    std::size_t finish_work() noexcept;

    CameraIntakeConfig config_;
    std::unique_ptr<receive::Backend> backend_;
    receive::SocketBackend* sockets_ = nullptr;  ///< the backend, if it can receive in place
    const Clock& clock_;
    CameraBuilder builder_;
    std::unique_ptr<receive::DatagramBlocks> blocks_;
    std::vector<receive::Datagram> batch_;
    std::vector<iovec> promised_;
    std::vector<std::uint16_t> ready_;
    std::vector<Counters<receive::PortCounter>> ports_;
    std::size_t call_bytes_ = receive::usual_call_bytes;  ///< upper limit of one call of the backend
    Nanoseconds backend_shown_ns_ = 0;
    receive::ReadTimes times_;
    std::atomic<Nanoseconds> read_until_ns_{0};  ///< datagrams up to this time are in blocks that were handed on
    std::atomic<std::uint64_t> n_handed_on_{0};  ///< number of these blocks
    Nanoseconds built_until_ns_ = 0;             ///< building thread, like the three below
    Nanoseconds next_until_ns_ = 0;              ///< next built_until_ns_, valid once n_taken_ reaches n_next_
    std::uint64_t n_next_ = 0, n_taken_ = 0;     ///< in blocks
    std::atomic<Phase> phase_{Phase::running};
};

}  // namespace anello::camera
