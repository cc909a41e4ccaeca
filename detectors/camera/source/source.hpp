// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/source/pool.hpp"
#include "camera/source/sender.hpp"
#include "camera/source/times.hpp"
#include "core/thread.hpp"
#include "source/truth_sample.hpp"

namespace anello::camera {

/// The front-end boards of a camera, or some of them: each trigger, every board sends one fragment of an event of the
/// pool. Triggers, their times and numbers, and what is sent follow from configuration and seed alone, not from when
/// the thread runs or which boards a process has; timestamps count from the wall time of the start.
class CameraSource {
  public:
    /// Pool (whose headers it writes), sink, clock and page must outlive the source. Throws ConfigError.
    CameraSource(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink, const Clock& clock,
                 CounterPage& page);
    CameraSource(const CameraSource&) = delete;
    CameraSource& operator=(const CameraSource&) = delete;

    void start();  ///< Throws ConfigError when the core to pin to does not exist.
    /// Ends the run in order, end-of-run markers included, then joins the thread. Nothing happens before start().
    void stop();
    void wait();  ///< Until the run has ended; needs n_events > 0 or request_stop().
    /// From any thread: the run ends after the event that is being sent, and do_work() finishes.
    void request_stop() noexcept { stop_requested_.store(true, std::memory_order_relaxed); }
    bool running() const noexcept { return !finished_.load(std::memory_order_acquire); }

    /// One step of the source's thread; tests and simulated time call it themselves. Returns the datagrams handled.
    /// Hot path: no allocation, no lock, no log, no throw.
    std::size_t do_work() noexcept;

    /// May be read while the source runs.
    std::span<const source::TruthSample> truth() const noexcept {
        return {truth_.data(), n_truth_.load(std::memory_order_acquire)};  // pairs with the release in note_truth
    }
    const Counters<source::GeneratorCounter>& counters() const noexcept { return counters_; }
    /// Of a board by its place among those of this process, once the source has stopped.
    const source::SentLog& sent_log(std::size_t stream) const noexcept { return sender_.log(stream); }
    const CameraSourceConfig& config() const noexcept { return config_; }
    /// CPU time of the sending thread.
    std::int64_t cpu_time_ns() const noexcept { return thread_.cpu_time_ns(); }

  private:
    enum class State : std::uint8_t { waiting, in_run, ending, finished };
    static constexpr std::uint32_t max_datagrams_per_step = 4 * source::PacketSink::max_batch;

    std::size_t wait_for_run(Nanoseconds now_ns) noexcept;
    std::size_t work_in_run(Nanoseconds now_ns) noexcept;
    std::size_t work_at_end(Nanoseconds now_ns) noexcept;
    void begin_run(Nanoseconds now_ns, Nanoseconds wall_ns) noexcept;
    std::uint64_t run_time_until(Nanoseconds now_ns) noexcept;
    void watch_lag(Nanoseconds now_ns) noexcept;
    std::uint32_t send_due(std::uint64_t until_ns) noexcept;
    std::uint32_t due_end(std::uint64_t until_ns) const noexcept;
    std::uint64_t due_of_next_board_ns() const noexcept;
    bool is_over() const noexcept;
    void set_trigger() noexcept;
    void end_trigger() noexcept;
    void note_truth() noexcept;
    void count_sends() noexcept { counters_.add(source::GeneratorCounter::sends, sender_.take_n_sends()); }

    CameraSourceConfig config_;
    CameraPool& pool_;
    const Clock& clock_;
    Counters<source::GeneratorCounter> counters_;
    CameraSender sender_;
    CameraTimes times_;
    std::uint32_t n_streams_;
    double board_spacing_ns_;

    State state_ = State::waiting;
    bool started_ = false;          // by start(), whose caller also stops and waits
    Nanoseconds run_start_ns_ = 0;  // monotonic; put back when the source forgoes time
    std::uint64_t run_start_wall_ns_ = 0;
    Nanoseconds next_step_ns_ = 0;
    std::uint32_t n_markers_sent_ = 0;
    CameraTrigger trigger_;          // the one being sent,
    std::uint64_t due_ns_ = 0;       // its time in the run,
    std::uint32_t next_stream_ = 0;  // and the first board that has not sent it

    std::vector<source::TruthSample> truth_;
    std::atomic<std::size_t> n_truth_{0};
    std::atomic<bool> stop_requested_{false};
    std::atomic<bool> finished_{false};
    WorkerThread thread_;  // last: ends before what it works on
};

}  // namespace anello::camera
