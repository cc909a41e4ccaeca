// SPDX-License-Identifier: Apache-2.0
#include "pipeline/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/errors.hpp"
#include "source/selection.hpp"

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};
constexpr std::chrono::seconds subscribers_limit{3};  // then draining goes on without them
/// The receiving thread rests after fewer datagrams than this: PERF NOTE: taken one by one, each would cost two system
/// calls (chain_bench).
constexpr std::size_t rest_below_datagrams = 16;

std::vector<trigger::HitPosition> hit_positions(detector::rich::FitFrame frame) {
    std::vector<trigger::HitPosition> positions;
    for (const auto& point : detector::rich::fit_positions(frame)) positions.push_back({point.x_mm, point.y_mm});
    return positions;
}

std::string trigger_words(const trigger::DeciderConfig& config, const trigger::Decider& decider,
                          std::uint32_t n_threads) {
    if (config.make_plugin) return fmt::format("plugin {}, {} thread(s)", config.plugin_name, n_threads);
    const std::string_view algorithm = trigger::name_of(config.finder.algorithm);
    if (!decider.device_name().empty())
        return fmt::format("{} on cuda ({}), {} thread(s)", algorithm, decider.device_name(), n_threads);
    const std::string& note = decider.backend_note();
    return fmt::format("{} on {}, {} thread(s){}{}", algorithm, trigger::name_of(decider.isa()), n_threads,
                       note.empty() ? "" : "; not on cuda: ", note);
}

build::MergerConfig complete(build::MergerConfig build, const IntakeConfig& intake) {
    build.n_boards = static_cast<std::uint32_t>(intake.backend.ports.size());
    build.max_fragments_per_block = intake.shape.max_fragments;
    build.blocks_per_board =
        std::clamp(intake.n_buffers / 2, 2U, build.blocks_per_board);  // the rest may still be overwritten
    return build;
}

}  // namespace

Node::Node(const NodeConfig& config, const Clock& clock)
    : config_(config),
      clock_(clock),
      page_(config.counter_page),
      batches_({.n_buffers = config.n_batches,
                .buffer_bytes = build::batch_bytes(config.build.batch),
                .kind = config.intake.memory}),
      seen_(config.intake.backend.ports.size()) {
    config_.build = complete(config.build, config.intake);
    make_intake();
    pool_ = std::make_unique<TriggerPool>(config_.trigger, hit_positions(config_.fit_frame), config_.build.batch,
                                          batches_, config_.n_trigger_threads, clock_);
    merger_ = std::make_unique<build::Merger>(config_.build, intake_, batches_, *pool_, clock_, page_);
    make_emitter();
    make_publisher();
    make_writer();
    collector_ = std::make_unique<Collector>(*pool_, batches_, emitter_.get(), publisher_.get(), writer_.get(),
                                             config_.store.prescale_log2, clock_, page_);
}

Node::~Node() {
    stop();
}

void Node::make_intake() {
    const IntakeConfig& intake = config_.intake;
    std::vector<std::unique_ptr<receive::StreamReceiver>> receivers;
    for (std::uint16_t board = 0; board < intake.backend.ports.size(); ++board) {
        const std::string block = fmt::format("receive.board{}", board);
        stream_counters_.push_back(
            {page_.add_block<receive::ReceiveCounter>(block), page_.add_block<wire::Verdict>(block + ".verdict")});
        streams_.push_back(std::make_unique<receive::BlockStream>(intake.shape, intake.n_buffers, intake.memory));
        receivers.push_back(std::make_unique<receive::StreamReceiver>(
            intake.stream_config(board), board, receive::make_unpacker(intake.unpackers.at(board)), *streams_.back(),
            stream_counters_.back(), clock_));
    }
    receiver_ = std::make_unique<receive::Receiver>(receive::make_backend(intake.backend, clock_), std::move(receivers),
                                                    clock_);
}

void Node::make_emitter() {
    if (!config_.emit_enabled) return;
    if (config_.emit_to.port == 0) {
        listener_ = std::make_unique<emit::PrimitiveListener>(emit::ListenerConfig{.source_id = config_.emit.source_id},
                                                              page_, "listener");
        config_.emit_to.host = "127.0.0.1";
        config_.emit_to.port = listener_->port();
    }
    emit_sink_ = std::make_unique<emit::UdpSink>(config_.emit_to, clock_);
    emitter_ = std::make_unique<emit::PrimitiveEmitter>(config_.emit, *emit_sink_, page_);
}

