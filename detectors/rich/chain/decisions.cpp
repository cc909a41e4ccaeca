// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "source/selection.hpp"

namespace anello::rich {
namespace {

// Nothing waits for the listener, and its socket has room for all packets of this time.
constexpr Nanoseconds listener_rest_ns = 500'000;
constexpr std::size_t listener_rest_below = 1024;

std::vector<HitPosition> hit_positions(FitFrame frame) {
    std::vector<HitPosition> positions;
    for (const auto& point : fit_positions(frame)) positions.push_back({point.x_mm, point.y_mm});
    return positions;
}

}  // namespace

RichDecisions::RichDecisions(const NodeConfig& config, const Clock& clock, CounterPage& page)
    : config_(config),
      clock_(clock),
      batches_({.n_buffers = config.n_batches,
                .buffer_bytes = events::batch_bytes(config.build.batch),
                .kind = config.intake.memory}),
      pool_(config.trigger, hit_positions(config.fit_frame), config.build.batch, batches_, config.n_trigger_threads,
            clock) {
    make_emitter(clock, page);
    if (config_.publish.is_on())
        publisher_ = std::make_unique<DecisionPublisher>(
            config_.publish, DecisionRecord(config_.build.batch.max_events, config_.trigger.quality), clock, page);
    make_writer(page);
    collector_ =
        std::make_unique<Collector>(pool_, batches_, emitter_.get(), publisher_.get(), writer_.get(),
                                    config_.store.prescale_log2, config_.trigger.deadline.deadline_ns, clock, page);
}

void RichDecisions::make_emitter(const Clock& clock, CounterPage& page) {
    if (!config_.emit_enabled) return;
    emit_sink_ = config_.make_emit_sink ? config_.make_emit_sink() : make_udp_sink(clock, page);
    emitter_ = std::make_unique<PrimitiveEmitter>(config_.emit, *emit_sink_, page);
}

std::unique_ptr<DatagramSink> RichDecisions::make_udp_sink(const Clock& clock, CounterPage& page) {
    if (config_.emit_to.port == 0) {
        listener_ =
            std::make_unique<PrimitiveListener>(ListenerConfig{.source_id = config_.emit.source_id}, page, "listener");
        config_.emit_to.host = "127.0.0.1";
        config_.emit_to.port = listener_->port();
    }
    return std::make_unique<UdpSink>(config_.emit_to, clock);
}

void RichDecisions::make_writer(CounterPage& page) {
    if (config_.store.decisions_file.empty()) return;
    writer_ = std::make_unique<DecisionWriter>(
        DecisionWriterConfig{.path = config_.store.decisions_file,
                             .prescale_log2 = config_.store.prescale_log2,
                             .select = source::selected,
                             .chunk_events = config_.store.chunk_events,
                             .waiting_events = std::max(config_.store.waiting_events, config_.build.batch.max_events),
                             .quality = config_.trigger.quality,
                             .rules = config_.store.rules},
        page);
}

std::vector<pipeline::Stage> RichDecisions::stages(std::function<bool()> is_drained) {
    std::vector<pipeline::Stage> stages{trigger_stage(), emit_stage()};
    if (publisher_ != nullptr) stages.push_back(publish_stage());
    stages.push_back(store_stage());
    stages.back().is_drained = [this, is_drained = std::move(is_drained)] { return is_drained() && has_stored(); };
    if (listener_ != nullptr)
        stages.push_back({.name = "listener",
                          .do_work = [this](std::uint32_t) { return listener_->do_work(); },
                          .rest_below = listener_rest_below,
                          .rest_ns = listener_rest_ns,
                          .wake_descriptor = [this](std::uint32_t) { return listener_->descriptor(); },
                          .longest_wait_ns = pipeline::no_timers,
                          .close =
                              [this] {
                                  while (listener_->do_work() > 0) {
                                  }
                              }});
    return stages;
}

pipeline::Stage RichDecisions::trigger_stage() {
    return {.name = "trigger",
            .n_lanes = pool_.n_workers(),
            .do_work = [this](std::uint32_t worker) { return pool_.do_work(worker); },
            .has_input = [this](std::uint32_t) { return pool_.has_todo(); },
            .longest_wait_ns = pipeline::no_timers,
            .add_notices = [this](pipeline::Notices& notices) { add_trigger_notices(notices); },
            .add_states = [this](pipeline::States& states) { states["trigger"] = trigger_words(); },
            .add_buffers = [this](pipeline::BufferLevels& levels) { levels["build"].add(batches_); }};
}

pipeline::Stage RichDecisions::emit_stage() {
    return {.name = "emit",
            .do_work = [this](std::uint32_t) { return collector_->emit_work(); },
            .has_input = [this](std::uint32_t worker) { return pool_.has_done(worker); },
            .longest_wait_ns = pipeline::no_timers,
            .close =
                [this] {
                    if (emitter_ != nullptr) emitter_->finish();
                },
            .add_latency = [this](pipeline::Latencies& latency) { add_latency(latency); },
            .add_latency_over_time =
                [this](pipeline::LatenciesOverTime& latency) {
                    latency["sent_to_decided"] = &collector_->latency().sent_to_decided();
                    latency["event_to_decided"] = &collector_->latency().event_to_decided();
                }};
}

pipeline::Stage RichDecisions::publish_stage() {
    return {
        .name = "publish",
        .do_work = [this](std::uint32_t) { return collector_->publish_work(); },
        .has_input = [this](std::uint32_t) { return collector_->has_to_publish(); },
        .longest_wait_ns = [this](std::uint32_t) { return collector_->publish_wait_ns(); },
        .give_up_subscribers = [this] { publisher_->publisher().give_up(); },
        .close = [this] { publisher_->publisher().close(); },
        .add_notices =
            [this](pipeline::Notices& notices) { pipeline::append(publisher_->publisher().notices(), notices); },
        .add_states =
            [this](pipeline::States& states) { states[config_.publish.block] = publisher_->publisher().describe(); }};
}

pipeline::Stage RichDecisions::store_stage() {
    return {.name = "store",
            .do_work = [this](std::uint32_t) { return store_work(); },
            .has_input = [this](std::uint32_t) { return writer_ != nullptr && writer_->is_filling(); },
            .longest_wait_ns = pipeline::no_timers,
            .close = [this] { close_store(); },
            .add_notices = [this](pipeline::Notices& notices) { add_store_notices(notices); },
            .add_states = [this](pipeline::States& states) { add_store_states(states); }};
}

std::size_t RichDecisions::store_work() noexcept {
    return writer_ == nullptr ? 0 : writer_->write(clock_.monotonic_ns());
}

void RichDecisions::close_store() {
    has_ended_ = true;
    if (writer_ != nullptr && !writer_->close()) store_error_ = writer_->last_error();
}

void RichDecisions::add_store_states(pipeline::States& states) {
    if (std::string refusal = writer_ != nullptr ? writer_->refusal() : ""; !refusal.empty())
        states["store"] = std::move(refusal);
}

void RichDecisions::add_store_notices(pipeline::Notices& notices) {
    if (std::string news = writer_ != nullptr ? writer_->take_news() : ""; !news.empty())
        notices.push_back({std::move(news), Severity::bad});
    if (!store_error_.empty())
        notices.push_back(
            {fmt::format("the file of decisions is not complete: {}", std::exchange(store_error_, {})), Severity::bad});
}

void RichDecisions::add_latency(pipeline::Latencies& latency) const {
    for (std::size_t leg = 0; leg < leg_names.size(); ++leg)
        latency[leg_names[leg]] = &collector_->latency().of(static_cast<Leg>(leg));
}

void RichDecisions::add_trigger_notices(pipeline::Notices& notices) {
    using enum TriggerCounter;
    constexpr std::pair<TriggerCounter, const char*> words[]{
        {plugin_failed_batches, "the plugin failed for {} batches{}: they have no rings"},
        {plugin_invalid_counts, "the plugin returned more than 8 rings for {} events{}: the first 8 are used"},
        {plugin_invalid_rings, "the plugin made {} rings{} that are none (NaN, infinite, absurd): left out"},
        {plugin_invalid_primitives,
         "the plugin chose {} primitive ids{} that are none (0 or 0x100 to 0xffff): the number of rings decides"},
        {cuda_failures, "the CUDA device failed on {} batches{}: this processor found their rings"}};
    add_deadline_notices(notices);
    static_assert(std::size(words) == n_trigger_faults);
    for (std::size_t i = 0; i < std::size(words); ++i)
        if (const auto n = collector_->counters()[words[i].first]; faults_[i].is_due(n, has_ended_))
            notices.push_back(fmt::format(fmt::runtime(words[i].second), n, has_ended_ ? "" : " so far"));
}

/// Reports how many events a late trigger decided with less than full effort.
void RichDecisions::add_deadline_notices(pipeline::Notices& notices) {
    using enum TriggerCounter;
    const auto& counters = collector_->counters();
    const std::uint64_t n_cheaper = counters[events_cheaper], n_passed = counters[events_passed];
    if (!degraded_.is_due(n_cheaper + n_passed, has_ended_)) return;
    notices.push_back(fmt::format(
        "the trigger was behind its deadline: {} events were decided by a cheaper finder and {} passed without a "
        "look{}, of {}; it returned to {} when it had caught up",
        n_cheaper, n_passed, has_ended_ ? "" : " so far", counters[events], name_of(config_.trigger.finder.algorithm)));
}

std::string RichDecisions::trigger_words() const {
    const Decider& decider = pool_.decider();
    const std::uint32_t n_threads = pool_.n_workers();
    if (config_.trigger.make_plugin)
        return fmt::format("plugin {}, {} thread(s)", config_.trigger.plugin_name, n_threads);
    const std::string_view algorithm = name_of(config_.trigger.finder.algorithm);
    if (!decider.device_name().empty())
        return fmt::format("{} on cuda ({}), {} thread(s)", algorithm, decider.device_name(), n_threads);
    const std::string& note = decider.backend_note();
    return fmt::format("{} on {}, {} thread(s){}{}", algorithm, name_of(decider.isa()), n_threads,
                       note.empty() ? "" : "; not on cuda: ", note);
}

}  // namespace anello::rich
