// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "camera/send/streams/stream_counters.hpp"
#include "core/clock.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

struct CameraStreamConfig {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;
    std::size_t queue_bytes = std::size_t{64} << 20;  ///< room for waiting records, with their lengths
    int connection = -1;                              ///< an open stream socket, used instead of host and port
    void validate() const;                            ///< Throws ConfigError.
};

/// Sends records over TCP to one receiver, each preceded by its length (u32, little-endian). It tries to connect once a
/// second until a receiver accepts, and never waits: records without room or receiver are dropped and counted.
///
/// Only one thread uses it. The constructor takes all memory. A record that the kernel accepted may still be lost with
/// its connection; that record, and all waiting ones, are not sent again.
class CameraStream {
  public:
    /// Throws ConfigError (a host without an IPv4 address), SystemError. The caller still owns a given connection; the
    /// stream duplicates its descriptor.
    CameraStream(const CameraStreamConfig& config, const Clock& clock, CounterPage& page,
                 const std::string& block_name = "camera_stream");
    ~CameraStream();
    CameraStream(const CameraStream&) = delete;
    CameraStream& operator=(const CameraStream&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. Copies the record. False: dropped and counted.
    bool offer(std::span<const std::byte> record) noexcept;
    /// Hot path, as above. Connects, and sends as much as the kernel takes. Returns bytes sent; 0: nothing to do.
    std::size_t do_work() noexcept;
    /// True if no record waits to be sent.
    bool is_drained() const noexcept { return n_queued_bytes_ == 0; }
    bool is_connected() const noexcept { return state_ == State::connected; }
    /// True if offer() would take a record of this size now.
    bool has_room_for(std::size_t n_bytes) const noexcept;
    /// Counts the records that still wait as lost and closes the connection.
    void close() noexcept;

    const Counters<CameraStreamCounter>& counters() const noexcept { return counters_; }

  private:
    enum class State : std::uint8_t { idle, connecting, connected, closed };

    void connect_when_due() noexcept;
    void look_whether_connected() noexcept;
    bool receiver_has_left() noexcept;
    void disconnect() noexcept;
    void put(std::span<const std::byte> bytes) noexcept;
    void take_sent(std::size_t n_bytes) noexcept;
    std::uint32_t front_record_bytes() const noexcept;

    const bool connects_;  ///< false: the connection was given
    sockaddr_in address_{};
    const Clock& clock_;
    Counters<CameraStreamCounter> counters_;
    State state_ = State::idle;
    int descriptor_ = -1;
    Nanoseconds next_try_ns_, next_look_ns_ = 0;
    std::vector<std::byte> queue_;  ///< a ring of bytes
    std::size_t front_ = 0;         ///< position of the first waiting byte
    std::size_t n_queued_bytes_ = 0;
    std::size_t n_queued_records_ = 0;
    std::size_t front_left_ = 0;  ///< bytes of the first record, length included, not yet sent
};

}  // namespace anello::camera