void Node::make_publisher() {
    if (!config_.publish.is_on()) return;
    publisher_ = std::make_unique<DecisionPublisher>(
        config_.publish, publish::DecisionRecord(config_.build.batch.max_events), clock_, page_);
}

void Node::make_writer() {
    if (config_.store.decisions_file.empty()) return;
    writer_ = std::make_unique<store::DecisionWriter>(
        store::DecisionWriterConfig{.path = config_.store.decisions_file,
                                    .prescale_log2 = config_.store.prescale_log2,
                                    .select = source::selected},
        page_);
}

void Node::add_thread(const std::string& name, int core, WaitPolicy wait, std::function<std::size_t()> do_work) {
    threads_.push_back(std::make_unique<WorkerThread>(
        ThreadConfig{.name = name, .core = core, .wait = wait, .rest_below = rest_below_datagrams},
        std::move(do_work)));
}

void Node::start() {
    if (started_) return;
    started_ = true;
    for (const ThreadPlan& plan : config_.threads)
        add_thread(plan.name, plan.core, config_.wait, [this, &plan] {
            std::size_t n_done = 0;
            for (const Stage stage : plan.stages)
                n_done += work(stage) * (stage == Stage::receive ? 1 : rest_below_datagrams);
            return n_done;
        });
    for (std::uint32_t worker = 1; worker < pool_->n_workers(); ++worker)
        add_thread(fmt::format("trigger.{}", worker), -1, config_.wait,
                   [this, worker] { return pool_->do_work(worker) * rest_below_datagrams; });
    if (listener_ != nullptr) add_thread("listener", -1, WaitPolicy::sleep, [this] { return listener_->do_work(); });
    for (auto& thread : threads_) thread->start();
}

std::size_t Node::work(Stage stage) noexcept {
    switch (stage) {
        case Stage::receive:
            return receive_work();
        case Stage::build:
            return merger_->do_work();
        case Stage::trigger:
            return pool_->do_work(0);
        case Stage::emit:
            return collector_->emit_work();
        case Stage::store:
            return collector_->store_work();
        case Stage::send:
        case Stage::count:
            break;
    }
    return 0;
}

/// While draining, sockets are read until they are empty; then the open blocks are handed on and the merger is told
/// that nothing more will come.
std::size_t Node::receive_work() noexcept {
    const std::size_t n_datagrams = receiver_->do_work();
    if (n_datagrams > 0 || phase_.load(std::memory_order_acquire) != Phase::draining_receive) return n_datagrams;
    if (receiver_->is_waiting() || receiver_->backend().has_more_coming() || !receiver_->finish()) return 1;
    merger_->finish();
    phase_.store(Phase::draining_build, std::memory_order_release);  // pairs with the acquire in is_drained
    return 1;
}

bool Node::is_drained() const noexcept {
    return phase_.load(std::memory_order_acquire) == Phase::draining_build && merger_->is_drained() &&
           collector_->n_batches_given_back() == merger_->counters()[build::BuildCounter::batches_out];
}

void Node::stop() {
    if (!started_) return;
    started_ = false;
    phase_.store(Phase::draining_receive, std::memory_order_release);  // pairs with the acquire in receive_work
    const auto begin = std::chrono::steady_clock::now();
    while (!is_drained() && std::chrono::steady_clock::now() < begin + drain_limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (publisher_ != nullptr && std::chrono::steady_clock::now() > begin + subscribers_limit)
            publisher_->publisher().give_up();
    }
    drain_timed_out_ = !is_drained();
    for (auto& thread : threads_) thread->stop();
    if (emitter_ != nullptr) emitter_->finish();
    while (listener_ != nullptr && listener_->do_work() > 0) {
    }
    if (publisher_ != nullptr) publisher_->publisher().close();
    if (writer_ != nullptr && !writer_->close()) store_error_ = writer_->last_error();
}

bool Node::finished() const noexcept {
    if (config_.n_bursts > 0 && collector_->n_bursts_ended() >= config_.n_bursts) return true;
    return receiver_->finished();
}

std::vector<std::uint16_t> Node::ports() const {
    std::vector<std::uint16_t> ports = config_.intake.backend.ports;
    for (std::uint16_t board = 0; board < ports.size(); ++board) ports[board] = receiver_->backend().port(board);
    return ports;
}

