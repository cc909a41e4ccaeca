// SPDX-License-Identifier: Apache-2.0
#include "rich/source/source.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "core/errors.hpp"
#include "source/selection.hpp"

namespace anello::rich {
namespace {

constexpr std::uint64_t jitter_stream = 0x717e5, times_stream = 0x71e5;

const RichSourceConfig& validated(const RichSourceConfig& config, const EventPool& pool) {
    config.validate();
    if (config.format != pool.format() || (config.format == Format::mgp && config.hit_times != pool.hit_times()))
        throw ConfigError("format", "must be that of the event pool", "another", "Make the pool with the same format");
    const std::size_t header_bytes = config.format == Format::mgp ? wire::mgp::header_bytes : wire::mep::header_bytes;
    if (header_bytes + pool.max_fragment_bytes() > config.packet_bytes())
        throw ConfigError("mtu_bytes", "must hold the largest event", std::to_string(config.mtu_bytes),
                          "Use at least " + std::to_string(header_bytes + pool.max_fragment_bytes() +
                                                           RichSourceConfig::network_header_bytes));
    return config;
}

std::uint64_t fine_of_ns(double time_ns) {
    return static_cast<std::uint64_t>(time_ns / fine_time_ns);
}

std::uint8_t packet_flags(const RichSourceConfig& config) {
    return static_cast<std::uint8_t>((config.hit_times ? wire::mgp::hits_with_time : 0) |
                                     (config.checksum ? wire::mgp::with_checksum : 0));
}

}  // namespace

RichSource::RichSource(const RichSourceConfig& config, const EventPool& pool, source::PacketSink& sink,
                       const Clock& clock, CounterPage& page)
    : config_(validated(config, pool)),
      pool_(pool),
      clock_(clock),
      counters_(page.add_block<source::GeneratorCounter>("source")),
      burst_fine_(fine_of_ns(config.burst_ms * 1e6)),
      slots_(max_closed + 6 * static_cast<std::uint32_t>(config.boards.size()), config.packet_bytes(),
             EventPool::slack_bytes),
      sender_(config.boards, config.format, config.faults, config.seed, slots_, sink, page),
      times_(config.rate_hz, config.dead_time_ticks, source::Random(config.seed, times_stream)),
      jitter_(config.seed, jitter_stream),
      truth_(config.max_truth_samples),
      thread_(told_in(page, thread_config()), [this] { return do_work(); }) {
    closed_.reserve(max_closed + 4 * config.boards.size());
    const BoardStream::Limits limits{
        config.events_limit(), std::max<std::uint64_t>(fine_of_ns(config.flush_us * 1e3), 1), packet_flags(config)};
    for (std::uint32_t stream = 0; stream < config.boards.size(); ++stream)
        boards_.emplace_back(stream, config.boards[stream].board, limits, pool_, slots_, closed_);
}

/// It sleeps until a packet is due. PERF NOTE: with naps of 20 us instead, the median from the event was 102 to 111 us,
/// not 90 to 94 (./dev bench demo, ten runs each).
ThreadConfig RichSource::thread_config() const {
    ThreadConfig thread = config_.thread;
    thread.can_be_woken = true;
    thread.longest_wait_ns = [this] { return longest_wait_ns(); };
    return thread;
}

void RichSource::start() {
    thread_.start();
    started_ = true;
}

void RichSource::stop() {
    request_stop();
    wait();
}

void RichSource::wait() {
    if (!started_) return;
    finished_.wait(false, std::memory_order_acquire);  // pairs with the release in do_work
    thread_.stop();
}

std::size_t RichSource::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    switch (state_) {
        case State::waiting:
            return wait_for_burst(now_ns);
        case State::in_burst:
            return work_in_burst(now_ns);
        case State::ending:
            return work_at_end(now_ns);
        case State::finished:
            break;
    }
    return 0;
}

Nanoseconds RichSource::longest_wait_ns() const noexcept {
    const Nanoseconds longest_ns = state_ == State::in_burst ? longest_turn_ns : longest_idle_ns;
    if (state_ == State::finished || !config_.paced) return longest_ns;
    return std::clamp(due_ns() - clock_.monotonic_ns(), Nanoseconds{0}, longest_ns);
}

Nanoseconds RichSource::due_ns() const noexcept {
    if (state_ != State::in_burst) return next_step_ns_;
    std::uint64_t due_fine = burst_fine_;
    for (const BoardStream& board : boards_) due_fine = std::min(due_fine, board.due_fine(times_.next_fine()));
    return burst_start_ns_ + static_cast<Nanoseconds>(static_cast<double>(due_fine) * fine_time_ns) + 1;
}

std::size_t RichSource::wait_for_burst(Nanoseconds now_ns) noexcept {
    const bool all_done = config_.n_bursts != 0 && n_bursts_begun_ == config_.n_bursts;
    if (all_done || stop_requested_.load(std::memory_order_relaxed)) {
        state_ = State::finished;
        finished_.store(true, std::memory_order_release);  // pairs with the acquires in running() and wait()
        finished_.notify_all();
        return 0;
    }
    if (begun_ && config_.paced && now_ns < next_step_ns_) return 0;
    begin_burst();
    return 1;
}

void RichSource::begin_burst() noexcept {
    begun_ = true;
    sender_.begin_burst(clock_.wall_ns());
    burst_start_ns_ = clock_.monotonic_ns();
    burst_id_ = config_.first_burst_id + n_bursts_begun_++;
    counters_.add(source::GeneratorCounter::bursts);
    times_.begin_burst();
    for (BoardStream& board : boards_) board.begin_burst(burst_id_);
    send_closed();
    state_ = State::in_burst;
}

