// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace anello::camera {

CameraWatch::CameraWatch(std::vector<CameraIntake*> intakes)
    : intakes_(std::move(intakes)), port_seen_(ports().size()) {}

std::vector<std::uint16_t> CameraWatch::ports() const {
    std::vector<std::uint16_t> ports;
    for (const CameraIntake* intake : intakes_)
        for (std::uint16_t stream = 0; stream < intake->backend().n_streams(); ++stream)
            ports.push_back(intake->backend().port(stream));
    return ports;
}

pipeline::Notices CameraWatch::notices() {
    pipeline::Notices lines;
    for (const CameraIntake* intake : intakes_) {
        add_board_notices(intake->builder(), lines);
        trouble_.look(intake->backend().trouble(), lines);
    }
    add_port_notices(lines);
    return lines;
}

/// Reports silent and slow boards, and other senders in a board's name.
void CameraWatch::add_board_notices(const CameraBuilder& builder, pipeline::Notices& lines) {
    const CameraBuilderConfig& config = builder.config();
    for (std::uint32_t board = config.boards.first; config.boards.contains(board); ++board) {
        const CameraBoardStatus status = builder.status(board);
        const bool silent = status.state == events::BoardState::silent;
        BoardSeen& seen = board_seen_[board];
        seen.silence.look(board, silent, status.silences, config.timeout_ns, lines);
        if (status.is_slow && !seen.slow && !silent)
            lines.push_back(fmt::format("board {} is slow: more than half of the last events lack it", board));
        if (!status.is_slow && seen.slow && !silent)
            lines.push_back({fmt::format("board {} is in time again", board), Severity::info});
        seen.slow = status.is_slow;
        const auto& counters = builder.board_counters(board);
        const auto n_mistaken = counters[CameraBoardCounter::mistaken_strangers];  // read before strangers
        seen.speakers.look(board, counters[CameraBoardCounter::strangers] - n_mistaken, builder.speakers(board), lines);
        if (const auto n = builder.board_counters(board)[CameraBoardCounter::conflicting]; seen.conflicting.is_due(n))
            lines.push_back(fmt::format(
                "board {}: {} fragments so far of event numbers that it had sent before, of another time or content: "
                "not used; it began anew in the same run, or its clock or counter stands still: begin a new run",
                board, n));
        if (const auto n = seen.dropped.added(builder.board_counters(board)[CameraBoardCounter::dropped]); n > 0)
            lines.push_back(fmt::format(
                "board {}: {} fragments found no free buffer; the stages behind are slower than the data", board, n));
        add_vote_notice(builder, board, lines);
    }
    add_late_notice(builder, lines);
    add_copy_notice(builder, lines);
}

void CameraWatch::add_late_notice(const CameraBuilder& builder, pipeline::Notices& lines) {
    const auto n = builder.counters()[CameraBuildCounter::fragments_late];
    if (!late_seen_[builder.config().group].is_due(n)) return;
    lines.push_back(
        fmt::format("group {}: {} fragments so far of events that have gone: not used; boards are late "
                    "(camera_build.timeout_ms), or their event numbers went back, as those of a short counter do "
                    "(camera_build.event_number_bits)",
                    builder.config().group, n));
}

/// Repeats the notice when the number has doubled.
void CameraWatch::add_vote_notice(const CameraBuilder& builder, std::uint32_t board, pipeline::Notices& lines) {
    const auto& counters = builder.board_counters(board);
    const std::uint64_t n_outvoted = counters[CameraBoardCounter::other_run] + counters[CameraBoardCounter::ahead];
    std::uint64_t& n_told = board_seen_[board].n_outvoted;
    if (n_outvoted == 0 || n_outvoted < 2 * n_told) return;
    n_told = n_outvoted;
    const CameraPosition claim = builder.status(board).claim;
    lines.push_back(
        fmt::format("board {} says that this is run {}, event {}, and most boards do not: {} of its fragments not used "
                    "so far; reset the board, and look whether another sends in its name",
                    board, claim.run_id, claim.event_number, n_outvoted));
}

void CameraWatch::add_copy_notice(const CameraBuilder& builder, pipeline::Notices& lines) {
    const CameraBuilderConfig& config = builder.config();
    const CopyMode chosen = builder.choice().chosen_copy();
    if (config.copy != CopyMode::automatic || chosen == CopyMode::automatic) return;
    const auto [seen, is_new] = copy_seen_.emplace(config.group, chosen);
    if (!is_new && seen->second == chosen) return;
    seen->second = chosen;
    lines.push_back(
        {fmt::format("group {} copies fragments by {}", config.group, builder.choice().describe()), Severity::info});
}

void CameraWatch::add_port_notices(pipeline::Notices& lines) {
    std::size_t port = 0;
    for (const CameraIntake* intake : intakes_)
        for (std::size_t stream = 0; stream < intake->backend().n_streams(); ++stream, ++port) {
            const auto& counters = intake->port_counters(stream);
            if (const auto n = port_seen_[port].kernel_dropped.added(counters[receive::PortCounter::kernel_dropped]);
                n > 0)
                lines.push_back(
                    fmt::format("port {}: the kernel dropped {} datagrams; raise receive.socket_buffer_bytes, or "
                                "lower the rate (anello doctor may know more)",
                                port, n));
            if (const auto n = port_seen_[port].blocks_dropped.added(counters[receive::PortCounter::blocks_dropped]);
                n > 0)
                lines.push_back(fmt::format(
                    "port {}: {} datagrams found no free block; the stages behind are slower than the data", port, n));
        }
}

pipeline::States CameraWatch::states() const {
    pipeline::States states;
    for (const CameraIntake* intake : intakes_) {
        const BoardRange boards = intake->builder().config().boards;
        for (std::uint32_t board = boards.first; boards.contains(board); ++board) {
            const CameraBoardStatus status = intake->builder().status(board);
            states[fmt::format("board{}", board)] = status.is_outvoted ? "out of step"
                                                    : status.is_slow   ? "slow"
                                                                       : pipeline::name_of(status.state);
        }
        states[fmt::format("copy{}", intake->builder().config().group)] = intake->builder().choice().describe();
    }
    const CameraIntake& first = *intakes_.front();
    states["receive"] = first.backend().describe();
    states["memory"] = pipeline::memory_words(first.builder().output().memory());
    return states;
}

}  // namespace anello::camera
