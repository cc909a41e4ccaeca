// SPDX-License-Identifier: Apache-2.0
#include "camera/source/source.hpp"

#include <algorithm>
#include <limits>

#include "camera/source/fragments.hpp"
#include "camera/source/times.hpp"

namespace anello::camera {
namespace {

constexpr std::uint64_t times_stream = 0xca71e5;

const CameraSourceConfig& checked(const CameraSourceConfig& config) {
    config.validate();
    return config;
}

/// Sends a fragment of each board for each trigger, and the markers at the run's start and end.
class TriggerPlan final : public source::PacketPlan {
  public:
    TriggerPlan(const CameraSourceConfig& config, CameraPool& pool, const Clock& clock, CounterPage& page)
        : PacketPlan(page, {config.truth_prescale_log2, config.max_truth_samples}),
          config_(config),
          pool_(pool),
          clock_(clock),
          fragments_(config, pool),
          times_(config.rate_hz, config.poisson, source::Random(config.seed, times_stream)),
          n_streams_(config.n_own_boards()),
          board_spacing_ns_(config.burst ? 0 : config.spread_us * 1e3 / config.n_own_boards()) {}

    // Hot path: no allocation, no lock, no log, no throw.
    Next next(Nanoseconds until_ns, Packet& packet) noexcept override {
        const Nanoseconds now_ns = config_.paced ? until_ns : 0;
        if (state_ == State::starting && stream_ == n_streams_) begin_triggers();
        if (state_ == State::in_run && stream_ == n_streams_) end_trigger();
        if (state_ == State::in_run && is_over()) begin_markers(State::ending, now_ns);
        if (state_ == State::in_run) return next_fragment(until_ns, packet);
        if (state_ == State::waiting && !try_begin(now_ns, packet)) return Next::later;
        return next_marker(now_ns, packet);
    }
    std::span<const std::byte> write(const Packet& packet, Nanoseconds, std::span<std::byte> room) noexcept override {
        if (!packet.is_marker()) return fragments_.seal(trigger_, packet.stream);
        const auto flag = state_ == State::starting ? wire::camera::start_of_run : wire::camera::end_of_run;
        return fragments_.write_marker(flag, trigger_, packet.stream, room);
    }
    void left() noexcept override { n_triggers_ = 0; }
    void stop() noexcept override { is_stopped_ = true; }

  private:
    enum class State : std::uint8_t { waiting, starting, in_run, ending };

    /// If a time of start is given, all processes count from it, even if one of them woke up late.
    bool try_begin(Nanoseconds now_ns, Packet& packet) noexcept {
        const Nanoseconds wall_ns = clock_.wall_ns();
        const Nanoseconds late_ns = config_.start_at_ns > 0 ? wall_ns - config_.start_at_ns : 0;
        if (late_ns < 0 && !is_stopped_) {
            packet = {.due_ns = now_ns - late_ns, .n_fragments = 0};
            return false;
        }
        run_start_ns_ = now_ns - std::max<Nanoseconds>(late_ns, 0);
        run_start_wall_ns_ = static_cast<std::uint64_t>(config_.start_at_ns > 0 ? config_.start_at_ns : wall_ns);
        counters_.add(source::GeneratorCounter::bursts);
        trigger_ = {.event_number = config_.first_event, .timestamp_ns = run_start_wall_ns_};
        begin_markers(State::starting, now_ns);
        return true;
    }

    void begin_markers(State state, Nanoseconds now_ns) noexcept {
        state_ = state;
        stream_ = 0;
        markers_due_ns_ = now_ns;
        n_rounds_left_ = state == State::starting ? 1 : config_.n_end_markers;
    }
    /// Sends markers in rounds of one per board; each round leaves separately.
    Next next_marker(Nanoseconds now_ns, Packet& packet) noexcept {
        const bool is_new_round = stream_ == n_streams_;
        if (is_new_round) {
            if (--n_rounds_left_ == 0) return Next::none;
            stream_ = 0;
            markers_due_ns_ += static_cast<Nanoseconds>(config_.end_marker_spacing_ms * 1e6);
        }
        packet = {
            .due_ns = markers_due_ns_, .stream = stream_, .step = trigger_.index, .n_numbers = 0, .n_fragments = 0};
        if (is_new_round || (config_.paced && now_ns < markers_due_ns_)) return Next::later;
        ++stream_;
        return Next::packet;
    }

