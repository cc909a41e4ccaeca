// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/seed.hpp"
#include "core/thread.hpp"
#include "rich/geometry.hpp"
#include "rich/source/source_format.hpp"
#include "source/fault_injector.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::rich {

/// The boards of these front ends, and their destinations.
struct RichEndpoints {
    std::string host = "127.0.0.1";
    std::vector<std::uint16_t> ports = std::vector<std::uint16_t>(rich::n_boards);
    std::uint16_t first_board = 0;
    std::uint32_t n_boards = rich::n_boards;
    std::vector<source::BoardEndpoint> endpoints() const;
};
extern const Keys<RichEndpoints> rich_endpoints_keys;

struct RichSourceConfig {
    std::vector<source::BoardEndpoint> boards = RichEndpoints{}.endpoints();
    std::uint64_t seed = default_seed;

    // rich_source_keys describes each of these.
    double rate_hz = 250'000;
    std::uint32_t dead_time_ticks = 4;
    std::uint32_t time_jitter_fine = 0;
    double burst_ms = 2000, gap_ms = 100;
    std::uint32_t n_bursts = 0;  ///< 0: it sends until stop()
    std::uint32_t first_burst_id = 0;
    std::uint32_t n_end_markers = 5;
    double end_marker_spacing_ms = 1;

    Format format = Format::mgp;
    bool hit_times = true;
    bool checksum = true;
    std::uint32_t mtu_bytes = 1500;
    std::uint32_t max_events_per_packet = 0;
    source::Offload offload = source::Offload::gso;  ///< used by the caller that makes the sink
    double flush_us = 100;                           ///< of detector time

    bool paced = true;
    double max_behind_ms = 10;
    source::FaultsConfig faults;
    std::uint32_t truth_prescale_log2 = 0;
    std::uint32_t max_truth_samples = 1 << 20;
    ThreadConfig thread{.name = "anello-source"};

    static constexpr std::uint32_t network_header_bytes = 28;  ///< IPv4 and UDP
    std::uint32_t packet_bytes() const noexcept { return mtu_bytes - network_header_bytes; }
    std::uint32_t events_limit() const noexcept;
    /// Number of events that all bursts do not exceed with a probability of 1 - 1e-9; unlimited for endless runs.
    std::uint64_t likely_most_events() const noexcept;
    void validate() const;  ///< Throws ConfigError.
};

extern const Keys<RichSourceConfig> rich_source_keys;

extern const Keys<source::FaultsConfig> rich_faults_keys;

}  // namespace anello::rich
