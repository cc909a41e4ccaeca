// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "receive/boards/stream_receiver.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/read_times.hpp"

namespace anello::receive {

/// Reads one backend and all its streams, on one thread. After construction nothing allocates, locks or throws.
class Receiver {
  public:
    /// Stream i of the backend goes to streams[i]. Throws ConfigError if their numbers differ.
    Receiver(std::unique_ptr<Backend> backend, std::vector<std::unique_ptr<StreamReceiver>> streams, const Clock& clock,
             std::size_t max_datagrams_per_call = 1024);

    /// Hands on blocks whose gathering time is over, then reads the datagrams available. Returns their number, 0 =
    /// idle.
    std::size_t do_work() noexcept;
    bool gathers() const noexcept;  ///< True if a stream has a gathering time.
    /// How long the caller may wait for the descriptor: until the gathering time of an open block is over, and not too
    /// long for the builder, which needs to know that streams are empty.
    Nanoseconds longest_wait_ns() const noexcept;
    /// True if a stream's datagrams wait until the builder returns buffers (policy wait).
    bool is_waiting() const noexcept;
    /// Hands on all open blocks; call it when do_work() returns 0 and no more datagrams will come. Returns false if an
    /// end of burst still waits for a buffer: call it again.
    bool finish() noexcept;
    /// True if the backend has no more datagrams (end of a file).
    bool finished() const noexcept { return backend_->finished(); }

    Backend& backend() noexcept { return *backend_; }
    const StreamReceiver& stream(std::size_t index) const noexcept { return *streams_[index]; }
    /// Of one stream; call it when the thread has ended.
    const SequenceLog& close_sequence_log(std::size_t stream) noexcept {
        return streams_[stream]->close_sequence_log();
    }

  private:
    void show_backend_counts() noexcept;

    std::unique_ptr<Backend> backend_;
    std::vector<std::unique_ptr<StreamReceiver>> streams_;
    const Clock& clock_;
    std::vector<Datagram> batch_;
    ReadTimes times_;
    Nanoseconds backend_counts_shown_ns_;
};

}  // namespace anello::receive
