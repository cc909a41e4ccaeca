// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "km3net/slices/calibrated_hits.hpp"
#include "km3net/trigger/event_finder.hpp"
#include "km3net/wire/daq.hpp"
#include "wire/bytes.hpp"

/// The experiment's own messages, as its programs write and read them: docs/reference/km3net-messages.md.
/// Little-endian, but for the times of hits. Hot path: no allocation, no lock, no log, no throw.
namespace anello::km3net::daq {

using wire::daq::Type;

/// Which 100 ms of which run: at the begin of each message and of each frame.
struct Origin {
    std::uint32_t detector = 0, run = 0;
    std::uint32_t frame_index = 0;  ///< slices since the run began
    std::uint64_t slice = 0;        ///< since 1970
};

/// One message after another, into memory that is there. A message that finds no room is taken back whole.
class Writer {
  public:
    explicit Writer(std::span<std::byte> memory = {}) noexcept : memory_(memory) {}

    /// A message or a frame in one: its length is written when it ends.
    struct Place {
        std::size_t at;
    };
    Place begin(Type type, const Origin& origin) noexcept;  ///< with the version that the type has, if any
    void end(Place place) noexcept { set(place, static_cast<std::uint32_t>(n_ - place.at)); }
    /// The same for a whole message; false: there was no room.
    bool end_message(Place place) noexcept;

    template <std::unsigned_integral Unsigned>
    void put(Unsigned value) noexcept {
        if (std::byte* const at = take(sizeof value)) wire::store_le(at, value);
    }
    void put(const clb::Hit& hit) noexcept;
    void put(std::span<const std::byte> bytes) noexcept {
        if (std::byte* const at = take(bytes.size()); at != nullptr && !bytes.empty())
            std::memcpy(at, bytes.data(), bytes.size());
    }
    /// For a number that is known later.
    Place leave() noexcept {
        const Place place{n_};
        put(std::uint32_t{0});
        return place;
    }
    void set(Place place, std::uint32_t value) noexcept {
        if (!is_full_) wire::store_le(memory_.data() + place.at, value);
    }
    std::span<const std::byte> bytes() const noexcept { return memory_.first(n_); }

  private:
    std::byte* take(std::size_t n_bytes) noexcept;

    std::span<std::byte> memory_;
    std::size_t n_ = 0;
    bool is_full_ = false;
};

/// As the board sent it: what was done to calibrate a hit, undone.
clb::Hit raw_hit(PackedHit hit, const Dom& dom) noexcept;

/// Of a PMT: 0 up to 2 kHz, 255 from 2 MHz on, steps of 2.7 % between them.
std::uint8_t rate_byte(double rate_hz) noexcept;

/// What the trigger knows of a slice when all DOMs have been looked at. DOMs are in the same order everywhere.
struct LookedAt {
    std::span<const Dom> doms;
    std::span<const Frame> frames;
    std::span<const CalibratedHits> hits;  ///< only of frames that were used
    const std::vector<bool>& is_used;
};

/// Each returns whether there was room.
/// Every frame with data, with all its hits as the board sent them.
bool write_l0_slice(Writer& writer, const Origin& origin, std::span<const Dom> doms, SliceStore& slices,
                    std::uint32_t buffer) noexcept;
/// How long that is.
std::size_t l0_slice_bytes(const Slice& slice) noexcept;
/// Status of every frame with data, and the rate of each PMT, 0 where the frame was rejected.
bool write_summary(Writer& writer, const Origin& origin, const LookedAt& slice) noexcept;
/// Frames that were used, with the hits of their L1. l1: by DOM, and by time within each.
bool write_l1_slice(Writer& writer, const Origin& origin, const LookedAt& slice, std::span<const L1Hit> l1) noexcept;

struct Event {
    const EventSpan& span;
    std::span<const std::uint32_t> members;  ///< of l1
    std::span<const L1Hit> l1;
    std::int64_t around;       ///< 1/16 ns: hits up to so long before and behind are in the snapshot
    std::uint64_t number = 0;  ///< in the run
};
bool write_event(Writer& writer, const Origin& origin, const LookedAt& slice, const Event& event) noexcept;

}  // namespace anello::km3net::daq