std::uint64_t RichSource::detector_now_fine(Nanoseconds now_ns) noexcept {
    if (!config_.paced) return burst_fine_;
    watch_lag(now_ns);
    return static_cast<std::uint64_t>(static_cast<double>(now_ns - burst_start_ns_) / fine_time_ns);
}

/// Far behind (the process was stopped, or the rate is more than the machine sends), catching up would be a flood.
/// The burst's clock is put back instead: events keep their times, they only happen later.
void RichSource::watch_lag(Nanoseconds now_ns) noexcept {
    const auto due_ns =
        static_cast<Nanoseconds>(static_cast<double>(std::min(times_.next_fine(), burst_fine_)) * fine_time_ns);
    const Nanoseconds behind_ns = now_ns - burst_start_ns_ - due_ns;
    if (behind_ns <= 0) return;
    if (static_cast<std::uint64_t>(behind_ns) > counters_[source::GeneratorCounter::behind_ns_max])
        counters_.set(source::GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const Nanoseconds excess_ns = behind_ns - static_cast<Nanoseconds>(config_.max_behind_ms * 1e6);
    if (excess_ns <= 0) return;
    burst_start_ns_ += excess_ns;
    counters_.add(source::GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
}

std::size_t RichSource::work_in_burst(Nanoseconds now_ns) noexcept {
    if (stop_requested_.load(std::memory_order_relaxed)) {
        end_burst(std::min(times_.next_fine(), burst_fine_), now_ns);
        return 1;
    }
    const std::uint64_t until_fine = std::min(detector_now_fine(now_ns), burst_fine_);
    const std::uint32_t n_events = make_events(until_fine);
    const std::uint64_t made_until_fine = std::min(times_.next_fine(), until_fine);
    for (BoardStream& board : boards_) board.flush_older_than(made_until_fine);
    const std::size_t n_packets = closed_.size();
    send_closed();
    if (until_fine == burst_fine_ && times_.next_fine() >= burst_fine_) end_burst(burst_fine_, now_ns);
    return n_events + n_packets;
}

std::uint32_t RichSource::make_events(std::uint64_t until_fine) noexcept {
    std::uint32_t n_events = 0;
    for (; n_events < max_events_per_step && times_.next_fine() < until_fine; ++n_events) {
        make_event(times_.next_fine());
        times_.advance();
        if (closed_.size() >= max_closed - 2 * boards_.size()) send_closed();
    }
    counters_.add(source::GeneratorCounter::events, n_events);
    return n_events;
}

void RichSource::make_event(std::uint64_t time_fine) noexcept {
    if (config_.time_jitter_fine == 0) {
        for (BoardStream& board : boards_) board.add(pool_event_, time_fine);
    } else {
        // Of all boards of the detector, so that each has the same whichever front ends send it.
        std::array<std::uint64_t, n_boards> times_fine{};
        for (std::uint64_t& one : times_fine)
            one = time_fine - config_.time_jitter_fine + jitter_.below(2 * config_.time_jitter_fine + 1);
        for (std::size_t i = 0; i < boards_.size(); ++i)
            boards_[i].add(pool_event_, times_fine[config_.boards[i].board]);
    }
    note_truth(time_fine);
    if (++pool_event_ == pool_.n_events()) pool_event_ = 0;
}

void RichSource::note_truth(std::uint64_t time_fine) noexcept {
    const std::uint64_t event_key = std::uint64_t{burst_id_} << 32 | static_cast<std::uint32_t>(time_fine >> 8);
    if (!source::selected(event_key, config_.truth_prescale_log2)) return;
    const std::size_t n_truth = n_truth_.load(std::memory_order_relaxed);
    if (n_truth == truth_.size()) {
        counters_.add(source::GeneratorCounter::truth_not_kept);
        return;
    }
    truth_[n_truth] = {event_key, pool_event_};
    n_truth_.store(n_truth + 1, std::memory_order_release);  // pairs with the acquire in truth()
    counters_.add(source::GeneratorCounter::truth_samples);
}

void RichSource::end_burst(std::uint64_t end_fine, Nanoseconds now_ns) noexcept {
    for (BoardStream& board : boards_) board.close();
    send_closed();
    end_fine_ = end_fine;
    n_markers_sent_ = 0;
    next_step_ns_ = now_ns;
    state_ = State::ending;
}

std::size_t RichSource::work_at_end(Nanoseconds now_ns) noexcept {
    if (config_.paced && now_ns < next_step_ns_) return 0;
    for (BoardStream& board : boards_) board.queue_end_of_burst(end_fine_);
    send_closed();
    next_step_ns_ = now_ns + static_cast<Nanoseconds>(config_.end_marker_spacing_ms * 1e6);
    if (++n_markers_sent_ == config_.n_end_markers) {
        const auto period_ns = static_cast<Nanoseconds>((config_.burst_ms + config_.gap_ms) * 1e6);
        next_step_ns_ = std::max(next_step_ns_, burst_start_ns_ + period_ns);
        state_ = State::waiting;
    }
    return 1;
}

void RichSource::send_closed() noexcept {
    if (closed_.empty()) return;
    std::uint64_t n_sends = 0;
    sender_.send(closed_, clock_.wall_ns(), n_sends);
    counters_.add(source::GeneratorCounter::sends, n_sends);
    closed_.clear();
}

}  // namespace anello::rich
