// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "rich/emit/emit_counters.hpp"
#include "rich/wire/mtp.hpp"

namespace anello::rich {

/// Gets every primitive that arrives, in the checker's thread.
class PrimitiveObserver {
  public:
    virtual ~PrimitiveObserver() = default;
    /// burst: 0, 1, ... in order of arrival, because packets do not have the burst's number.
    virtual void on_primitive(std::uint32_t burst, const wire::mtp::Primitive& primitive) noexcept = 0;
};

/// Checks primitive packets at the far end: their format, and that no frame is missing or repeated. A burst begins with
/// frame 0; a step back by more than `reorder_frames` also begins a burst, whose first frames are then missing. Of a
/// burst with one frame only, the next burst's frame 0 differs by its bytes.
/// Hot path: no allocation, no lock, no log, no throw.
class PrimitiveChecker {
  public:
    static constexpr std::int32_t reorder_frames = 64;

    PrimitiveChecker(const wire::KnownSources& known, CounterPage& page, const std::string& block_name = "listen",
                     PrimitiveObserver* observer = nullptr);

    void check(std::span<const std::byte> datagram) noexcept;
    void count_receive_error() noexcept { counters_.add(ListenCounter::receive_errors); }

    const Counters<ListenCounter>& counters() const noexcept { return counters_; }
    const Counters<wire::Verdict>& verdicts() const noexcept { return verdicts_; }

  private:
    void follow(std::uint32_t frame, std::uint32_t content) noexcept;
    void begin_burst(std::uint32_t frame) noexcept;

    wire::KnownSources known_;
    Counters<ListenCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    PrimitiveObserver* observer_;
    std::uint32_t next_frame_ = 0;
    std::uint32_t last_content_ = 0;  ///< checksum of the last valid packet
    std::uint32_t burst_ = 0;
    bool started_ = false;
};

}  // namespace anello::rich