std::vector<std::string> Node::notices() {
    using receive::ReceiveCounter;
    std::vector<std::string> lines;
    for (std::uint32_t board = 0; board < seen_.size(); ++board) {
        Seen& seen = seen_[board];
        const build::Merger::BoardStatus status = merger_->status(board);
        const bool silent = status.state == build::BoardState::silent;
        if (silent != seen.silent || status.silences != seen.silences)
            lines.push_back(
                silent ? fmt::format(
                             "board {} is silent: nothing came for {} ms while others waited; events go on without it",
                             board, config_.build.timeout_ns / 1'000'000)
                       : fmt::format("board {} was silent and sends again ({} times so far)", board, status.silences));
        seen.silent = silent;
        seen.silences = status.silences;
        const auto& counters = stream_counters_[board].stream;
        if (const auto dropped = counters[ReceiveCounter::kernel_dropped]; dropped != seen.kernel_dropped) {
            lines.push_back(
                fmt::format("board {}: the kernel dropped {} datagrams at the socket; raise "
                            "receive.socket_buffer_bytes or lower the rate",
                            board, dropped - seen.kernel_dropped));
            seen.kernel_dropped = dropped;
        }
        if (const auto n = merger_->board_counters(board)[build::BoardCounter::fragments_ahead]; seen.ahead.is_due(n))
            lines.push_back(ahead_words(board, n));
        if (const auto n = counters[ReceiveCounter::strangers]; seen.strangers.is_due(n)) {
            const receive::StreamReceiver& stream = receiver_->stream(board);
            lines.push_back(receive::stranger_words(board, n, stream.stranger(), stream.source()));
        }
        if (const auto dropped = counters[ReceiveCounter::dropped_packets]; dropped != seen.dropped_packets) {
            lines.push_back(
                fmt::format("board {}: {} packets found no free buffer; the trigger is slower than the data", board,
                            dropped - seen.dropped_packets));
            seen.dropped_packets = dropped;
        }
    }
    add_trigger_notices(lines);
    if (publisher_ != nullptr)
        for (std::string& line : publisher_->publisher().notices()) lines.push_back(std::move(line));
    if (drain_timed_out_)
        lines.push_back("draining took longer than 10 s: what was still on the way is not accounted for");
    return lines;
}

/// Each fault is told once; how often it came in the end is in the counters.
void Node::add_trigger_notices(std::vector<std::string>& lines) {
    using enum TriggerCounter;
    constexpr std::pair<TriggerCounter, const char*> faults[]{
        {plugin_failed_batches, "the plugin failed for {} batches so far: they have no rings"},
        {plugin_invalid_counts, "the plugin told more than 8 rings for {} events so far: the first 8 are used"},
        {plugin_invalid_rings, "the plugin made {} rings so far that are none (NaN, infinite, absurd): left out"},
        {plugin_invalid_primitives,
         "the plugin chose {} primitive ids so far that are none (0 or 0x100 to 0xffff): the number of rings decides"},
        {cuda_failures, "the CUDA device failed on {} batches so far: this processor found their rings"}};
    static_assert(std::size(faults) == std::tuple_size_v<decltype(trigger_faults_told_)>);
    for (std::size_t i = 0; i < std::size(faults); ++i) {
        const auto n = collector_->counters()[faults[i].first];
        if (n == 0 || trigger_faults_told_[i]) continue;
        lines.push_back(fmt::format(fmt::runtime(faults[i].second), n));
        trigger_faults_told_[i] = true;
    }
}

std::map<std::string, std::string> Node::states() const {
    constexpr const char* names[]{"live", "silent", "ended"};
    std::map<std::string, std::string> states;
    for (std::uint32_t board = 0; board < seen_.size(); ++board)
        states[fmt::format("board{}", board)] = names[static_cast<std::size_t>(merger_->status(board).state)];
    states["receive"] = receiver_->backend().describe();
    auto& buffers = streams_.front()->buffers();
    states["memory"] = buffers.kind_note().empty()
                           ? memory::name_of(buffers.kind())
                           : fmt::format("{}: {}", memory::name_of(buffers.kind()), buffers.kind_note());
    states["trigger"] = trigger_words(config_.trigger, pool_->decider(), pool_->n_workers());
    if (publisher_ != nullptr) states["publish"] = publisher_->publisher().describe();
    return states;
}

}  // namespace anello::pipeline
