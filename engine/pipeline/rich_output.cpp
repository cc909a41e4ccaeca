// SPDX-License-Identifier: Apache-2.0
#include "pipeline/rich_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "source/selection.hpp"

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};

std::vector<trigger::HitPosition> hit_positions(detector::rich::FitFrame frame) {
    std::vector<trigger::HitPosition> positions;
    for (const auto& point : detector::rich::fit_positions(frame)) positions.push_back({point.x_mm, point.y_mm});
    return positions;
}

NodeConfig of_all_boards(NodeConfig node, std::uint32_t n_boards) {
    node.build.n_boards = n_boards;
    node.build.first_board = 0;
    node.emit.max_gap_frames = 1;  // frames without events may be another builder's
    return node;
}

}  // namespace

RichOutput::RichOutput(const NodeConfig& node, const exchange::RichFrames& frames, std::uint32_t n_boards,
                       const exchange::ExchangeConfig& exchange, const Clock& clock, CounterPage& page)
    : node_(of_all_boards(node, n_boards)),
      batches_({.n_buffers = node.n_batches,
                .buffer_bytes = build::batch_bytes(node.build.batch),
                .kind = node.intake.memory}),
      pool_(node.trigger, hit_positions(node.fit_frame), node.build.batch, batches_, node.n_trigger_threads, clock),
      merger_({.frames = frames, .build = node_.build, .max_mfp_bytes = exchange.max_mfp_bytes}, batches_, pool_, clock,
              page) {
    make_emitter(page, clock);
    make_writer(page);
    collector_ = std::make_unique<Collector>(pool_, batches_, emitter_.get(), nullptr, writer_.get(),
                                             node_.store.prescale_log2, clock, page);
}

RichOutput::~RichOutput() {
    for (auto& thread : threads_) thread->stop();
}

void RichOutput::make_emitter(CounterPage& page, const Clock& clock) {
    if (!node_.emit_enabled) return;
    if (node_.emit_to.port == 0) {
        listener_ = std::make_unique<emit::PrimitiveListener>(emit::ListenerConfig{.source_id = node_.emit.source_id},
                                                              page, "listener");
        node_.emit_to.host = "127.0.0.1";
        node_.emit_to.port = listener_->port();
    }
    emit_sink_ = std::make_unique<emit::UdpSink>(node_.emit_to, clock);
    emitter_ = std::make_unique<emit::PrimitiveEmitter>(node_.emit, *emit_sink_, page);
}

void RichOutput::make_writer(CounterPage& page) {
    if (node_.store.decisions_file.empty()) return;
    writer_ = std::make_unique<store::DecisionWriter>(
        store::DecisionWriterConfig{
            .path = node_.store.decisions_file, .prescale_log2 = node_.store.prescale_log2, .select = source::selected},
        page);
}

void RichOutput::add_thread(const std::string& name, int core, std::function<std::size_t()> do_work) {
    threads_.push_back(std::make_unique<WorkerThread>(ThreadConfig{.name = name, .core = core, .wait = node_.wait},
                                                      std::move(do_work)));
}

void RichOutput::start() {
    for (const ThreadPlan& plan : node_.threads) {
        if (plan.stages.back() < Stage::trigger) continue;
        add_thread(plan.name, plan.core, [this, &plan] {
            std::size_t n_done = 0;
            for (const Stage stage : plan.stages) n_done += work(stage);
            return n_done;
        });
    }
    for (std::uint32_t worker = 1; worker < pool_.n_workers(); ++worker)
        add_thread(fmt::format("trigger.{}", worker), -1, [this, worker] { return pool_.do_work(worker); });
    if (listener_ != nullptr) add_thread("listener", -1, [this] { return listener_->do_work(); });
    for (auto& thread : threads_) thread->start();
}

std::size_t RichOutput::work(Stage stage) noexcept {
    if (stage == Stage::trigger) return pool_.do_work(0);
    if (stage == Stage::emit) return collector_->emit_work();
    return stage == Stage::store ? collector_->store_work() : 0;
}

bool RichOutput::try_take(const exchange::MepView& mep) noexcept {
    if (holds_slot_ || !merger_.try_complete()) return false;
    merger_.begin(mep);
    slot_ = mep.slot;
    holds_slot_ = true;
    merger_.try_complete();
    return true;
}

/// Hits are copied when a packet is merged: its slot is free before it is decided.
bool RichOutput::try_give_back(std::uint32_t& slot) noexcept {
    if (!holds_slot_ || !merger_.try_complete()) return false;
    slot = slot_;
    holds_slot_ = false;
    return true;
}

bool RichOutput::is_drained() const noexcept {
    return collector_->n_batches_given_back() == merger_.counters()[build::BuildCounter::batches_out];
}

void RichOutput::close() noexcept {
    if (std::exchange(is_closed_, true)) return;
    const auto limit = std::chrono::steady_clock::now() + drain_limit;
    while (!threads_.empty() && !(merger_.try_complete() && is_drained()) && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!is_drained())
        lines_.push_back("deciding took longer than 10 s: what was still on the way is not accounted for");
    for (auto& thread : threads_) thread->stop();
    if (emitter_ != nullptr) emitter_->finish();
    while (listener_ != nullptr && listener_->do_work() > 0) {
    }
    if (writer_ != nullptr && !writer_->close())
        lines_.push_back(fmt::format("the file of decisions is not complete: {}", writer_->last_error()));
}

std::vector<std::string> RichOutput::notices() {
    return std::exchange(lines_, {});
}

std::map<std::string, const LatencyHistogram*> RichOutput::latency() const {
    std::map<std::string, const LatencyHistogram*> legs;
    for (std::size_t leg = 0; leg < leg_names.size(); ++leg)
        legs[leg_names[leg]] = &collector_->latency().of(static_cast<Leg>(leg));
    return legs;
}

std::map<std::string, std::string> RichOutput::states() const {
    return {{"trigger", fmt::format("{} on {}, {} thread(s)", trigger::name_of(node_.trigger.finder.algorithm),
                                    trigger::name_of(pool_.decider().isa()), pool_.n_workers())}};
}

}  // namespace anello::pipeline
