// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/boards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/errors.hpp"

namespace anello::rich {
namespace {

void check_lanes(const pipeline::IntakeConfig& intake) {
    if (intake.n_lanes == 0 || intake.n_lanes > intake.backend.ports.size())
        throw ConfigError("receive.lanes", "must be 1 or more, and not above the number of ports",
                          std::to_string(intake.n_lanes), "Each lane receives from ports of its own.");
    using enum receive::BackendKind;
    if (intake.n_lanes > 1 && intake.backend.kind != socket && intake.backend.kind != io_uring)
        throw ConfigError("receive.lanes", "must be 1 unless receive.backend is socket or io_uring",
                          std::to_string(intake.n_lanes), "The other backends take all ports from one place.");
}

}  // namespace

RichBoards::RichBoards(const pipeline::IntakeConfig& intake, std::uint32_t first_board, const Clock& clock,
                       CounterPage& page)
    : intake_(intake), first_board_(first_board), seen_(intake.backend.ports.size()) {
    check_lanes(intake);
    for (std::uint32_t lane = 0; lane < intake.n_lanes; ++lane) make_lane(lane, clock, page);
}

void RichBoards::make_lane(std::uint32_t number, const Clock& clock, CounterPage& page) {
    const std::size_t n_boards = seen_.size();
    const auto first = static_cast<std::uint32_t>(number * n_boards / intake_.n_lanes),
               end = static_cast<std::uint32_t>((number + 1) * n_boards / intake_.n_lanes);
    std::vector<std::unique_ptr<receive::StreamReceiver>> receivers;
    for (std::uint32_t i = first; i < end; ++i) {
        const std::string block = fmt::format("receive.board{}", board(i));
        counters_.push_back(
            {page.add_block<receive::ReceiveCounter>(block), page.add_block<wire::Verdict>(block + ".verdict")});
        streams_.push_back(std::make_unique<receive::BlockStream>(intake_.shape, intake_.n_buffers, intake_.memory));
        receivers.push_back(std::make_unique<receive::StreamReceiver>(
            intake_.stream_config(i), static_cast<std::uint16_t>(i), intake_.unpackers.at(i)(), *streams_.back(),
            counters_.back(), clock));
    }
    receive::BackendConfig backend = intake_.backend;
    backend.ports.assign(intake_.backend.ports.begin() + first, intake_.backend.ports.begin() + end);
    Lane& lane = lanes_.emplace_back();
    lane.first_board = first;
    lane.receiver =
        std::make_unique<receive::Receiver>(receive::make_backend(backend, clock, &page), std::move(receivers), clock);
}

const RichBoards::Lane& RichBoards::lane_of(std::uint32_t i) const noexcept {
    return *std::find_if(lanes_.rbegin(), lanes_.rend(), [i](const Lane& lane) { return lane.first_board <= i; });
}

events::MergerConfig RichBoards::complete(events::MergerConfig config) const {
    config.n_boards = static_cast<std::uint32_t>(seen_.size());
    config.max_fragments_per_block = intake_.shape.max_fragments;
    config.blocks_per_board =
        std::clamp(intake_.n_buffers / 2, 2U, config.blocks_per_board);  // blocks beyond this may still be overwritten
    return config;
}

pipeline::Stage RichBoards::stage(const events::BoardJoin& join, Nanoseconds timeout_ns) {
    return {.name = "receive",
            .n_lanes = static_cast<std::uint32_t>(lanes_.size()),
            .do_work = [this](std::uint32_t lane) { return work(lanes_[lane]); },
            .rest_below = lanes_.front().receiver->gathers() ? pipeline::rest_below_datagrams : 1,
            .wake_descriptor = [this](std::uint32_t lane) { return lanes_[lane].receiver->backend().descriptor(); },
            .longest_wait_ns = [this](std::uint32_t lane) { return lanes_[lane].receiver->longest_wait_ns(); },
            .drain = [this] { draining_.store(true, std::memory_order_release); },  // pairs with work()
            .is_drained = [this] { return is_drained(); },
            .add_notices = [this, &join,
                            timeout_ns](pipeline::Notices& notices) { add_notices(join, timeout_ns, notices); },
            .add_states = [this, &join](pipeline::States& states) { add_states(join, states); },
            .add_buffers =
                [this](pipeline::BufferLevels& levels) {
                    for (const auto& stream : streams_) levels["receive"].add(stream->buffers());
                }};
}

// Hot path: no allocation, no lock, no log, no throw.
/// While draining, this reads the sockets until they are empty, and then passes on the open blocks.
std::size_t RichBoards::work(Lane& lane) noexcept {
    const std::size_t n_datagrams = pipeline::reading_work(lane.receiver->backend(), lane.receiver->do_work());
    if (n_datagrams > 0 || !draining_.load(std::memory_order_acquire)) return n_datagrams;
    if (lane.is_drained.load(std::memory_order_relaxed)) return 0;
    const bool has_more = lane.receiver->is_waiting() || lane.receiver->backend().has_more_coming();
    if (!has_more && lane.receiver->finish())
        lane.is_drained.store(true, std::memory_order_release);  // pairs with is_drained
    return 1;
}

bool RichBoards::is_drained() const noexcept {
    return std::ranges::all_of(lanes_, [](const Lane& lane) {
        return lane.is_drained.load(std::memory_order_acquire);  // pairs with work()
    });
}

bool RichBoards::finished() const noexcept {
    return std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.receiver->finished(); });
}

