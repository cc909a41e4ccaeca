// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "camera/wire/camera.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {

/// Shape of the waveforms in a slot of event memory: the header fields that the stages after the builder read for every
/// board. The builder parsed the header before it placed the fragment.
struct CameraWaveforms {
    std::uint16_t n_samples;
    std::uint8_t n_pixels;
    std::uint8_t n_gains;
    std::uint16_t payload_bytes;
    wire::camera::CountersKind counters_kind;

    bool is_gain_selected;  ///< one of two gains was sent; the header has a bit for each pixel with the low gain

    bool has_first_cells() const noexcept { return counters_kind == wire::camera::CountersKind::dragon_drs4; }
    /// Bytes of the payload without first cells. Never below 0, even if a header that was not parsed has wrong values.
    std::size_t waveform_bytes() const noexcept {
        const std::size_t behind = has_first_cells() ? wire::camera::first_cells_bytes : 0;
        return payload_bytes < behind ? 0 : payload_bytes - behind;
    }
};

inline CameraWaveforms waveforms_in(const std::byte* slot) noexcept {
    return {wire::load_le<std::uint16_t>(slot + 32),
            std::to_integer<std::uint8_t>(slot[34]),
            std::to_integer<std::uint8_t>(slot[35]),
            wire::load_le<std::uint16_t>(slot + 38),
            static_cast<wire::camera::CountersKind>(slot[36]),
            (slot[5] & std::byte{wire::camera::gain_selected}) != std::byte{0}};
}

/// A bit for each pixel whose low gain is in the slot; the first pixel has the lowest. Only valid if is_gain_selected.
inline std::uint16_t low_gain_in(const std::byte* slot) noexcept {
    return wire::load_le<std::uint16_t>(slot + wire::camera::low_gain_offset);
}

inline std::uint8_t trigger_tag_in(const std::byte* slot) noexcept {
    return std::to_integer<std::uint8_t>(slot[37]);
}

/// First cells of the 8 chips of the slot's board, whose header was parsed; empty if the board sends none.
inline std::optional<wire::camera::FirstCells> first_cells_in(const std::byte* slot) noexcept {
    const CameraWaveforms found = waveforms_in(slot);
    if (!found.has_first_cells()) return std::nullopt;
    return wire::camera::read_first_cells({slot + wire::camera::header_bytes, found.payload_bytes});
}

/// True if a step of CalibrationStep was done, except the choice of a gain, which the front end may have made.
inline bool is_calibrated(const std::byte* slot) noexcept {
    constexpr auto known = std::byte{wire::camera::known_flags};
    return (slot[5] & ~known) != std::byte{0};
}

/// The clock of an LST board, in ticks of 7.5 ns.
inline std::uint64_t dragon_clock_in(const std::byte* slot) noexcept {
    return wire::load_le<std::uint64_t>(slot + 54);
}

/// Marks in the header's flags that the samples were changed: bits 3 to 7, of which a datagram may have only
/// gain_selected. steps: bits of CalibrationStep. Clears the checksum, which was that of the sent bytes.
inline void mark_calibrated(std::byte* slot, std::uint8_t steps) noexcept {
    constexpr auto markers = std::byte{wire::camera::start_of_run | wire::camera::end_of_run};
    const auto kept = slot[5] & markers;
    slot[5] = kept | static_cast<std::byte>(steps << 2);
    wire::store_le(slot + 20, std::uint32_t{0});
}

/// Keeps only the first of two gains in the slot and moves the first cells after it. low_gain has a bit for each pixel
/// whose samples are of the low gain. Call it after mark_calibrated().
inline void leave_one_gain(std::byte* slot, std::uint16_t low_gain) noexcept {
    const CameraWaveforms found = waveforms_in(slot);
    const std::size_t n_before = found.waveform_bytes(), n_left = n_before / 2;
    std::byte* const payload = slot + wire::camera::header_bytes;
    std::memmove(payload + n_left, payload + n_before, found.payload_bytes - n_before);
    slot[35] = std::byte{1};
    wire::store_le(slot + 38, static_cast<std::uint16_t>(found.payload_bytes - n_left));
    wire::store_le(slot + wire::camera::low_gain_offset, low_gain);
}

}  // namespace anello::camera
