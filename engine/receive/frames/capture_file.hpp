// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"

struct pcap;

namespace anello::receive {

/// A frame in a capture file, valid until the next one is read.
struct CapturedFrame {
    std::span<const std::byte> captured;  ///< the part in the file
    std::size_t frame_bytes = 0;          ///< the original length
    Nanoseconds captured_ns = 0;          ///< wall clock
};

/// The frames of a pcap or pcapng file with link type Ethernet.
class CaptureFile {
  public:
    explicit CaptureFile(const std::string& path);  ///< Throws ConfigError.

    /// Hot path. Reads the next frame; false at the end of the file or at a read error.
    bool next(CapturedFrame& frame) noexcept;
    bool at_end() const noexcept { return at_end_; }
    bool is_broken() const noexcept { return broken_; }  ///< True after a read error: see read_error().
    void rewind();                                       ///< Throws ConfigError.
    /// Why reading stopped before the end of the file; empty if it did not.
    std::string read_error() const;

  private:
    struct Close {
        void operator()(pcap* file) const noexcept;
    };
    std::string path_;
    std::unique_ptr<pcap, Close> file_;
    bool at_end_ = false, broken_ = false;
};

inline constexpr double fastest_capture = 1000;  ///< factor on the speed of the capture

/// When the frames of a capture are due: at a multiple of their original speed, the first one immediately. Pauses
/// longer than longest_pause_ns are skipped.
class CapturePace {
  public:
    static constexpr Nanoseconds longest_pause_ns = 60'000'000'000;  ///< longer than pauses between bursts

    /// speed: 1: as captured, 10: ten times as fast, 0: as fast as possible. Throws ConfigError.
    CapturePace(double speed, const Clock& clock);
    bool is_due(Nanoseconds captured_ns) noexcept;
    bool has_time() const noexcept { return speed_ != 0.0; }  ///< False for replay as fast as possible.
    std::uint64_t n_pauses_left_out() const noexcept { return n_pauses_left_out_; }
    std::string words() const;

  private:
    double speed_;
    const Clock& clock_;
    bool has_begun_ = false;
    Nanoseconds first_captured_ns_ = 0, last_captured_ns_ = 0, begun_ns_ = 0;
    std::uint64_t n_pauses_left_out_ = 0;
};

/// Maps each UDP port to its stream, -1: none. Throws ConfigError if two streams have the same port.
std::vector<std::int32_t> streams_of_ports(const std::vector<std::uint16_t>& ports);

}  // namespace anello::receive
