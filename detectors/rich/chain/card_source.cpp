// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/card_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "pipeline/intake.hpp"
#include "rich/geometry.hpp"

namespace anello::rich {
namespace {

using receive::NanetCounter;
using receive::NanetMergeCounter;

constexpr const char* let_software = "Or let the software merge: receive.nanet_merge = false.";

void require_to_merge(bool holds, const char* field, const char* rule, const std::string& given,
                      const std::string& remedy) {
    if (!holds) throw ConfigError(field, std::string(rule) + " with receive.nanet_merge", given, remedy + let_software);
}

/// Refuses settings that the card's merger does not support; NanetMerger refuses numbers out of its range.
void check_merging(const NodeConfig& config) {
    const pipeline::IntakeConfig& intake = config.intake;
    require_to_merge(intake.backend.kind == receive::BackendKind::nanet, "receive.backend", "must be nanet",
                     name_of(intake.backend.kind), "Only the card's model merges. ");
    require_to_merge(intake.n_lanes == 1, "receive.lanes", "must be 1", std::to_string(intake.n_lanes),
                     "One card takes all ports. ");
    require_to_merge(intake.stream.full_policy != receive::FullPolicy::overwrite_oldest, "receive.policy",
                     "must be wait or drop_new", name_of(intake.stream.full_policy),
                     "The card's stores keep packets or drop new ones. ");
    require_to_merge(config.mgp_source_ids.size() == intake.backend.ports.size(), "source.format", "must be mgp", "mep",
                     "The card reads no other. ");
    const bool names_sources =
        std::ranges::any_of(intake.sources, [](const receive::SourceAddress& source) { return source.has_host(); });
    require_to_merge(!names_sources, "receive.sources", "must name none", "addresses",
                     "The card knows a board by its port and its number in the packets. ");
}

receive::NanetMergeConfig merge_config(const NodeConfig& config) {
    check_merging(config);
    receive::NanetMergeConfig merge;
    merge.library = receive::nanet_library(config.intake.backend);
    merge.gathering_cycles = config.intake.backend.nanet_gathering_cycles;
    merge.source_ids = config.mgp_source_ids;
    merge.n_channels = wire::rich::n_pmts_per_board;
    merge.window_ticks = config.build.window_ticks;
    merge.timeout_ns = config.build.timeout_ns;
    merge.timeout_cycles = config.intake.backend.nanet_timeout_cycles;
    merge.keep_incomplete = config.build.keep_incomplete;
    merge.drop_when_full = config.intake.stream.full_policy == receive::FullPolicy::drop_new;
    return merge;
}

events::MergerConfig complete(events::MergerConfig config, std::size_t n_boards) {
    config.n_boards = static_cast<std::uint32_t>(n_boards);
    return config;
}

}  // namespace

CardSource::CardSource(const NodeConfig& config, memory::PersistentBuffers& batches, events::BatchSink& sink,
                       const Clock& clock, CounterPage& page)
    : config_(complete(config.build, config.intake.backend.ports.size())),
      card_(merge_config(config), receive::make_nanet_frames(config.intake.backend, clock), page),
      events_(config_, wire::rich::n_pmts_per_board, card_, batches, sink, clock, page),
      seen_(config_.n_boards) {}

std::vector<pipeline::Stage> CardSource::stages() {
    return {{.name = "receive",
             .do_work = [this](std::uint32_t) { return events_.do_work(); },
             .wake_descriptor = [this](std::uint32_t) { return card_.frames().descriptor(); },
             .longest_wait_ns = [this](std::uint32_t) { return events_.longest_wait_ns(); },
             .drain = [this] { events_.finish(); },
             .is_drained = [this] { return events_.is_drained(); },
             .add_notices = [this](pipeline::Notices& notices) { add_notices(notices); },
             .add_states = [this](pipeline::States& states) { add_states(states); }}};
}

std::vector<std::uint16_t> CardSource::ports() const {
    std::vector<std::uint16_t> ports;
    for (std::uint16_t i = 0; i < n_boards(); ++i) ports.push_back(card_.frames().port(i));
    return ports;
}

events::BoardState CardSource::state(std::uint32_t board) const noexcept {
    return static_cast<events::BoardState>(events_.board_counters(board)[events::BoardCounter::state]);
}

void CardSource::add_notices(pipeline::Notices& notices) {
    for (std::uint32_t i = 0; i < n_boards(); ++i) {
        const auto& counters = events_.board_counters(i);
        const std::uint32_t board = config_.first_board + i;
        seen_[i].silence.look(board, state(i) == events::BoardState::silent, counters[events::BoardCounter::silences],
                              config_.timeout_ns, notices);
        const auto n_ahead = counters[events::BoardCounter::fragments_ahead];
        if (seen_[i].ahead.is_due(n_ahead)) notices.push_back(pipeline::ahead_words(board, n_ahead));
    }
    add_loss_notices(notices);
    trouble_.look(card_.trouble(), notices);
}

void CardSource::add_loss_notices(pipeline::Notices& notices) {
    if (const auto n = socket_dropped_.added(card_.card_counters()[NanetCounter::socket_dropped]); n > 0)
        notices.push_back(
            fmt::format("the kernel dropped {} datagrams in front of the card, which is simulated: lower "
                        "the rate, or raise receive.socket_buffer_bytes",
                        n));
    if (const auto n = dropped_packets_.added(card_.counters()[NanetMergeCounter::packets_dropped]); n > 0)
        notices.push_back(
            fmt::format("the card dropped {} packets: the stores of its merger were full, as receive.policy = "
                        "\"drop_new\" wants it",
                        n));
}

void CardSource::add_states(pipeline::States& states) const {
    for (std::uint32_t i = 0; i < n_boards(); ++i)
        states[fmt::format("board{}", config_.first_board + i)] = pipeline::name_of(state(i));
    states["receive"] = card_.describe();
}

}  // namespace anello::rich
