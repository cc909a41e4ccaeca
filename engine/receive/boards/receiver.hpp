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

/// One backend and all its streams, as one role of one thread. After construction nothing allocates, locks or throws.
class Receiver {
  public:
    /// Stream i of the backend goes to streams[i]. Throws ConfigError when their numbers differ.
    Receiver(std::unique_ptr<Backend> backend, std::vector<std::unique_ptr<StreamReceiver>> streams, const Clock& clock,
             std::size_t max_datagrams_per_call = 1024);

    /// Passes on blocks whose time is over, then takes what is there. Returns the number of datagrams, 0 = idle.
    std::size_t do_work() noexcept;
    bool gathers() const noexcept;  ///< Some stream has a gathering time.
    /// How long do_work() may wait for the descriptor: open blocks have their time, and others wait for what is said of
    /// empty streams.
    Nanoseconds longest_wait_ns() const noexcept;
    /// Datagrams of some stream wait until the builder gives buffers back (policy wait).
    bool is_waiting() const noexcept;
    /// Passes on all open blocks; call when nothing arrives any more (do_work() returns 0). False: call again, an end
    /// of burst waits for the builder to give a buffer back.
    bool finish() noexcept;
    /// The backend has nothing more to give (end of a file).
    bool finished() const noexcept { return backend_->finished(); }

    Backend& backend() noexcept { return *backend_; }
    const StreamReceiver& stream(std::size_t index) const noexcept { return *streams_[index]; }
    /// Of one stream, when the thread has ended.
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
