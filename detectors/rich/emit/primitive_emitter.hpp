// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rich/decide/decision.hpp"
#include "rich/emit/datagram_sink.hpp"
#include "rich/emit/emit_counters.hpp"
#include "rich/wire/mtp.hpp"

namespace anello::rich {

struct EmitterConfig {
    std::uint8_t source_id = 0x1C;  ///< NA62's RICH
    std::uint8_t sub_source_id = 0;
    /// The emitter skips a gap in detector time of more than this many frames, so that a damaged timestamp does not
    /// cause millions of empty frames. The default is 6.7 s.
    std::uint32_t max_gap_frames = 1U << 20;
    /// A frame counts as lost after this many attempts to send it while the system's buffer is full.
    std::uint32_t max_tries = 1000;
    /// Packets are padded with timestamp words to a multiple of this number; 0: no padding. Packets of equal length are
    /// sent together. PERF NOTE: at 0.25 M events/s the emitting thread and a listener on the same machine take 0.3
    /// cores less for 156,000 packets per second (bench/system/chain_bench.py).
    std::uint32_t fill_words = 8;
    void validate() const;  ///< Throws ConfigError.
};

/// Sends level-0 primitives: one packet for every frame of 256 ticks, also an empty one, from frame 0 of a burst to
/// that of its last decision. A frame is sent after a decision beyond it, or when its burst has ended. One thread gives
/// decisions in the order of time. Hot path: no allocation, no lock, no log, no throw.
class PrimitiveEmitter {
  public:
    /// The sink must outlive the emitter. Throws ConfigError.
    PrimitiveEmitter(const EmitterConfig& config, DatagramSink& sink, CounterPage& page,
                     const std::string& block_name = "emit");

    /// Writes and sends all frames that these decisions complete.
    void give(const DecisionBatch& decisions) noexcept;
    /// Ends the current burst, if there is one: needed when a run stops inside a burst.
    void finish() noexcept;
    /// Checks for errors from the far end. Call it regularly; returns the number of errors.
    std::size_t do_work() noexcept;

    const Counters<EmitCounter>& counters() const noexcept { return counters_; }

  private:
    static constexpr std::size_t max_pending = 512;

    void begin_burst(std::uint32_t burst_id) noexcept;
    void end_burst() noexcept;
    void add(std::uint32_t timestamp_ticks, std::uint8_t fine_time, std::uint16_t primitive_id) noexcept;
    bool advance_to(std::uint32_t frame) noexcept;
    void begin_frame(std::uint32_t frame) noexcept;
    void close_frame() noexcept;
    void flush() noexcept;
    void count_error(int error) noexcept;

    EmitterConfig config_;
    DatagramSink& sink_;
    Counters<EmitCounter> counters_;
    std::unique_ptr<std::byte[]> arena_;  ///< contiguous frames, so that several can be sent together
    std::vector<std::span<const std::byte>> pending_;
    std::size_t n_pending_ = 0;
    std::size_t used_bytes_ = 0;
    wire::mtp::PacketWriter writer_;
    bool in_burst_ = false;
    std::uint32_t burst_id_ = 0;
};

}  // namespace anello::rich
