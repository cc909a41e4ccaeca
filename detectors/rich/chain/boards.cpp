// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/boards.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace anello::rich {

RichBoards::RichBoards(const pipeline::IntakeConfig& intake, std::uint32_t first_board, const Clock& clock,
                       CounterPage& page)
    : intake_(intake), first_board_(first_board), seen_(intake.backend.ports.size()) {
    std::vector<std::unique_ptr<receive::StreamReceiver>> receivers;
    for (std::uint16_t i = 0; i < seen_.size(); ++i) {
        const std::string block = fmt::format("receive.board{}", board(i));
        counters_.push_back(
            {page.add_block<receive::ReceiveCounter>(block), page.add_block<wire::Verdict>(block + ".verdict")});
        streams_.push_back(std::make_unique<receive::BlockStream>(intake.shape, intake.n_buffers, intake.memory));
        receivers.push_back(std::make_unique<receive::StreamReceiver>(intake.stream_config(i), i,
                                                                      receive::make_unpacker(intake.unpackers.at(i)),
                                                                      *streams_.back(), counters_.back(), clock));
    }
    receiver_ =
        std::make_unique<receive::Receiver>(receive::make_backend(intake.backend, clock), std::move(receivers), clock);
}

events::MergerConfig RichBoards::complete(events::MergerConfig config) const {
    config.n_boards = static_cast<std::uint32_t>(seen_.size());
    config.max_fragments_per_block = intake_.shape.max_fragments;
    config.blocks_per_board =
        std::clamp(intake_.n_buffers / 2, 2U, config.blocks_per_board);  // the rest may still be overwritten
    return config;
}

pipeline::Stage RichBoards::stage(const events::BoardJoin& join, Nanoseconds timeout_ns) {
    return {.name = "receive",
            .do_work = [this](std::uint32_t) { return work(); },
            .rest_below = receiver_->gathers() ? pipeline::rest_below_datagrams : 1,
            .wake_descriptor = [this](std::uint32_t) { return receiver_->backend().descriptor(); },
            .longest_wait_ns = [this](std::uint32_t) { return receiver_->longest_wait_ns(); },
            .drain = [this] { draining_.store(true, std::memory_order_release); },      // pairs with work()
            .is_drained = [this] { return drained_.load(std::memory_order_acquire); },  // pairs with work()
            .add_notices = [this, &join,
                            timeout_ns](pipeline::Notices& notices) { add_notices(join, timeout_ns, notices); },
            .add_states = [this, &join](pipeline::States& states) { add_states(join, states); }};
}

// Hot path: no allocation, no lock, no log, no throw.
/// While draining, sockets are read until they are empty; then the open blocks are handed on.
std::size_t RichBoards::work() noexcept {
    const std::size_t n_datagrams = receiver_->do_work();
    if (n_datagrams > 0 || !draining_.load(std::memory_order_acquire)) return n_datagrams;
    if (drained_.load(std::memory_order_relaxed)) return 0;
    const bool has_more = receiver_->is_waiting() || receiver_->backend().has_more_coming();
    if (!has_more && receiver_->finish()) drained_.store(true, std::memory_order_release);  // pairs with is_drained
    return 1;
}

std::vector<std::uint16_t> RichBoards::ports() const {
    std::vector<std::uint16_t> ports(seen_.size());
    for (std::uint16_t i = 0; i < ports.size(); ++i) ports[i] = receiver_->backend().port(i);
    return ports;
}

void RichBoards::for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use) {
    for (std::uint32_t i = 0; i < seen_.size(); ++i) use(i, receiver_->close_sequence_log(i));
}

void RichBoards::add_notices(const events::BoardJoin& join, Nanoseconds timeout_ns, pipeline::Notices& notices) {
    for (std::uint32_t i = 0; i < seen_.size(); ++i) {
        const events::BoardJoin::BoardStatus status = join.status(i);
        seen_[i].silence.look(board(i), status.state == events::BoardState::silent, status.silences, timeout_ns,
                              notices);
        const auto n_ahead = join.board_counters(i)[events::BoardCounter::fragments_ahead];
        if (seen_[i].ahead.is_due(n_ahead)) notices.push_back(pipeline::ahead_words(board(i), n_ahead));
        add_loss_notices(i, notices);
    }
}

void RichBoards::add_loss_notices(std::uint32_t i, pipeline::Notices& notices) {
    using receive::ReceiveCounter;
    const auto& counters = counters_[i].stream;
    if (const auto n = seen_[i].kernel_dropped.added(counters[ReceiveCounter::kernel_dropped]); n > 0)
        notices.push_back(
            fmt::format("board {}: the kernel dropped {} datagrams at the socket; raise "
                        "receive.socket_buffer_bytes or lower the rate",
                        board(i), n));
    if (const auto n = seen_[i].dropped_packets.added(counters[ReceiveCounter::dropped_packets]); n > 0)
        notices.push_back(fmt::format(
            "board {}: {} packets found no free buffer; the stages behind are slower than the data", board(i), n));
    const receive::StreamReceiver& stream = receiver_->stream(i);
    if (const auto n = counters[ReceiveCounter::strangers]; seen_[i].strangers.is_due(n))
        notices.push_back(receive::stranger_words(board(i), n, stream.stranger(), stream.source()));
}

void RichBoards::add_states(const events::BoardJoin& join, pipeline::States& states) const {
    for (std::uint32_t i = 0; i < seen_.size(); ++i)
        states[fmt::format("board{}", board(i))] = pipeline::name_of(join.status(i).state);
    states["receive"] = receiver_->backend().describe();
    if (!streams_.empty()) states["memory"] = pipeline::memory_words(streams_.front()->buffers());
}

}  // namespace anello::rich
