// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "camera/source/simulation.hpp"
#include "camera/wire/camera.hpp"
#include "core/clock.hpp"
#include "core/seed.hpp"
#include "core/thread.hpp"
#include "source/fault_injector.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::camera {

/// waveforms: simulated showers. pattern: bytes that a receiver can verify from the header alone
/// (wire/payload_pattern.hpp).
enum class CameraPayload : std::uint8_t { waveforms, pattern };

struct CameraSourceConfig {
    WaveformShape shape;              ///< shape of the whole camera
    std::uint32_t payload_bytes = 0;  ///< pattern: bytes without shape; 0: as many as the shape has
    std::uint32_t first_board = 0;    ///< first board of this process
    std::uint32_t n_boards = 0;       ///< number of boards of this process; 0: all from first_board on
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports{0};  ///< ports of the whole camera: one per board, or fewer (port_index)
    std::uint64_t seed = default_seed;

    // camera_source_keys says what each of these means.
    double rate_hz = 300;
    bool poisson = true;
    bool burst = true;
    double spread_us = 100;      ///< or until the next trigger
    std::uint64_t n_events = 0;  ///< 0: until stop()
    std::uint32_t first_event = 0;
    std::uint32_t run_id = 1;
    Nanoseconds start_at_ns = 0;
    std::uint32_t n_end_markers = 5;
    double end_marker_spacing_ms = 2;

    CameraPayload payload = CameraPayload::waveforms;
    wire::camera::CountersKind counters = wire::camera::CountersKind::nectarcam_16;
    bool checksum = true;
    source::Offload offload = source::Offload::gso;  ///< for the caller that makes the sink
    std::uint32_t pool_events = 64;
    CameraSimulationConfig simulation;

    bool paced = true;
    double max_behind_ms = 10;
    source::FaultsConfig faults;
    std::uint32_t truth_prescale_log2 = 0;
    std::uint32_t max_truth_samples = 1 << 20;
    ThreadConfig thread{.name = "anello-camera", .rest_below = 64};

    std::uint32_t n_own_boards() const noexcept { return n_boards == 0 ? shape.n_boards - first_board : n_boards; }
    bool has_shape() const noexcept { return payload_bytes == 0 || payload_bytes == shape.payload_bytes(); }
    bool has_first_cells() const noexcept { return counters == wire::camera::CountersKind::dragon_drs4; }
    std::size_t fragment_payload_bytes() const noexcept {
        const std::size_t n_bytes = payload_bytes == 0 ? shape.payload_bytes() : payload_bytes;
        return n_bytes + (has_first_cells() ? wire::camera::first_cells_bytes : 0);
    }
    void validate() const;  ///< Throws ConfigError.
    /// Destination ports of this process's boards, in their order. Call it only after validate().
    std::vector<source::BoardEndpoint> endpoints() const;
};

/// Keys of the sections camera, run and camera_source.
extern const Keys<CameraSourceConfig> camera_keys, camera_run_keys, camera_source_keys;
extern const Keys<source::FaultsConfig> camera_faults_keys;

}  // namespace anello::camera

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<camera::CameraPayload>{"waveforms", "pattern"};
template <>
inline constexpr std::array<const char*, 5> words_of<wire::camera::CountersKind>{"none", "dragon", "nectarcam_16",
                                                                                 "nectarcam_20", "dragon_drs4"};

}  // namespace anello
