// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace anello::pipeline {

CameraWatch::CameraWatch(std::vector<build::CameraIntake*> intakes)
    : intakes_(std::move(intakes)), dropped_seen_(ports().size()) {}

std::vector<std::uint16_t> CameraWatch::ports() const {
    std::vector<std::uint16_t> ports;
    for (const build::CameraIntake* intake : intakes_)
        for (std::uint16_t stream = 0; stream < intake->backend().n_streams(); ++stream)
            ports.push_back(intake->backend().port(stream));
    return ports;
}

std::vector<std::string> CameraWatch::notices() {
    std::vector<std::string> lines;
    for (const build::CameraIntake* intake : intakes_) add_board_notices(intake->builder(), lines);
    add_port_notices(lines);
    return lines;
}

/// Whom the others wait for, or would have to.
void CameraWatch::add_board_notices(const build::CameraBuilder& builder, std::vector<std::string>& lines) {
    const build::CameraBuilderConfig& config = builder.config();
    for (std::uint32_t board = config.boards.first; config.boards.contains(board); ++board) {
        const build::CameraBoardStatus status = builder.status(board);
        const bool silent = status.state == build::BoardState::silent;
        BoardSeen& seen = board_seen_[board];
        if (silent != seen.silent)
            lines.push_back(
                silent ? fmt::format("board {} is silent: nothing came for {} ms while others waited; events "
                                     "go on without it",
                                     board, config.timeout_ns / 1'000'000)
                       : fmt::format("board {} was silent and sends again ({} times so far)", board, status.silences));
        if (status.is_slow != seen.slow && !silent)
            lines.push_back(status.is_slow
                                ? fmt::format("board {} is slow: more than half of the last events lack it", board)
                                : fmt::format("board {} is in time again", board));
        seen.silent = silent;
        seen.slow = status.is_slow;
        const auto n_strangers = builder.board_counters(board)[build::CameraBoardCounter::strangers];
        if (seen.strangers.is_due(n_strangers))
            lines.push_back(
                receive::stranger_words(board, n_strangers, builder.stranger(board), builder.source(board)));
        add_vote_notice(builder, board, lines);
    }
    add_copy_notice(builder, lines);
}

/// Told again when there are twice as many.
void CameraWatch::add_vote_notice(const build::CameraBuilder& builder, std::uint32_t board,
                                  std::vector<std::string>& lines) {
    const auto& counters = builder.board_counters(board);
    const std::uint64_t n_outvoted =
        counters[build::CameraBoardCounter::other_run] + counters[build::CameraBoardCounter::ahead];
    std::uint64_t& n_told = board_seen_[board].n_outvoted;
    if (n_outvoted == 0 || n_outvoted < 2 * n_told) return;
    n_told = n_outvoted;
    const build::CameraPosition claim = builder.status(board).claim;
    lines.push_back(
        fmt::format("board {} says that this is run {}, event {}, and most boards do not: {} of its fragments not used "
                    "so far; reset the board, and look whether another sends in its name",
                    board, claim.run_id, claim.event_number, n_outvoted));
}

void CameraWatch::add_copy_notice(const build::CameraBuilder& builder, std::vector<std::string>& lines) {
    const build::CameraBuilderConfig& config = builder.config();
    const build::CopyMode chosen = builder.copies().chosen();
    if (config.copy != build::CopyMode::automatic || chosen == build::CopyMode::automatic) return;
    const auto [seen, is_new] = copy_seen_.emplace(config.group, chosen);
    if (!is_new && seen->second == chosen) return;
    seen->second = chosen;
    lines.push_back(fmt::format("group {} copies fragments by {}", config.group, builder.copies().describe()));
}

void CameraWatch::add_port_notices(std::vector<std::string>& lines) {
    std::size_t port = 0;
    for (const build::CameraIntake* intake : intakes_)
        for (std::size_t stream = 0; stream < intake->backend().n_streams(); ++stream, ++port) {
            const std::uint64_t dropped = intake->port_counters(stream)[receive::PortCounter::kernel_dropped];
            if (dropped == dropped_seen_[port]) continue;
            lines.push_back(
                fmt::format("port {}: the kernel dropped {} datagrams; raise receive.socket_buffer_bytes, or lower the "
                            "rate (anello doctor may know more)",
                            port, dropped - dropped_seen_[port]));
            dropped_seen_[port] = dropped;
        }
}

std::map<std::string, std::string> CameraWatch::states() const {
    constexpr const char* names[]{"live", "silent", "ended"};
    std::map<std::string, std::string> states;
    for (const build::CameraIntake* intake : intakes_) {
        const build::BoardRange boards = intake->builder().config().boards;
        for (std::uint32_t board = boards.first; boards.contains(board); ++board) {
            const build::CameraBoardStatus status = intake->builder().status(board);
            states[fmt::format("board{}", board)] = status.is_outvoted ? "out of step"
                                                    : status.is_slow   ? "slow"
                                                                       : names[static_cast<std::size_t>(status.state)];
        }
        states[fmt::format("copy{}", intake->builder().config().group)] = intake->builder().copies().describe();
    }
    const build::CameraIntake& first = *intakes_.front();
    states["receive"] = first.backend().describe();
    const memory::PersistentBuffers& buffers = first.builder().buffers();
    states["memory"] = buffers.kind_note().empty()
                           ? memory::name_of(buffers.kind())
                           : fmt::format("{}: {}", memory::name_of(buffers.kind()), buffers.kind_note());
    return states;
}

}  // namespace anello::pipeline
