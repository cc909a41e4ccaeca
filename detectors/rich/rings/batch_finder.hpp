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

/// Where a hit lies in the fit frame, by hit id.
struct HitPosition {
    float x_mm, y_mm;
};

/// Which hits are used, and where they lie.
struct Placement {
    std::vector<HitPosition> position;  ///< by hit id; a hit of another id is left out
    std::int32_t window_fine = 0;       ///< so far from the event's time, either way
};

/// Hits as events are built of them, borrowed for the call. Event e has the hits [hit_offset[e], hit_offset[e + 1]).
struct HitIdsView {
    std::uint32_t n_events;
    const std::uint32_t* hit_offset;  ///< [n_events + 1]
    const std::uint16_t* hit_id;
    const std::int16_t* hit_time_fine;
};

/// Of the hits of a batch; the others are out of time.
struct PlacedHits {
    std::uint32_t n_in_time = 0, n_unknown = 0;
};

/// A ring finder that may fail: a device next to the CPU.
class BatchFinder {
  public:
    BatchFinder() = default;
    virtual ~BatchFinder() = default;
    BatchFinder(const BatchFinder&) = delete;
    BatchFinder& operator=(const BatchFinder&) = delete;

    /// Hot path: no allocation, no lock, no log, no throw. rings: [n_events]. False: the device did not do it, rings
    /// hold anything, and the caller finds them by itself.
    virtual bool find(const HitsView& hits, EventRings* rings) noexcept = 0;

    /// How many batches of ids may be under way at a time, so that one is prepared while another is searched; 0: the
    /// device was not told where hits lie. Ids are half of the bytes, and nothing for the caller to look up.
    virtual std::uint32_t max_under_way() const noexcept { return 0; }
    /// Begins a batch, whose columns stay as they are until it is collected. False: it is too large, or the device
    /// fails, and nothing has begun. While a batch is under way, find() must not be called.
    virtual bool send(const HitIdsView&) noexcept { return false; }
    /// Waits for the batch that was sent first. False: as find().
    virtual bool collect(EventRings*, PlacedHits&) noexcept { return false; }

    /// Memory that the device reads without a further copy: where a caller that is free to choose puts its hits. Null
    /// where there is none.
    struct Room {
        std::uint32_t* hit_offset = nullptr;  ///< [max_events + 1]; the first must be 0
        float* x_mm = nullptr;                ///< [max_hits]
        float* y_mm = nullptr;
    };
    virtual Room room() noexcept { return {}; }
    virtual std::string_view device_name() const noexcept = 0;
};

enum class Backend : std::uint8_t { automatic, cpu, cuda };
Backend parse_backend(std::string_view name);  ///< auto, cpu or cuda; throws ConfigError
std::string_view name_of(Backend backend) noexcept;

/// The device's finder, or null where the processor is to do it.
struct ChosenDevice {
    std::unique_ptr<BatchFinder> finder;
    std::string note;  ///< why `automatic` has chosen the processor; empty where it has not
};
/// Throws ConfigError and SystemError where `cuda` cannot be had. placement: for finders that take ids.
ChosenDevice choose_device(Backend backend, const RingFinderConfig& config, std::uint32_t max_events,
                           std::uint32_t max_hits, const Placement& placement = {});

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<rich::Backend>{"auto", "cpu", "cuda"};

}  // namespace anello
