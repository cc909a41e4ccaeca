// SPDX-License-Identifier: Apache-2.0
#include "rich/source/source_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/clock.hpp"
#include "core/errors.hpp"
#include "core/keys.hpp"
#include "rich/geometry.hpp"
#include "rich/wire/mep.hpp"
#include "source/fault_keys.hpp"

namespace anello::rich {
namespace {

using B = RichEndpoints;
using C = RichSourceConfig;
using K = Key<C>;

constexpr std::array of_boards{
    Key<B>::of<&B::host>("host", not_empty, "Address of the node."),
    Key<B>::of<&B::ports>("ports", Limits{}.entries(1, 32),
                          "UDP port of the node for each board; 0: what the node has bound (anello run only)."),
    Key<B>::of<&B::first_board>("first_board", {0, n_boards - 1},
                                "Number of the first board; earlier ones belong to another node."),
    Key<B>::of<&B::n_boards>("n_boards", {1, n_boards}, "Number of boards; the others belong to another node."),
};

constexpr std::array keys{
    K::of<&C::rate_hz>("rate_hz", {1e-3, 1e8}, "Mean event rate inside a burst (Poisson), events/s."),
    K::of<&C::burst_ms>("burst_ms", {0.001, 100'000}, "Length of a burst, ms."),
    K::of<&C::gap_ms>("gap_ms", {0, 100'000}, "Pause between two bursts, ms."),
    K::of<&C::n_bursts>("n_bursts", "Number of bursts; 0: limited by run.duration_s."),
    K::of<&C::first_burst_id>("first_burst_id", "Number of the first burst."),
    K::of<&C::n_end_markers>("n_end_markers", {1, 1000},
                             "Number of markers that announce the end of a burst; one may be lost.")
        .for_experts(),
    K::of<&C::end_marker_spacing_ms>("end_marker_spacing_ms", {0, 1000}, "Time between these markers, ms.")
        .for_experts(),
    K::of<&C::dead_time_ticks>(
        "dead_time_ticks", {1, 4096},
        "Minimum distance of two events, ticks of 24.951 ns: they are distinguished by their tick.")
        .for_experts(),
    K::of<&C::time_jitter_fine>("time_jitter_fine", {0, 255},
                                "Maximum error of each board's reading of an event's time, 1/256 tick.")
        .for_experts(),
    K::of<&C::paced>("paced", "Send by the clock; false: as fast as possible, without gaps."),
    K::of<&C::max_behind_ms>("max_behind_ms", {0.001, 10'000},
                             "Farther behind its clock, the source skips time instead of sending a flood, ms.")
        .for_experts(),
    K::of<&C::format>("format", "Packets: Anello's own, mgp, or NA62's multi-event packet, mep."),
    K::of<&C::mtu_bytes>("mtu_bytes", {576, 65'535}, "Maximum length of an IP packet; 28 bytes of it are headers."),
    K::of<&C::max_events_per_packet>("max_events_per_packet", {0, 65'535},
                                     "Maximum number of events in a packet; 0: as many as fit."),
    K::of<&C::hit_times>("hit_times", "mgp: 16-bit hits with their time; false: hits packed at 9 bits."),
    K::of<&C::checksum>("checksum", "mgp: a CRC-32C in every packet."),
    K::of<&C::flush_us>("flush_us", {0, 1e6}, "A packet is sent at the latest this long after its first event, us."),
    K::of<&C::offload>("offload", "gso: several packets per system call, cut apart by the kernel or the card."),
    K::of<in<&C::thread, &ThreadConfig::core>>("core", {-1, 4095}, "Logical core of the sending thread; -1: any."),
    K::of<in<&C::thread, &ThreadConfig::wait>>("wait", "What the sending thread does until the next packet."),
    K::of<&C::truth_prescale_log2>("truth_prescale_log2", {0, 30},
                                   "The truth of one event in 2^this is recorded, for the report."),
    K::of<&C::max_truth_samples>("max_truth_samples", {0, 1 << 28}, "Room for recorded truths; 0: none.").for_experts(),
};

/// Throws ConfigError if a value is out of range; called only at set-up.
void check_range(const char* field, std::uint64_t given, std::uint64_t least, std::uint64_t greatest) {
    if (given >= least && given <= greatest) return;
    throw ConfigError(field, fmt::format("must be {} to {}", least, greatest), fmt::format("{}", given),
                      "Choose a value in this range");
}

void check_boards(const std::vector<source::BoardEndpoint>& boards) {
    check_range("source.ports, their number", boards.size(), 1, n_boards);
    std::uint32_t seen = 0;
    for (const source::BoardEndpoint& endpoint : boards) {
        check_range("source.first_board", endpoint.board, 0, n_boards - 1);
        if ((seen >> endpoint.board & 1) != 0)
            throw ConfigError("source.first_board", "each board at most once", std::to_string(endpoint.board),
                              "Number boards 0 to 3");
        seen |= 1U << endpoint.board;
    }
}

void check_times(const RichSourceConfig& config) {
    if (config.time_jitter_fine >= config.dead_time_ticks * 128)
        throw ConfigError(
            "source.time_jitter_fine",
            fmt::format("must be below {}: boards must not read the times of two events in the wrong order",
                        config.dead_time_ticks * 128),
            fmt::format("{}", config.time_jitter_fine), "Reduce it, or raise source.dead_time_ticks");
    const double dead_time_ns = config.dead_time_ticks * tick_ns;
    if (config.rate_hz * dead_time_ns >= 1e9)
        throw ConfigError("source.rate_hz",
                          fmt::format("must leave time between events of {} ticks dead time", config.dead_time_ticks),
                          fmt::format("{}", config.rate_hz),
                          fmt::format("Stay below {:.0f}, or reduce source.dead_time_ticks", 1e9 / dead_time_ns));
}

constexpr auto rich_faults =
    joined(source::fault_share_keys, std::array{
                                         Key<source::FaultsConfig>::of<&source::FaultsConfig::dead_board>(
                                             "dead_board", {-1, 31}, "Board that falls silent; -1: none."),
                                         Key<source::FaultsConfig>::of<&source::FaultsConfig::dead_from_burst>(
                                             "dead_from_burst", "First burst without the dead board."),
                                     });

}  // namespace

constinit const Keys<RichEndpoints> rich_endpoints_keys{
    "source", "The front ends: what they send, where to, and how fast.", of_boards};
constinit const Keys<RichSourceConfig> rich_source_keys{
    "source", "The front ends: what they send, where to, and how fast.", keys};

std::uint32_t RichSourceConfig::events_limit() const noexcept {
    const std::uint32_t limit_of_format = format == Format::mgp ? 0xffff : wire::mep::max_fragments;
    return max_events_per_packet == 0 ? limit_of_format : std::min(max_events_per_packet, limit_of_format);
}

std::uint64_t RichSourceConfig::likely_most_events() const noexcept {
    if (n_bursts == 0) return std::numeric_limits<std::uint64_t>::max();
    const double mean = n_bursts * burst_ms * 1e-3 * rate_hz;  // without dead time
    return static_cast<std::uint64_t>(std::min(mean + 6 * std::sqrt(mean) + 12, 1e18));
}

constinit const Keys<source::FaultsConfig> rich_faults_keys{
    "source.faults", "Faults that the front ends make on purpose, by run.seed. Shares are per data packet and board.",
    rich_faults};

std::vector<source::BoardEndpoint> RichEndpoints::endpoints() const {
    std::vector<source::BoardEndpoint> endpoints;
    for (const std::uint16_t port : ports)
        endpoints.push_back({static_cast<std::uint16_t>(first_board + endpoints.size()), host, port});
    return endpoints;
}

void RichSourceConfig::validate() const {
    rich_source_keys.check(*this);
    check_boards(boards);
    check_times(*this);
    faults.validate(rich_faults_keys, n_boards);
}

}  // namespace anello::rich
