// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "events/board_join.hpp"
#include "exchange/mfp_ring.hpp"
#include "rich/farm/farm_counters.hpp"
#include "rich/farm/frames.hpp"

namespace anello::rich {

struct RichFramerConfig {
    RichFrames frames;
    events::MergerConfig boards;  ///< this node's boards, their time-out, and the blocks held
    std::uint16_t source_id = 0;
    std::uint32_t run_id = 0;
};

/// Fills an exchange::MfpRing with the data of a node's RICH boards: the fragment of event e of the exchange has the
/// records (rich/wire/rich_frame.hpp) of time frame e. A packet is complete when no board can have more data for it.
class RichFramer final : public events::BoardJoin {
  public:
    /// Blocks, ring and clock must outlive the framer. Throws ConfigError. Counters: "framer", "build", "build.boardN".
    RichFramer(const RichFramerConfig& config, events::BlockSource& blocks, exchange::MfpRing& ring, const Clock& clock,
               CounterPage& page);

    /// Any thread may call this when MFPs are no longer taken; the framer counts the fragments left.
    void abandon() noexcept { is_abandoned_.store(true, std::memory_order_release); }  // pairs with try_close()

    const Counters<FramerCounter>& framer_counters() const noexcept { return framed_; }

  private:
    /// A packet that is being filled: the records of all its frames, one after the other.
    struct Stage {
        Stage(std::size_t room_bytes, std::uint32_t packing)
            : bytes(std::make_unique<std::byte[]>(room_bytes)), frame_bytes(packing) {}
        std::uint64_t mep = 0;
        std::unique_ptr<std::byte[]> bytes;
        std::vector<std::uint32_t> frame_bytes;
        std::size_t n_bytes = 0;
        std::uint64_t n_own = 0, n_own_hits = 0;  ///< fragments and hits without the overlap
    };

    bool try_make_way() noexcept override {
        return ring_.first_mep() != exchange::MfpRing::never || is_abandoned_.load();
    }
    std::size_t join(Nanoseconds now_ns) noexcept override;
    void begin_joining() noexcept override;
    bool try_end_joining() noexcept override;
    void end_step(Nanoseconds, std::size_t) noexcept override {}
    std::uint64_t late_before(std::uint32_t) const noexcept override { return has_last_ ? last_ticks_ : 0; }

    bool take(std::uint32_t board) noexcept;
    bool try_open(std::uint64_t mep) noexcept;
    bool try_close() noexcept;
    void begin(Stage& stage, std::uint64_t mep) noexcept;
    enum class Place : std::uint8_t { own, overlap };
    void put(Stage& stage, std::uint32_t board, std::uint32_t ticks, Place place) noexcept;
    std::size_t origin_bytes_of(const Stage& stage) const noexcept;
    std::uint32_t write(const Stage& stage, std::uint32_t buffer) noexcept;

    const RichFramerConfig framer_;
    exchange::MfpRing& ring_;
    const Clock& clock_;
    Counters<FramerCounter> framed_;
    Stage stages_[2];
    Stage* open_ = &stages_[0];  ///< the current packet
    Stage* next_ = &stages_[1];  ///< the packet after it, which begins with an overlap
    std::size_t max_bytes_;      ///< largest size of a packet's fragments
    bool is_known_burst_ = false, has_last_ = false, has_open_ = false;
    std::atomic<bool> is_abandoned_{false};
};

}  // namespace anello::rich
