// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rich_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};
constexpr std::size_t rest_below_datagrams = 16;  ///< as in Node

exchange::RichFramerConfig framer_config(const NodeConfig& node, const exchange::RichFrames& frames,
                                         const exchange::ExchangeConfig& exchange) {
    exchange::RichFramerConfig config{.frames = frames,
                                      .boards = node.build,
                                      .source_id = exchange.farm.readout_of[exchange.self],
                                      .run_id = exchange.run_id};
    config.boards.n_boards = static_cast<std::uint32_t>(node.intake.backend.ports.size());
    config.boards.max_fragments_per_block = node.intake.shape.max_fragments;
    config.boards.blocks_per_board = std::clamp(node.intake.n_buffers / 2, 2U, node.build.blocks_per_board);
    return config;
}

}  // namespace

RichInput::RichInput(const NodeConfig& node, const exchange::RichFrames& frames,
                     const exchange::ExchangeConfig& exchange, exchange::MfpRing& ring, const Clock& clock,
                     CounterPage& page)
    : node_(node),
      ring_(ring),
      silences_(node.intake.backend.ports.size()),
      kernel_dropped_(node.intake.backend.ports.size()),
      strangers_(node.intake.backend.ports.size()),
      ahead_(node.intake.backend.ports.size()) {
    make_receiver(node_.intake, clock, page);
    framer_ =
        std::make_unique<exchange::RichFramer>(framer_config(node_, frames, exchange), intake_, ring, clock, page);
}

RichInput::~RichInput() {
    for (auto& thread : threads_) thread->stop();
}

void RichInput::make_receiver(const IntakeConfig& intake, const Clock& clock, CounterPage& page) {
    std::vector<std::unique_ptr<receive::StreamReceiver>> receivers;
    for (std::uint16_t i = 0; i < intake.backend.ports.size(); ++i) {
        const std::string block = fmt::format("receive.board{}", node_.build.first_board + i);
        stream_counters_.push_back(
            {page.add_block<receive::ReceiveCounter>(block), page.add_block<wire::Verdict>(block + ".verdict")});
        streams_.push_back(std::make_unique<receive::BlockStream>(intake.shape, intake.n_buffers, intake.memory));
        receivers.push_back(std::make_unique<receive::StreamReceiver>(
            intake.stream_config(i), i, receive::make_unpacker(intake.unpackers.at(i)), *streams_.back(),
            stream_counters_.back(), clock));
    }
    receiver_ =
        std::make_unique<receive::Receiver>(receive::make_backend(intake.backend, clock), std::move(receivers), clock);
}

void RichInput::start(std::function<void()> wake) {
    wake_ = std::move(wake);
    started_ = true;
    for (const ThreadPlan& plan : node_.threads) {
        const bool is_ours = std::any_of(plan.stages.begin(), plan.stages.end(),
                                         [](Stage stage) { return stage == Stage::receive || stage == Stage::build; });
        if (!is_ours) continue;
        threads_.push_back(std::make_unique<WorkerThread>(
            ThreadConfig{
                .name = "receive+frame", .core = plan.core, .wait = node_.wait, .rest_below = rest_below_datagrams},
            [this, &plan] {
                std::size_t n_done = 0;
                for (const Stage stage : plan.stages) n_done += work(stage);
                return n_done;
            }));
    }
    for (auto& thread : threads_) thread->start();
}

std::size_t RichInput::work(Stage stage) noexcept {
    if (stage == Stage::receive) return receive_work();
    if (stage != Stage::build) return 0;
    const std::size_t n_done = framer_->do_work() * rest_below_datagrams;
    if (const std::uint64_t passed = ring_.passed(); passed != passed_) {
        passed_ = passed;
        wake_();
    }
    return n_done;
}

/// While draining, sockets are read until they are empty; then the framer is told that nothing more will come.
std::size_t RichInput::receive_work() noexcept {
    const std::size_t n_datagrams = receiver_->do_work();
    if (n_datagrams > 0 || phase_.load(std::memory_order_acquire) != Phase::draining_receive) return n_datagrams;
    if (receiver_->is_waiting() || receiver_->backend().has_more_coming() || !receiver_->finish()) return 1;
    framer_->finish();
    phase_.store(Phase::draining_build, std::memory_order_release);  // pairs with the acquire in is_drained
    return 1;
}

bool RichInput::is_drained() const noexcept {
    return phase_.load(std::memory_order_acquire) == Phase::draining_build && framer_->is_drained();
}

void RichInput::stop() {
    if (!started_) return;
    started_ = false;
    framer_->abandon();
    phase_.store(Phase::draining_receive, std::memory_order_release);  // pairs with the acquire in receive_work
    const auto limit = std::chrono::steady_clock::now() + drain_limit;
    while (!is_drained() && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    drain_timed_out_ = !is_drained();
    for (auto& thread : threads_) thread->stop();
}

std::vector<std::uint16_t> RichInput::ports() const {
    std::vector<std::uint16_t> ports = node_.intake.backend.ports;
    for (std::uint16_t i = 0; i < ports.size(); ++i) ports[i] = receiver_->backend().port(i);
    return ports;
}

std::map<std::string, std::string> RichInput::states() const {
    constexpr const char* names[]{"live", "silent", "ended"};
    std::map<std::string, std::string> states{{"receive", receiver_->backend().describe()}};
    for (std::uint32_t i = 0; i < silences_.size(); ++i)
        states[fmt::format("board{}", node_.build.first_board + i)] =
            names[static_cast<std::size_t>(framer_->status(i).state)];
    return states;
}

std::vector<std::string> RichInput::notices() {
    std::vector<std::string> lines;
    for (std::uint32_t i = 0; i < silences_.size(); ++i) {
        const std::uint32_t board = node_.build.first_board + i;
        if (const auto silences = framer_->status(i).silences; silences != std::exchange(silences_[i], silences))
            lines.push_back(
                fmt::format("board {} is silent: nothing came for {} ms while others waited; frames go on "
                            "without it",
                            board, node_.build.timeout_ns / 1'000'000));
        const auto dropped = stream_counters_[i].stream[receive::ReceiveCounter::kernel_dropped];
        if (const auto before = std::exchange(kernel_dropped_[i], dropped); dropped != before)
            lines.push_back(
                fmt::format("board {}: the kernel dropped {} datagrams at the socket; raise "
                            "receive.socket_buffer_bytes or lower the rate",
                            board, dropped - before));
        const auto n_ahead = framer_->board_counters(i)[build::BoardCounter::fragments_ahead];
        if (ahead_[i].is_due(n_ahead)) lines.push_back(ahead_words(board, n_ahead));
        const receive::StreamReceiver& stream = receiver_->stream(i);
        if (const auto n = stream_counters_[i].stream[receive::ReceiveCounter::strangers]; strangers_[i].is_due(n))
            lines.push_back(receive::stranger_words(board, n, stream.stranger(), stream.source()));
    }
    if (std::exchange(drain_timed_out_, false))
        lines.push_back("draining took longer than 10 s: what was still on the way is not accounted for");
    return lines;
}

}  // namespace anello::pipeline