std::vector<std::uint16_t> RichBoards::ports() const {
    std::vector<std::uint16_t> ports(seen_.size());
    for (std::uint32_t i = 0; i < ports.size(); ++i)
        ports[i] = lane_of(i).receiver->backend().port(static_cast<std::uint16_t>(i - lane_of(i).first_board));
    return ports;
}

void RichBoards::for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) {
    for (std::uint32_t i = 0; i < seen_.size(); ++i)
        use(i, lane_of(i).receiver->close_sequence_log(i - lane_of(i).first_board));
}

void RichBoards::add_notices(const events::BoardJoin& join, Nanoseconds timeout_ns, pipeline::Notices& notices) {
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
        const events::BoardJoin::BoardStatus status = join.status(i);
        seen_[i].silence.look(board(i), status.state == events::BoardState::silent, status.silences, timeout_ns,
                              notices);
        const auto n_ahead = join.board_counters(i)[events::BoardCounter::fragments_ahead];
        if (seen_[i].ahead.is_due(n_ahead)) notices.push_back(pipeline::ahead_words(board(i), n_ahead));
        const auto n_same = join.board_counters(i)[events::BoardCounter::fragments_duplicate];
        if (seen_[i].same_time.is_due(n_same)) notices.push_back(pipeline::same_time_words(board(i), n_same));
        add_loss_notices(i, notices);
    }
    for (const Lane& lane : lanes_) trouble_.look(lane.receiver->backend().trouble(), notices);
}

void RichBoards::add_loss_notices(std::uint32_t i, pipeline::Notices& notices) {
    using receive::ReceiveCounter;
    const auto& counters = counters_[i].stream;
    const receive::Backend& backend = lane_of(i).receiver->backend();
    const auto n_refused = backend.refused(static_cast<std::uint16_t>(i - lane_of(i).first_board));
    const auto n_gone = counters[ReceiveCounter::kernel_dropped];
    if (const auto n = seen_[i].refused.added(n_refused); n > 0)
        notices.push_back(
            fmt::format("board {}: the card refused {} frames; the counters nanet.frames_... say why", board(i), n));
    // n_refused may be newer than n_gone, which includes it.
    seen_[i].n_by_kernel = std::max(seen_[i].n_by_kernel, n_gone - std::min(n_gone, n_refused));
    if (const auto n = seen_[i].kernel_dropped.added(seen_[i].n_by_kernel); n > 0)
        notices.push_back(
            fmt::format("board {}: the kernel dropped {} datagrams at the socket; raise "
                        "receive.socket_buffer_bytes or lower the rate",
                        board(i), n));
    if (const auto n = seen_[i].dropped_packets.added(counters[ReceiveCounter::dropped_packets]); n > 0)
        notices.push_back(fmt::format(
            "board {}: {} packets found no free buffer; the stages behind are slower than the data", board(i), n));
    if (const auto n = counters[ReceiveCounter::conflicting_packets]; seen_[i].conflicting.is_due(n))
        notices.push_back(fmt::format(
            "board {}: {} packets so far with the numbers of others that had come: not used; somebody else sends in "
            "its name, or it began anew",
            board(i), n));
    const receive::StreamReceiver& stream = lane_of(i).receiver->stream(i - lane_of(i).first_board);
    const auto n_mistaken = counters[ReceiveCounter::mistaken_strangers];  // read first: counted as strangers before
    seen_[i].speakers.look(board(i), counters[ReceiveCounter::strangers] - n_mistaken, stream.speakers(), notices);
}

void RichBoards::add_states(const events::BoardJoin& join, pipeline::States& states) const {
    for (std::uint32_t i = 0; i < seen_.size(); ++i)
        states[fmt::format("board{}", board(i))] = pipeline::name_of(join.status(i).state);
    const std::string words = lanes_.front().receiver->backend().describe();
    states["receive"] = lanes_.size() == 1 ? words : fmt::format("{} lanes, each by {}", lanes_.size(), words);
    if (!streams_.empty()) states["memory"] = pipeline::memory_words(streams_.front()->buffers());
}

}  // namespace anello::rich
