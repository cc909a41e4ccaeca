// SPDX-License-Identifier: Apache-2.0
#include "source/camera_source_config.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "source/config_check.hpp"

namespace anello::source {
namespace {

void check_shape(const CameraSourceConfig& config) {
    const WaveformShape& shape = config.shape;
    check_range("camera.boards", shape.n_boards, 1, detector::max_camera_geometry_boards);
    check_range("camera.pixels_per_board", shape.n_pixels, 1, detector::max_camera_geometry_pixels_per_board);
    check_range("camera.gains", shape.n_gains, 1, 2);
    check_range("camera.samples", shape.n_samples, 0, 0xffff);
    check_range("camera.payload_bytes", static_cast<double>(config.fragment_payload_bytes()), 0,
                wire::camera::max_payload_bytes);
    if (config.payload == CameraPayload::waveforms && !config.has_shape())
        throw ConfigError("camera.payload_bytes",
                          fmt::format("must be 0 or {} with payload = \"waveforms\"", shape.payload_bytes()),
                          fmt::format("{}", config.payload_bytes), "Use payload = \"pattern\" for a free size");
}

void check_boards(const CameraSourceConfig& config) {
    const std::uint32_t n_boards = config.shape.n_boards;
    check_range("first_board", config.first_board, 0, n_boards - 1);
    check_range("n_boards", config.n_boards, 0, n_boards - config.first_board);
    check_range("ports, their number", static_cast<double>(config.ports.size()), 1, n_boards);
}

void check_times(const CameraSourceConfig& config) {
    check_range("rate_hz", config.rate_hz, 1e-3, 1e8);
    check_range("spread_us", config.spread_us, 0, 1e6);
    check_range("max_behind_ms", config.max_behind_ms, 0.001, 1e6);
    check_range("n_end_markers", config.n_end_markers, 1, 100);
    check_range("end_marker_spacing_ms", config.end_marker_spacing_ms, 0, 1000);
    check_range("start_at_ns", static_cast<double>(config.start_at_ns), 0, 4e18);
}

}  // namespace

CameraPayload parse_camera_payload(const std::string& text) {
    if (text == "waveforms") return CameraPayload::waveforms;
    if (text == "pattern") return CameraPayload::pattern;
    throw ConfigError("payload", "must be waveforms or pattern", text, "A pattern can be verified byte by byte");
}

wire::camera::CountersKind parse_camera_counters(const std::string& text) {
    using enum wire::camera::CountersKind;
    if (text == "none") return none;
    if (text == "dragon") return dragon;
    if (text == "nectarcam_16") return nectarcam_16;
    if (text == "nectarcam_20") return nectarcam_20;
    throw ConfigError("counters", "must be none, dragon, nectarcam_16 or nectarcam_20", text,
                      "dragon is LST's board, the others are NectarCAM's");
}

void CameraSourceConfig::validate() const {
    check_shape(*this);
    check_boards(*this);
    check_times(*this);
    check_range("pool_events", pool_events, 1, 1 << 20);
    check_range("truth_prescale_log2", truth_prescale_log2, 0, 63);
    simulation.validate();
    faults.validate(shape.n_boards);
    if (faults.corrupt > 0 && !checksum)
        throw ConfigError("faults.corrupt", "needs checksum = true", fmt::format("{}", faults.corrupt),
                          "Without a checksum a changed byte of a waveform is not seen");
}

std::vector<BoardEndpoint> CameraSourceConfig::endpoints() const {
    const auto n_ports = static_cast<std::uint32_t>(ports.size());
    std::vector<BoardEndpoint> endpoints;
    for (std::uint32_t board = first_board; board < first_board + n_own_boards(); ++board)
        endpoints.push_back(
            {static_cast<std::uint16_t>(board), host, ports[wire::camera::port_index(board, shape.n_boards, n_ports)]});
    return endpoints;
}

}  // namespace anello::source
