// SPDX-License-Identifier: Apache-2.0
#include "source/rich_source_config.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "detector/rich_geometry.hpp"
#include "source/config_check.hpp"
#include "wire/mep.hpp"

namespace anello::source {
namespace {

void check_boards(const std::vector<BoardEndpoint>& boards) {
    check_range("boards", static_cast<double>(boards.size()), 1, detector::rich::n_boards);
    std::uint32_t seen = 0;
    for (const BoardEndpoint& endpoint : boards) {
        check_range("boards.board", endpoint.board, 0, detector::rich::n_boards - 1);
        if ((seen >> endpoint.board & 1) != 0)
            throw ConfigError("boards", "each board at most once", std::to_string(endpoint.board),
                              "Number boards 0 to 3");
        seen |= 1U << endpoint.board;
    }
}

void check_times(const RichSourceConfig& config) {
    check_range("rate_hz", config.rate_hz, 1e-3, 1e8);
    check_range("burst_ms", config.burst_ms, 0.001, 100'000);
    check_range("gap_ms", config.gap_ms, 0, 1e6);
    check_range("flush_us", config.flush_us, 0, 1e6);
    check_range("max_behind_ms", config.max_behind_ms, 0.001, 1e6);
    check_range("n_end_markers", config.n_end_markers, 1, 100);
    check_range("end_marker_spacing_ms", config.end_marker_spacing_ms, 0, 1000);
    // The builder tells events apart by their tick.
    check_range("dead_time_ticks", config.dead_time_ticks, 1, 1'000'000);
    check_range("time_jitter_fine", config.time_jitter_fine, 0, config.dead_time_ticks * 128 - 1);
    const double dead_time_ns = config.dead_time_ticks * tick_ns;
    if (config.rate_hz * dead_time_ns >= 1e9)
        throw ConfigError("rate_hz",
                          fmt::format("must leave time between events of {} ticks dead time", config.dead_time_ticks),
                          fmt::format("{}", config.rate_hz),
                          fmt::format("Stay below {:.0f}, or reduce dead_time_ticks", 1e9 / dead_time_ns));
}

}  // namespace

std::uint32_t RichSourceConfig::events_limit() const noexcept {
    const std::uint32_t limit_of_format = format == Format::mgp ? 0xffff : wire::mep::max_fragments;
    return max_events_per_packet == 0 ? limit_of_format : std::min(max_events_per_packet, limit_of_format);
}

void RichSourceConfig::validate() const {
    check_boards(boards);
    check_times(*this);
    check_range("mtu_bytes", mtu_bytes, 576, 65535);
    check_range("truth_prescale_log2", truth_prescale_log2, 0, 63);
    faults.validate(detector::rich::n_boards);
}

}  // namespace anello::source
