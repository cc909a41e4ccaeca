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

/// A frame as a capture file has it, borrowed until the next one is read.
struct CapturedFrame {
    std::span<const std::byte> captured;  ///< what the file has of it
    std::size_t frame_bytes = 0;          ///< that it was long
    Nanoseconds captured_ns = 0;          ///< wall clock
};

/// The frames of a pcap or pcapng file with link type Ethernet.
class CaptureFile {
  public:
    explicit CaptureFile(const std::string& path);  ///< Throws ConfigError.

    /// Hot path. False at the end of the file, or where it cannot be read any further.
    bool next(CapturedFrame& frame) noexcept;
    bool at_end() const noexcept { return at_end_; }
    bool is_broken() const noexcept { return broken_; }  ///< It ended before the end of the file: read_error().
    void rewind();                                       ///< Throws ConfigError.
    /// Why reading ended before the end of the file; empty when it did not.
    std::string read_error() const;

  private:
    struct Close {
        void operator()(pcap* file) const noexcept;
    };
    std::string path_;
    std::unique_ptr<pcap, Close> file_;
    bool at_end_ = false, broken_ = false;
};

inline constexpr double fastest_capture = 1000;  ///< times as captured

/// When the frames of a capture are due: at a multiple of the speed that they were captured with, the first one at
/// once. A pause longer than longest_pause_ns is left out.
class CapturePace {
  public:
    static constexpr Nanoseconds longest_pause_ns = 60'000'000'000;  ///< longer than between bursts of an accelerator

    /// speed: 1: as captured, 10: ten times as fast, 0: as fast as possible. Throws ConfigError.
    CapturePace(double speed, const Clock& clock);
    bool is_due(Nanoseconds captured_ns) noexcept;
    bool has_time() const noexcept { return speed_ != 0.0; }  ///< As fast as possible there is none.
    std::uint64_t n_pauses_left_out() const noexcept { return n_pauses_left_out_; }
    std::string words() const;

  private:
    double speed_;
    const Clock& clock_;
    bool has_begun_ = false;
    Nanoseconds first_captured_ns_ = 0, last_captured_ns_ = 0, begun_ns_ = 0;
    std::uint64_t n_pauses_left_out_ = 0;
};

/// By UDP port its stream, -1: none. Throws ConfigError where the ports do not tell streams apart.
std::vector<std::int32_t> streams_of_ports(const std::vector<std::uint16_t>& ports);

}  // namespace anello::receive
