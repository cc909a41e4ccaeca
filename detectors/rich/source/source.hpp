// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/thread.hpp"
#include "rich/source/board_stream.hpp"
#include "rich/source/event_pool.hpp"
#include "rich/source/event_times.hpp"
#include "rich/source/packet_sender.hpp"
#include "rich/source/source_config.hpp"
#include "source/truth_sample.hpp"

namespace anello::rich {

/// The front ends of the RICH: all boards of a configuration, sending a pool's events in turn with new times. A packet
/// leaves when the clock reaches the time at which its board would have sent it, never earlier. Which events, times and
/// packets are made follows from configuration and seed alone, not from when the thread runs.
class RichSource {
  public:
    /// Pool, sink, clock and page must outlive the source. Throws ConfigError.
    RichSource(const RichSourceConfig& config, const EventPool& pool, source::PacketSink& sink, const Clock& clock,
               CounterPage& page);
    RichSource(const RichSource&) = delete;
    RichSource& operator=(const RichSource&) = delete;

    void start();  ///< Throws ConfigError when the core to pin to does not exist.
    /// Ends the burst in order, end-of-burst markers included, then joins the thread. Nothing happens before start().
    void stop();
    void wait();  ///< Until the last burst has ended; needs n_bursts > 0 or request_stop().
    /// From any thread: the burst ends, and do_work() finishes.
    void request_stop() noexcept {
        stop_requested_.store(true, std::memory_order_relaxed);
        thread_.wake();
    }
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }

    /// One step of the source's thread; tests and simulated time call it themselves. Returns the events and packets
    /// handled. Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;
    /// Until a packet is due, but never long within a burst: packets that fill up before go at the next look.
    Nanoseconds longest_wait_ns() const noexcept;

    /// May be read while the source runs.
    std::span<const source::TruthSample> truth() const noexcept {
        return {truth_.data(), n_truth_.load(std::memory_order_acquire)};  // pairs with the release in note_truth
    }
    const Counters<source::GeneratorCounter>& counters() const noexcept { return counters_; }
    /// Of a board by its place in the configuration, once the source has stopped.
    const source::SentLog& sent_log(std::size_t stream) const noexcept { return sender_.log(stream); }
    const RichSourceConfig& config() const noexcept { return config_; }
    /// CPU time of the sending thread.
    std::int64_t cpu_time_ns() const noexcept { return thread_.cpu_time_ns(); }

  private:
    enum class State : std::uint8_t { waiting, in_burst, ending, finished };
    static constexpr std::uint32_t max_events_per_step = 512;
    static constexpr std::uint32_t max_closed = 128;
    static constexpr Nanoseconds longest_turn_ns = 100'000;

    ThreadConfig thread_config() const;
    std::size_t wait_for_burst(Nanoseconds now_ns) noexcept;
    std::size_t work_in_burst(Nanoseconds now_ns) noexcept;
    std::size_t work_at_end(Nanoseconds now_ns) noexcept;
    void begin_burst() noexcept;
    void end_burst(std::uint64_t end_fine, Nanoseconds now_ns) noexcept;
    std::uint64_t detector_now_fine(Nanoseconds now_ns) noexcept;
    Nanoseconds due_ns() const noexcept;
    void watch_lag(Nanoseconds now_ns) noexcept;
    std::uint32_t make_events(std::uint64_t until_fine) noexcept;
    void make_event(std::uint64_t time_fine) noexcept;
    void note_truth(std::uint64_t time_fine) noexcept;
    void send_closed() noexcept;

    RichSourceConfig config_;
    const EventPool& pool_;
    const Clock& clock_;
    Counters<source::GeneratorCounter> counters_;
    std::uint64_t burst_fine_;
    source::PacketSlots slots_;
    std::vector<source::ClosedPacket> closed_;
    PacketSender sender_;
    std::vector<BoardStream> boards_;
    EventTimes times_;
    source::Random jitter_;

    State state_ = State::waiting;
    bool started_ = false;  // by start(), whose caller also stops and waits
    bool begun_ = false;
    Nanoseconds burst_start_ns_ = 0, next_step_ns_ = 0;
    std::uint32_t n_bursts_begun_ = 0, burst_id_ = 0, n_markers_sent_ = 0;
    std::uint64_t end_fine_ = 0;
    std::uint32_t pool_event_ = 0;

    std::vector<source::TruthSample> truth_;
    std::atomic<std::size_t> n_truth_{0};
    std::atomic<bool> stop_requested_{false};
    std::atomic<bool> finished_{false};
    WorkerThread thread_;  // last: ends before what it works on
};

}  // namespace anello::rich
