// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "events/batch_writer.hpp"
#include "events/merger_config.hpp"
#include "exchange/copying_sink.hpp"
#include "rich/farm/farm_counters.hpp"
#include "rich/farm/frames.hpp"
#include "rich/wire/rich_frame.hpp"
#include "wire/mfp.hpp"

namespace anello::rich {

struct MepMergerConfig {
    RichFrames frames;
    events::MergerConfig build;  ///< n_boards of all readout units; window, batch, keep_incomplete
    std::size_t max_mfp_bytes = 0;
};

/// Merges the boards' fragments of a complete multi-event packet into events, by the rule of events::Merger. All
/// fragments are present, so it does not wait for boards. Hot path (all but the constructor): no allocation, no lock,
/// no log, no throw.
class MepMerger final : public exchange::CopyingSink {
  public:
    /// Throws ConfigError. Counters: "merge", "merge.boardN", "merge.mep".
    MepMerger(const MepMergerConfig& config, memory::PersistentBuffers& batches, events::BatchSink& sink,
              const Clock& clock, CounterPage& page);

    void begin(const exchange::MepView& mep) noexcept override;
    bool try_complete() noexcept override;  ///< Returns false when no batch is free.

    const Counters<events::BuildCounter>& counters() const noexcept { return counters_; }
    const Counters<MepMergeCounter>& mep_counters() const noexcept { return mep_counters_; }

  private:
    struct Record {
        events::FineTime time;
        events::Fragment fragment;
        bool is_own;  ///< is in the packet, not in its overlap
    };
    struct Board {
        std::vector<Record> records;  ///< sorted by time
        std::size_t next = 0;
        events::FineTime used = events::no_fragment;  ///< time of the last fragment that was used

        bool is_at_end() const noexcept { return next == records.size(); }
        events::FineTime head() const noexcept { return is_at_end() ? events::no_fragment : records[next].time; }
    };

    void read(std::span<const std::byte> mfp) noexcept;
    void read_frame(std::span<const std::byte> frame, Nanoseconds ready_ns) noexcept;
    void place(const wire::rich_frame::Record& record, Nanoseconds ready_ns) noexcept;
    void note_origin(Nanoseconds wall_ns) noexcept;
    bool merge() noexcept;
    bool try_build_event(events::FineTime first) noexcept;
    void append(std::uint32_t members, events::FineTime first) noexcept;
    void count_event(std::uint32_t members) noexcept;
    void pass_over(std::uint32_t members, bool is_ours) noexcept;
    void advance(Board& board) noexcept;

    const MepMergerConfig config_;
    const Clock& clock_;
    Counters<events::BuildCounter> counters_;
    Counters<MepMergeCounter> mep_counters_;
    std::vector<Counters<events::BoardCounter>> board_counters_;
    events::BatchWriter writer_;
    std::vector<Board> boards_;
    std::uint32_t all_boards_;
    bool is_busy_ = false, is_merged_ = false;
    std::uint32_t burst_id_ = 0;
    std::vector<Nanoseconds> origins_;  ///< time of the burst's timestamp 0 by front ends' clocks, from each MFP
    std::uint64_t begin_ticks_ = 0, end_ticks_ = 0;  ///< of the current packet
    std::uint64_t last_ticks_ = 0;                   ///< largest time of a fragment that was used
    bool is_sure_ = false;                           ///< a pause was seen, so this packet and the one before agree
};

}  // namespace anello::rich
