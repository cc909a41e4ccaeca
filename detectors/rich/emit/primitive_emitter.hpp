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
    /// A jump of detector time beyond this many frames is skipped, not filled: a damaged timestamp must not send
    /// millions of empty frames. The default is 6.7 s.
    std::uint32_t max_gap_frames = 1U << 20;
    /// How often a frame is offered to a system whose buffer is full before it counts as lost.
    std::uint32_t max_tries = 1000;
    /// Packets are padded with timestamp words to a multiple of this many, 0: not at all. Packets of one length leave
    /// in one piece. PERF NOTE: at 0.25 M events/s the emitting thread and a listener on the same machine take 0.3
    /// cores less for the 156,000 packets of a second (bench/system/chain_bench.py).
    std::uint32_t fill_words = 8;
    void validate() const;  ///< Throws ConfigError.
};

/// Level-0 primitives: one packet for every frame of 256 ticks, from frame 0 of a burst to that of its last decision,
/// even when empty. A frame leaves when a decision beyond it was seen or its burst has ended.
/// One thread gives decisions in the order of time. Hot path: no allocation, no lock, no log, no throw.
class PrimitiveEmitter {
  public:
    /// The sink must outlive the emitter. Throws ConfigError.
    PrimitiveEmitter(const EmitterConfig& config, DatagramSink& sink, CounterPage& page,
                     const std::string& block_name = "emit");

    /// Writes and sends all frames that these decisions complete.
    void give(const DecisionBatch& decisions) noexcept;
    /// Ends the current burst, if any: for a stop in its middle.
    void finish() noexcept;
    /// Checks for errors from the far end. Call now and then; returns the errors found.
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
    std::unique_ptr<std::byte[]> arena_;  ///< frames back to back, so that runs can leave as one
    std::vector<std::span<const std::byte>> pending_;
    std::size_t n_pending_ = 0;
    std::size_t used_bytes_ = 0;
    wire::mtp::PacketWriter writer_;
    bool in_burst_ = false;
    std::uint32_t burst_id_ = 0;
};

}  // namespace anello::rich
