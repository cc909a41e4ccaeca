// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "rich/farm/framer.hpp"
#include "rich/farm/mep_merger.hpp"
#include "unit/events/merger_rig.hpp"

namespace anello::rich::test {

using namespace exchange;

using Fragments = std::vector<events::test::TestFragment>;

struct RichRigConfig {
    RichFrames frames{.frame_ticks = 32, .packing = 4, .meps_per_burst = 8, .first_burst_id = 1};
    events::MergerConfig boards;                   ///< all boards of the detector
    std::vector<std::uint32_t> n_boards_of{2, 2};  ///< number of boards of each source
    std::uint32_t n_builders = 1, n_buffers = 4;
};

/// Boards of the RICH at several readout units, and builders that get complete packets in turns; a loop replaces the
/// exchange. All is in memory and on one thread, with a clock that the test advances.
class RichRig {
  public:
    static constexpr std::size_t mfp_bytes = 1U << 14;

    struct Source {
        Source(const RichFramerConfig& config, std::uint32_t n_buffers, const Clock& clock, CounterPage& page)
            : blocks(config.boards.n_boards, clock),
              ring({.n_buffers = n_buffers, .buffer_bytes = mfp_bytes}),
              framer(config, blocks, ring, clock, page) {}
        events::test::TestSource blocks;
        MfpRing ring;
        RichFramer framer;
        std::map<std::uint64_t, FullMfp> held;  ///< MFPs by packet number
    };
    struct Builder {
        Builder(const MepMergerConfig& config, const Clock& clock, CounterPage& page)
            : batches({.n_buffers = 4, .buffer_bytes = events::batch_bytes(config.build.batch)}),
              ring(4),
              merger(config, batches, sink, clock, page) {}
        memory::PersistentBuffers batches;
        memory::SpscRing<events::BatchCompletion> ring;
        events::RingSink sink{ring};
        MepMerger merger;
    };

    explicit RichRig(const RichRigConfig& with) : config(with) {
        std::uint32_t first_board = 0;
        for (const std::uint32_t n_boards : config.n_boards_of) {
            RichFramerConfig framer{.frames = config.frames, .boards = config.boards};
            framer.boards.first_board = first_board;
            framer.boards.n_boards = n_boards;
            framer.source_id = static_cast<std::uint16_t>(sources.size());
            for (std::uint32_t board = 0; board < n_boards; ++board)
                places_.push_back({static_cast<std::uint32_t>(sources.size()), board});
            sources.push_back(std::make_unique<Source>(framer, config.n_buffers, clock, page));
            sources.back()->ring.begin_at(0);
            first_board += n_boards;
        }
        const MepMergerConfig merger{.frames = config.frames, .build = config.boards, .max_mfp_bytes = mfp_bytes};
        for (std::uint32_t i = 0; i < config.n_builders; ++i)
            builders.push_back(std::make_unique<Builder>(merger, clock, page));
    }

    /// board: its number in the whole detector.
    void give(std::uint32_t board, const Fragments& fragments, std::uint32_t burst_id = 1) {
        sources[places_[board].source]->blocks.give(places_[board].board, fragments, burst_id);
    }
    /// Time of timestamp 0 that this board sends from now on.
    Nanoseconds& origin_of(std::uint32_t board) { return sources[places_[board].source]->blocks.burst_origin_ns; }
    void end(std::uint32_t board, std::uint32_t burst_id = 1) {
        sources[places_[board].source]->blocks.end(places_[board].board, burst_id);
    }
    void end_all(std::uint32_t burst_id = 1) {
        for (std::uint32_t board = 0; board < places_.size(); ++board) end(board, burst_id);
    }

    /// Works until there is nothing left to do.
    /// Like work(), while this time passes in steps as for a running thread.
    void pass(Nanoseconds time_ns) {
        for (Nanoseconds passed_ns = 0; passed_ns < time_ns; passed_ns += 1'000'000) {
            clock.advance(1'000'000);
            work();
        }
    }
    void work() {
        for (std::size_t n_done = 1; n_done > 0;) {
            n_done = 0;
            for (const auto& source : sources) n_done += source->framer.do_work() + take(*source);
            n_done += build_whole();
        }
    }
    /// Like work(), with time moving past every timeout, until all sources have passed on their data.
    bool finish() {
        for (const auto& source : sources) source->framer.finish();
        for (int i = 0; i < 1000 && !is_drained(); ++i) {
            work();
            clock.advance(config.boards.timeout_ns);
        }
        return is_drained() && next_mep == next_to_build();
    }
    bool is_drained() const {
        return std::all_of(sources.begin(), sources.end(),
                           [](const auto& source) { return source->framer.is_drained(); });
    }

