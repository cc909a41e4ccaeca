// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/event.hpp"
#include "camera/events/window/gone_events.hpp"
#include "camera/events/window/output.hpp"
#include "camera/events/window/window.hpp"
#include "camera/wire/camera.hpp"
#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "memory/persistent_buffers.hpp"

namespace anello::camera {

/// The clocks of a builder, read before the present batch of datagrams.
struct BuildTimes {
    Nanoseconds now_ns = 0, wall_ns = 0;  ///< monotonic; wall clock
    Nanoseconds input_ns = 0;             ///< all input until then has been placed: the reference for time-outs
};

/// The run that a builder is in.
struct BuildRun {
    std::uint32_t id = 0;
    std::uint32_t turn = 0;  ///< number of steps back of the camera's event numbers
    bool has_begun = false, is_over = false;

    bool is_open() const noexcept { return has_begun && !is_over; }
};

/// The open events of a run, and how they leave: handed on in the order of their numbers, and after them the end of the
/// run. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class OpenEvents {
  public:
    struct Config {
        std::uint32_t window_events = 0, event_number_bits = 32;
        memory::BuffersConfig buffers;
    };

    OpenEvents(const Config& config, Counters<CameraBuildCounter> counters, GroupBoards& boards)
        : unused_bits_(32 - config.event_number_bits),
          counters_(counters),
          boards_(boards),
          output_(config.buffers),
          window_(config.window_events, output_.buffers()),
          gone_(std::size_t{4} * config.window_events) {}

    BuildRun& run() noexcept { return run_; }
    BuildTimes& times() noexcept { return times_; }
    CameraWindow& window() noexcept { return window_; }
    CameraOutput& output() noexcept { return output_; }
    GoneEvents& gone() noexcept { return gone_; }
    const BuildRun& run() const noexcept { return run_; }
    const BuildTimes& times() const noexcept { return times_; }
    const CameraWindow& window() const noexcept { return window_; }
    const CameraOutput& output() const noexcept { return output_; }

    bool is_of_run(std::uint32_t run_id) const noexcept { return run_.has_begun && run_id == run_.id; }
    /// Completes an event number of fewer than 32 bits: of the possible numbers, returns the one nearest to the window.
    std::uint32_t whole_number(std::uint32_t run_id, std::uint32_t number) const noexcept {
        if (unused_bits_ == 0 || !is_of_run(run_id)) return number;
        const std::uint32_t base = window_.base();
        return base +
               static_cast<std::uint32_t>(static_cast<std::int32_t>((number - base) << unused_bits_) >> unused_bits_);
    }
    wire::camera::Totals totals_of(const wire::camera::Header& header,
                                   std::span<const std::byte> marker) const noexcept;

    /// Hands on the oldest open events that wait for no more boards.
    void hand_on_ready() noexcept {
        while (window_.has_open() && window_.head_place().n_waited_for == 0) hand_on_head(EventEnd::timeout);
    }
    void hand_on_all(EventEnd end) noexcept;
    /// Hands on the oldest open event. `end`: the reason if the event is not complete.
    void hand_on_head(EventEnd end) noexcept;
    /// Hands on all open events and the end of the run. False if the consumer must take an event first.
    bool end_run(bool is_outvoted) noexcept;
    /// Publishes the time for the consumer, after the events that were handed on.
    void publish_time() noexcept;

  private:
    void count_out(EventEnd end) noexcept;

    BuildTimes times_;
    BuildRun run_;
    std::uint32_t unused_bits_;  ///< of event numbers
    Counters<CameraBuildCounter> counters_;
    GroupBoards& boards_;
    CameraOutput output_;
    CameraWindow window_;
    GoneEvents gone_;
};

}  // namespace anello::camera
