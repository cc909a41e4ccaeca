// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "camera/wire/camera.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {

/// A trigger, as each board counts it.
struct CameraTrigger {
    std::uint64_t index = 0;  ///< in the run, from 0
    std::uint32_t event_number = 0;
    std::uint64_t run_time_ns = 0;  ///< since the start of the run, when the boards' counters were reset
    std::uint64_t timestamp_ns = 0;
    std::uint32_t pool_index = 0;
    bool has_shower = false;
    std::uint8_t tag = 0;  ///< bits of wire::camera::TriggerTag
};

/// The cells at which a trigger stops a board's DRS4 chips: each chip writes cell after cell at 1.024 GHz, from its
/// cell at the start of the run on.
// Hot path: no allocation, no lock, no log, no throw.
inline wire::camera::FirstCells first_cells_of(const wire::camera::FirstCells& at_start,
                                               std::uint64_t run_time_ns) noexcept {
    constexpr std::uint64_t cells = 128, in_ns = 125;  // 1.024 per ns; the product lasts for four years
    wire::camera::FirstCells now = at_start;
    const std::uint64_t written = run_time_ns * cells / in_ns;
    for (std::uint16_t& cell : now) cell = static_cast<std::uint16_t>((cell + written) % wire::camera::drs4_cells);
    return now;
}

/// Returns the counters that a board of this kind adds to its fragment (docs/reference/camera.md).
// Hot path: no allocation, no lock, no log, no throw.
inline std::array<std::byte, wire::camera::counters_bytes> counters_of(wire::camera::CountersKind kind,
                                                                       const CameraTrigger& trigger) noexcept {
    using enum wire::camera::CountersKind;
    std::array<std::byte, wire::camera::counters_bytes> bytes{};
    std::byte* at = bytes.data();
    const std::uint64_t pps = trigger.run_time_ns / 1'000'000'000;
    const auto since_pps_ns = static_cast<std::uint32_t>(trigger.run_time_ns % 1'000'000'000);
    if (kind == dragon || kind == dragon_drs4) {
        wire::store_le(at, static_cast<std::uint16_t>(pps));
        wire::store_le(at + 2, since_pps_ns / 100);
        wire::store_le(at + 6, static_cast<std::uint32_t>(trigger.index + 1));
        wire::store_le(at + 10, static_cast<std::uint32_t>(trigger.index + 1));
        wire::store_le(at + 14, pps * 133'000'000 + std::uint64_t{since_pps_ns} * 133 / 1000);
    } else if (kind != none) {
        wire::store_le(at, trigger.event_number);
        wire::store_le(at + 4, static_cast<std::uint16_t>(trigger.index + 1));
        wire::store_le(at + 6, static_cast<std::uint16_t>(pps));
        wire::store_le(at + 8, since_pps_ns / 8);
        at[12] = static_cast<std::byte>(since_pps_ns % 8);
        if (kind == nectarcam_20 && trigger.has_shower) wire::store_le(at + 16, 0x7f7f7f7fU);
    }
    return bytes;
}

}  // namespace anello::camera