    std::uint64_t framed(FramerCounter counter) const {
        std::uint64_t sum = 0;
        for (const auto& source : sources) sum += source->framer.framer_counters()[counter];
        return sum;
    }
    std::uint64_t joined(events::BuildCounter counter) const {
        std::uint64_t sum = 0;
        for (const auto& source : sources) sum += source->framer.counters()[counter];
        return sum;
    }
    std::uint64_t built(events::BuildCounter counter) const {
        std::uint64_t sum = 0;
        for (const auto& builder : builders) sum += builder->merger.counters()[counter];
        return sum;
    }
    std::uint64_t merged(MepMergeCounter counter) const {
        std::uint64_t sum = 0;
        for (const auto& builder : builders) sum += builder->merger.mep_counters()[counter];
        return sum;
    }
    /// Fails the running test if the balances of the framer's and merger's counters do not hold.
    void expect_balance() const {
        using enum events::BuildCounter;
        using Framer = FramerCounter;
        using Mep = MepMergeCounter;
        EXPECT_EQ(joined(fragments_merged), framed(Framer::fragments) + framed(Framer::fragments_beyond_burst) +
                                                framed(Framer::fragments_of_unknown_burst) +
                                                framed(Framer::fragments_before_start) +
                                                framed(Framer::fragments_after_end) +
                                                framed(Framer::fragments_no_room) + framed(Framer::fragments_left));
        EXPECT_EQ(merged(Mep::fragments_in), framed(Framer::fragments));
        EXPECT_EQ(merged(Mep::fragments_in), built(fragments_merged) - merged(Mep::fragments_from_next) +
                                                 merged(Mep::fragments_to_previous) + built(fragments_duplicate));
        EXPECT_EQ(built(hits_in), built(hits_merged) - merged(Mep::hits_from_next) + merged(Mep::hits_to_previous) +
                                      built(hits_duplicate) + built(hits_rejected) + built(hits_truncated));
        EXPECT_EQ(built(events_built) - built(events_rejected), events.size());
        for (const auto& source : sources) EXPECT_EQ(source->blocks.n_held(), 0U);
    }

    RichRigConfig config;
    ManualClock clock{10'000'000'000};
    CounterPage page;
    std::vector<std::unique_ptr<Source>> sources;
    std::vector<std::unique_ptr<Builder>> builders;
    std::vector<events::test::TestEvent> events;  ///< in the order of packets
    std::vector<Nanoseconds> origins;             ///< burst origins of batches with events
    std::uint64_t next_mep = 0;                   ///< next packet to build

  private:
    struct Place {
        std::uint32_t source, board;
    };

    static std::size_t take(Source& source) {
        FullMfp mfp;
        if (!source.ring.try_take(mfp)) return 0;
        EXPECT_TRUE(source.held.emplace(mfp.mep, mfp).second) << "packet " << mfp.mep << " came twice";
        return 1;
    }
    /// The first packet for which a source may still have data.
    std::uint64_t next_to_build() const {
        std::uint64_t mep = MfpRing::never;
        for (const auto& source : sources) mep = std::min(mep, source->ring.passed());
        return mep;
    }

    std::size_t build_whole() {
        std::size_t n_built = 0;
        for (; next_mep < next_to_build(); ++next_mep, ++n_built) {
            for (const auto& source : sources)
                while (take(*source) > 0) {
                }
            build(next_mep, *builders[next_mep % builders.size()]);
        }
        return n_built;
    }
    void build(std::uint64_t mep, Builder& builder) {
        std::vector<std::span<const std::byte>> mfps;
        for (const auto& source : sources) {
            const auto found = source->held.find(mep);
            mfps.push_back(found == source->held.end()
                               ? std::span<const std::byte>{}
                               : source->ring.bytes(found->second.buffer).first(found->second.length_bytes));
        }
        const std::uint32_t packing = config.frames.packing;
        builder.merger.begin({.mep = mep, .first_event = mep * packing, .n_events = packing, .mfps = mfps});
        while (!builder.merger.try_complete()) ASSERT_GT(read_batches(builder), 0U) << "it waits for nothing";
        read_batches(builder);
        for (const auto& source : sources) {
            const auto found = source->held.find(mep);
            if (found == source->held.end()) continue;
            source->ring.give_back(found->second.buffer);
            source->held.erase(found);
        }
    }
    std::size_t read_batches(Builder& builder) {
        std::size_t n_read = 0;
        for (events::BatchCompletion batch; builder.ring.try_take(batch); ++n_read) {
            events::test::read_batch(events::columns_of(builder.batches.bytes(batch.buffer), config.boards.batch),
                                     batch, events);
            if (batch.n_events > 0) origins.push_back(batch.burst_origin_ns);
            builder.batches.give_back(batch.buffer);
        }
        return n_read;
    }

    std::vector<Place> places_;  ///< source and position of each board
};

}  // namespace anello::rich::test
