// SPDX-License-Identifier: Apache-2.0
#include "camera/source/source.hpp"

#include <algorithm>
#include <limits>

#include "core/errors.hpp"
#include "source/selection.hpp"

namespace anello::camera {
namespace {

constexpr std::uint64_t times_stream = 0xca71e5;

const CameraSourceConfig& checked(const CameraSourceConfig& config) {
    config.validate();
    return config;
}

}  // namespace

CameraSource::CameraSource(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink,
                           const Clock& clock, CounterPage& page)
    : config_(checked(config)),
      pool_(pool),
      clock_(clock),
      counters_(page.add_block<source::GeneratorCounter>("source")),
      sender_(config, pool, sink, page),
      times_(config.rate_hz, config.poisson, source::Random(config.seed, times_stream)),
      n_streams_(config.n_own_boards()),
      board_spacing_ns_(config.burst ? 0 : config.spread_us * 1e3 / config.n_own_boards()),
      truth_(config.max_truth_samples),
      thread_(told_in(page, config.thread), [this] { return do_work(); }) {}

void CameraSource::start() {
    thread_.start();
    started_ = true;
}

void CameraSource::stop() {
    request_stop();
    wait();
}

void CameraSource::wait() {
    if (!started_) return;
    finished_.wait(false, std::memory_order_acquire);  // pairs with the release in work_at_end
    thread_.stop();
}

std::size_t CameraSource::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    switch (state_) {
        case State::waiting:
            return wait_for_run(now_ns);
        case State::in_run:
            return work_in_run(now_ns);
        case State::ending:
            return work_at_end(now_ns);
        case State::finished:
            break;
    }
    return 0;
}

std::size_t CameraSource::wait_for_run(Nanoseconds now_ns) noexcept {
    const Nanoseconds wall_ns = clock_.wall_ns();
    const bool stopped = stop_requested_.load(std::memory_order_relaxed);
    if (!stopped && wall_ns < config_.start_at_ns) return 0;
    begin_run(now_ns, wall_ns);
    return n_streams_;
}

/// With a given time of start all processes count from it, however late each of them woke up.
void CameraSource::begin_run(Nanoseconds now_ns, Nanoseconds wall_ns) noexcept {
    const bool is_given = config_.start_at_ns > 0;
    run_start_ns_ =
        is_given && config_.paced ? now_ns - std::max<Nanoseconds>(wall_ns - config_.start_at_ns, 0) : now_ns;
    run_start_wall_ns_ = static_cast<std::uint64_t>(is_given ? config_.start_at_ns : wall_ns);
    counters_.add(source::GeneratorCounter::bursts);
    trigger_ = {.event_number = config_.first_event, .timestamp_ns = run_start_wall_ns_};
    sender_.set_wall_ns(wall_ns);
    sender_.send_markers(wire::camera::start_of_run, trigger_);
    count_sends();
    set_trigger();
    state_ = State::in_run;
}

/// Takes the next time for the trigger that comes now.
void CameraSource::set_trigger() noexcept {
    due_ns_ = times_.next_ns();
    trigger_.run_time_ns = due_ns_;
    trigger_.timestamp_ns = run_start_wall_ns_ + due_ns_;
    trigger_.has_shower = pool_.has_shower(trigger_.pool_index);
    trigger_.tag = pool_.trigger_tag(trigger_.pool_index);
    times_.advance();
}

std::size_t CameraSource::work_in_run(Nanoseconds now_ns) noexcept {
    sender_.set_wall_ns(clock_.wall_ns());
    const std::uint32_t n_datagrams = send_due(run_time_until(now_ns));
    sender_.flush();
    count_sends();
    if (is_over()) {
        next_step_ns_ = now_ns;
        state_ = State::ending;
    }
    return n_datagrams;
}

std::uint64_t CameraSource::run_time_until(Nanoseconds now_ns) noexcept {
    if (!config_.paced) return std::numeric_limits<std::uint64_t>::max();
    watch_lag(now_ns);
    return static_cast<std::uint64_t>(now_ns - run_start_ns_);
}

