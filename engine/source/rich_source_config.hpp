// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/thread.hpp"
#include "source/fault_injector.hpp"
#include "source/packet_sink.hpp"
#include "source/source_format.hpp"

namespace anello::source {

struct RichSourceConfig {
    std::vector<BoardEndpoint> boards{
        {0, "127.0.0.1", 0}, {1, "127.0.0.1", 0}, {2, "127.0.0.1", 0}, {3, "127.0.0.1", 0}};
    std::uint64_t seed = 1;

    double rate_hz = 250'000;            ///< mean event rate inside a burst
    std::uint32_t dead_time_ticks = 4;   ///< least distance of two events
    std::uint32_t time_jitter_fine = 0;  ///< each board reads an event's time wrong by at most this, 1/256 tick
    double burst_ms = 2000, gap_ms = 100;
    std::uint32_t n_bursts = 1;  ///< 0: until stop()
    std::uint32_t first_burst_id = 0;
    std::uint32_t n_end_markers = 5;   ///< an end-of-burst marker may be lost, so it is repeated,
    double end_marker_spacing_ms = 1;  ///< spread over some time

    Format format = Format::mgp;
    bool hit_times = true;  ///< mgp: 16-bit hits with their time; false: hits packed at 9 bits
    bool checksum = true;   ///< mgp: a CRC-32C in every packet
    std::uint32_t mtu_bytes = 1500;
    std::uint32_t max_events_per_packet = 0;  ///< 0: as many as fit
    double flush_us = 100;                    ///< of detector time from a packet's first event until it leaves

    bool paced = true;          ///< false: as fast as it goes, without gaps, whatever the clock says
    double max_behind_ms = 10;  ///< farther behind, the source skips time instead of sending a flood
    FaultsConfig faults;
    std::uint32_t truth_prescale_log2 = 0;                            ///< the truth of one event in 2^this is noted
    std::uint32_t max_truth_samples = 1 << 20;                        ///< room for it; 0: none
    ThreadConfig thread{"anello-source", -1, WaitPolicy::sleep, 64};  ///< sleeps until several events are due at once

    static constexpr std::uint32_t network_header_bytes = 28;  ///< IPv4 and UDP
    std::uint32_t packet_bytes() const noexcept { return mtu_bytes - network_header_bytes; }
    std::uint32_t events_limit() const noexcept;
    void validate() const;  ///< Throws ConfigError.
};

}  // namespace anello::source
