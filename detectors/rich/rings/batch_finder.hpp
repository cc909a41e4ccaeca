// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich {

/// Position of a hit in the fit frame, by hit id.
struct HitPosition {
    float x_mm, y_mm;
};

/// The hits to use, and their positions.
struct Placement {
    std::vector<HitPosition> position;  ///< by hit id; hits with other ids are left out
    std::int32_t window_fine = 0;       ///< largest distance from the event's time, 1/256 tick
};

/// Hits in the form of built events, borrowed for the call. Event e has the hits [hit_offset[e], hit_offset[e + 1]).
struct HitIdsView {
    std::uint32_t n_events;
    const std::uint32_t* hit_offset;  ///< [n_events + 1]
    const std::uint16_t* hit_id;
    const std::int16_t* hit_time_fine;
};

/// Numbers of hits of a batch in time and with unknown ids; the other hits are out of time.
struct PlacedHits {
    std::uint32_t n_in_time = 0, n_unknown = 0;
};

/// A ring finder on a device, which may fail.
class BatchFinder {
  public:
    BatchFinder() = default;
    virtual ~BatchFinder() = default;
    BatchFinder(const BatchFinder&) = delete;
    BatchFinder& operator=(const BatchFinder&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. rings: [n_events]. False: the device failed, rings
    /// have undefined content, and the caller must find them itself.
    virtual bool find(const HitsView& hits, EventRings* rings) noexcept = 0;

    /// Number of batches of ids that may be on the device at a time, so that one is prepared while another is searched.
    /// 0: the device has no positions. Ids have half of the bytes, and the caller does not look up positions.
    virtual std::uint32_t max_under_way() const noexcept { return 0; }
    /// Begins a batch, whose columns must not change until it is collected. False: it is too large or the device fails,
    /// and nothing has begun. While a batch is on the device, find() must not be called.
    virtual bool send(const HitIdsView&) noexcept { return false; }
    /// Waits for the oldest batch. False: as in find().
    virtual bool collect(EventRings*, PlacedHits&) noexcept { return false; }

    /// Memory that the device reads without another copy; a caller should put its hits there. Null if there is none.
    struct Room {
        std::uint32_t* hit_offset = nullptr;  ///< [max_events + 1]; the first one must be 0
        float* x_mm = nullptr;                ///< [max_hits]
        float* y_mm = nullptr;
    };
    virtual Room room() noexcept { return {}; }
    virtual std::string_view device_name() const noexcept = 0;
};

enum class Backend : std::uint8_t { automatic, cpu, cuda };
Backend parse_backend(std::string_view name);  ///< auto, cpu or cuda; throws ConfigError
std::string_view name_of(Backend backend) noexcept;

/// The device's finder; null if the processor finds rings.
struct ChosenDevice {
    std::unique_ptr<BatchFinder> finder;
    std::string note;  ///< why `automatic` has chosen the processor; empty when it has not
};
/// Throws ConfigError and SystemError if `cuda` is requested and cannot be used. placement: for finders that take ids.
ChosenDevice choose_device(Backend backend, const RingFinderConfig& config, std::uint32_t max_events,
                           std::uint32_t max_hits, const Placement& placement = {});

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<rich::Backend>{"auto", "cpu", "cuda"};

}  // namespace anello