/// Far behind (the process was stopped, or the rate is more than the machine sends), catching up would be a flood.
/// The run's clock is put back instead: triggers keep their times, they only happen later.
void CameraSource::watch_lag(Nanoseconds now_ns) noexcept {
    const Nanoseconds behind_ns = now_ns - run_start_ns_ - static_cast<Nanoseconds>(due_of_next_board_ns());
    if (behind_ns <= 0) return;
    if (static_cast<std::uint64_t>(behind_ns) > counters_[source::GeneratorCounter::behind_ns_max])
        counters_.set(source::GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const Nanoseconds excess_ns = behind_ns - static_cast<Nanoseconds>(config_.max_behind_ms * 1e6);
    if (excess_ns <= 0) return;
    run_start_ns_ += excess_ns;
    counters_.add(source::GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
}

std::uint32_t CameraSource::send_due(std::uint64_t until_ns) noexcept {
    std::uint32_t n_datagrams = 0;
    while (n_datagrams < max_datagrams_per_step && !is_over()) {
        const std::uint32_t end = due_end(until_ns);
        if (end == next_stream_) break;
        sender_.add_fragments(trigger_, next_stream_, end);
        n_datagrams += end - next_stream_;
        next_stream_ = end;
        if (end == n_streams_) end_trigger();
    }
    return n_datagrams;
}

/// Boards do not overtake the next trigger.
std::uint64_t CameraSource::due_of_next_board_ns() const noexcept {
    return std::min(due_ns_ + static_cast<std::uint64_t>(board_spacing_ns_ * next_stream_), times_.next_ns());
}

/// Of the trigger being sent: the first board whose time has not come.
std::uint32_t CameraSource::due_end(std::uint64_t until_ns) const noexcept {
    if (until_ns < due_of_next_board_ns()) return next_stream_;
    if (board_spacing_ns_ == 0 || until_ns >= times_.next_ns()) return n_streams_;
    const double n_due = static_cast<double>(until_ns - due_ns_) / board_spacing_ns_ + 1;
    return n_due >= n_streams_ ? n_streams_ : std::max(next_stream_ + 1, static_cast<std::uint32_t>(n_due));
}

/// Between two triggers only.
bool CameraSource::is_over() const noexcept {
    if (next_stream_ != 0) return false;
    const bool all_sent = config_.n_events != 0 && trigger_.index == config_.n_events;
    return all_sent || stop_requested_.load(std::memory_order_relaxed);
}

void CameraSource::end_trigger() noexcept {
    note_truth();
    counters_.add(source::GeneratorCounter::events);
    next_stream_ = 0;
    ++trigger_.index;
    ++trigger_.event_number;
    if (++trigger_.pool_index == pool_.n_events()) trigger_.pool_index = 0;
    set_trigger();
}

void CameraSource::note_truth() noexcept {
    const std::uint64_t event_key = std::uint64_t{config_.run_id} << 32 | trigger_.event_number;
    if (!source::selected(event_key, config_.truth_prescale_log2)) return;
    const std::size_t n_truth = n_truth_.load(std::memory_order_relaxed);
    if (n_truth == truth_.size()) {
        counters_.add(source::GeneratorCounter::truth_not_kept);
        return;
    }
    truth_[n_truth] = {event_key, trigger_.pool_index};
    n_truth_.store(n_truth + 1, std::memory_order_release);  // pairs with the acquire in truth()
    counters_.add(source::GeneratorCounter::truth_samples);
}

std::size_t CameraSource::work_at_end(Nanoseconds now_ns) noexcept {
    if (config_.paced && now_ns < next_step_ns_) return 0;
    sender_.set_wall_ns(clock_.wall_ns());
    sender_.send_markers(wire::camera::end_of_run, trigger_);
    count_sends();
    next_step_ns_ = now_ns + static_cast<Nanoseconds>(config_.end_marker_spacing_ms * 1e6);
    if (++n_markers_sent_ == config_.n_end_markers) {
        state_ = State::finished;
        finished_.store(true, std::memory_order_release);  // pairs with the acquires in running() and wait()
        finished_.notify_all();
    }
    return n_streams_;
}

}  // namespace anello::camera
