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

/// KM3NeT's own messages, as its programs write and read them: docs/reference/km3net-messages.md.
/// All numbers are little-endian, except the times of hits. Hot path: no allocation, no lock, no log, no throw.
namespace anello::km3net::daq {

using wire::daq::Type;

/// Names the slice (100 ms) and its run; stands at the begin of each message and of each frame.
struct Origin {
    std::uint32_t detector = 0, run = 0;
    std::uint32_t frame_index = 0;  ///< number of slices since the run began
    std::uint64_t slice = 0;        ///< number of slices since 1970
};

/// Writes one message after another into the caller's memory. It removes a message that does not fit completely.
class Writer {
  public:
    explicit Writer(std::span<std::byte> memory = {}) noexcept : memory_(memory) {}

    /// Position of a message, or of a frame in it, whose length is written when it ends.
    struct Place {
        std::size_t at;
    };
    Place begin(Type type, const Origin& origin) noexcept;  ///< writes the type's version, too, if it has one
    void end(Place place) noexcept { set(place, static_cast<std::uint32_t>(n_ - place.at)); }
    /// Ends a message; returns false when it did not fit.
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
    /// Leaves room for a number that is known later.
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

/// The hit as the board sent it: this reverses the calibration.
clb::Hit raw_hit(PackedHit hit, const Dom& dom) noexcept;

/// Rate of a PMT in one byte: 0 up to 2 kHz, 255 from 2 MHz on, logarithmic steps of 2.7 % between them.
std::uint8_t rate_byte(double rate_hz) noexcept;

/// Results of the trigger for a slice after it has processed all DOMs. DOMs are in the same order everywhere.
struct LookedAt {
    std::span<const Dom> doms;
    std::span<const Frame> frames;
    std::span<const CalibratedHits> hits;  ///< by DOM; valid only for frames that were used
    const std::vector<bool>& is_used;
};

/// Each of these functions returns whether the message fitted.
/// Writes every frame with data, with all its hits as the board sent them.
bool write_l0_slice(Writer& writer, const Origin& origin, std::span<const Dom> doms, SliceStore& slices,
                    std::uint32_t buffer) noexcept;
/// Length of this message in bytes.
std::size_t l0_slice_bytes(const Slice& slice) noexcept;
/// Writes the status of every frame with data, and the rate of each of its PMTs: 0 if the frame was rejected.
bool write_summary(Writer& writer, const Origin& origin, const LookedAt& slice) noexcept;
/// Writes the frames that were used, with the hits of their L1. l1 is sorted by DOM, and by time within a DOM.
bool write_l1_slice(Writer& writer, const Origin& origin, const LookedAt& slice, std::span<const L1Hit> l1) noexcept;

struct Event {
    const EventSpan& span;
    std::span<const std::uint32_t> members;  ///< indices in l1
    std::span<const L1Hit> l1;
    std::int64_t around;       ///< 1/16 ns: the snapshot has the hits from this long before to this long after
    std::uint64_t number = 0;  ///< of the event in the run
};
bool write_event(Writer& writer, const Origin& origin, const LookedAt& slice, const Event& event) noexcept;

}  // namespace anello::km3net::daq