    void begin_triggers() noexcept {
        state_ = State::in_run;
        stream_ = 0;
        set_trigger();
    }
    /// Begins the next trigger, at the next time.
    void set_trigger() noexcept {
        due_ns_ = times_.next_ns();
        trigger_.run_time_ns = due_ns_;
        trigger_.timestamp_ns = run_start_wall_ns_ + due_ns_;
        trigger_.has_shower = pool_.has_shower(trigger_.pool_index);
        trigger_.tag = pool_.trigger_tag(trigger_.pool_index);
        times_.advance();
    }
    void end_trigger() noexcept {
        stream_ = 0;
        ++trigger_.index;
        ++trigger_.event_number;
        if (++trigger_.pool_index == pool_.n_events()) trigger_.pool_index = 0;
        set_trigger();
    }
    /// True only between two triggers.
    bool is_over() const noexcept {
        return stream_ == 0 && (is_stopped_ || (config_.n_events != 0 && trigger_.index == config_.n_events));
    }

    /// A place in the pool's memory must not be written again before its fragment has left.
    Next next_fragment(Nanoseconds until_ns, Packet& packet) noexcept {
        packet = {.due_ns = run_start_ns_ + static_cast<Nanoseconds>(due_of_next_board_ns()),
                  .stream = stream_,
                  .step = trigger_.index,
                  .first_number = trigger_.index};
        if (until_ns < packet.due_ns) return Next::later;
        if (stream_ == 0 || n_triggers_ == 0) {
            if (n_triggers_ == pool_.n_events()) return Next::later;
            ++n_triggers_;
        }
        if (++stream_ < n_streams_) return Next::packet;
        truth_.note(std::uint64_t{config_.run_id} << 32 | trigger_.event_number, trigger_.pool_index);
        counters_.add(source::GeneratorCounter::events);
        return Next::packet;
    }
    /// Limits the spread, so that no board sends after the next trigger.
    std::uint64_t due_of_next_board_ns() const noexcept {
        if (board_spacing_ns_ == 0) return due_ns_;
        return std::min(due_ns_ + static_cast<std::uint64_t>(board_spacing_ns_ * stream_), times_.next_ns());
    }

    const CameraSourceConfig config_;
    CameraPool& pool_;
    const Clock& clock_;
    CameraFragments fragments_;
    CameraTimes times_;
    const std::uint32_t n_streams_;
    const double board_spacing_ns_;

    State state_ = State::waiting;
    bool is_stopped_ = false;
    Nanoseconds run_start_ns_ = 0, markers_due_ns_ = 0;
    std::uint64_t run_start_wall_ns_ = 0;
    std::uint32_t n_rounds_left_ = 0;
    CameraTrigger trigger_;         // the trigger being sent
    std::uint64_t due_ns_ = 0;      // its time in the run
    std::uint32_t stream_ = 0;      // the first board that has not sent its fragment or marker
    std::uint32_t n_triggers_ = 0;  // triggers whose fragments have not left
};

source::PlannedSourceConfig planned(const CameraSourceConfig& config) {
    return {.boards = config.endpoints(),
            .seed = config.seed,
            .paced = config.paced,
            .max_behind_ms = config.max_behind_ms,
            .max_packet_bytes =
                wire::camera::header_bytes + std::max(config.fragment_payload_bytes(), wire::camera::totals_bytes),
            .faults = config.faults,
            .thread = config.thread};
}

}  // namespace

CameraSource::CameraSource(const CameraSourceConfig& config, CameraPool& pool, source::PacketSink& sink,
                           const Clock& clock, CounterPage& page)
    : PlannedSource(planned(checked(config)), std::make_unique<TriggerPlan>(checked(config), pool, clock, page), sink,
                    clock, page) {}

}  // namespace anello::camera
