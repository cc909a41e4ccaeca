// SPDX-License-Identifier: Apache-2.0
#include "rich/source/source.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "rich/source/board_stream.hpp"
#include "rich/source/event_times.hpp"

namespace anello::rich {
namespace {

namespace mgp = wire::mgp;

constexpr std::uint64_t jitter_stream = 0x717e5, times_stream = 0x71e5;
constexpr std::uint32_t max_batch = 128;          // packets filled and sent in turn stay in a core's cache
constexpr Nanoseconds longest_turn_ns = 100'000;  // packets that fill up earlier are sent at the next turn

const RichSourceConfig& validated(const RichSourceConfig& config, const EventPool& pool) {
    config.validate();
    if (config.format != pool.format() || (config.format == Format::mgp && config.hit_times != pool.hit_times()))
        throw ConfigError("format", "must be that of the event pool", "another", "Make the pool with the same format");
    const std::size_t header_bytes = config.format == Format::mgp ? mgp::header_bytes : wire::mep::header_bytes;
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
    return static_cast<std::uint8_t>((config.hit_times ? mgp::hits_with_time : 0) |
                                     (config.checksum ? mgp::with_checksum : 0));
}

/// Gives, burst by burst, the boards' packets with events of the pool, and the markers before and after them.
class BurstPlan final : public source::PacketPlan {
  public:
    BurstPlan(const RichSourceConfig& config, const EventPool& pool, CounterPage& page)
        : PacketPlan(page, {config.truth_prescale_log2, config.max_truth_samples}),
          config_(config),
          pool_(pool),
          burst_fine_(fine_of_ns(config.burst_ms * 1e6)),
          slots_(max_batch + 6 * static_cast<std::uint32_t>(config.boards.size()), config.packet_bytes(),
                 EventPool::slack_bytes),
          times_(config.rate_hz, config.dead_time_ticks, source::Random(config.seed, times_stream)),
          jitter_(config.seed, jitter_stream) {
        closed_.reserve(max_batch + 4 * config.boards.size());
        const BoardStream::Limits limits{
            config.events_limit(), std::max<std::uint64_t>(fine_of_ns(config.flush_us * 1e3), 1), packet_flags(config)};
        for (std::uint32_t stream = 0; stream < config.boards.size(); ++stream)
            boards_.emplace_back(stream, config.boards[stream].board, limits, pool_, slots_, closed_);
    }

    // Hot path: no allocation, no lock, no log, no throw.
    Next next(Nanoseconds until_ns, Packet& packet) noexcept override {
        while (!has_closed())
            if (const Next next = go_on(config_.paced ? until_ns : 0, packet); next != Next::packet) return next;
        packet = closed_[n_given_++].packet;
        packet.due_ns = ns_of(std::min(times_.next_fine(), burst_fine_));
        return Next::packet;
    }
    std::span<const std::byte> write(const Packet& packet, Nanoseconds wall_ns,
                                     std::span<std::byte>) noexcept override {
        const ClosedPacket& closed = closed_[n_given_ - 1];
        const std::span<std::byte> datagram = slots_.packet(closed.slot).first(closed.length_bytes);
        if (config_.format != Format::mgp) return datagram;
        const mgp::Header header{.flags = closed.flags,
                                 .source_id = config_.boards[packet.stream].board,
                                 .n_events = static_cast<std::uint16_t>(packet.n_fragments),
                                 .sequence = closed.sequence,
                                 .burst_id = burst_id_,
                                 .send_time_ns = static_cast<std::uint64_t>(wall_ns)};
        mgp::seal(datagram, header, datagram.size() - mgp::header_bytes);
        return datagram;
    }
    void left() noexcept override {
        for (std::size_t i = 0; i < n_given_; ++i) slots_.give_back(closed_[i].slot);
        closed_.erase(closed_.begin(), closed_.begin() + static_cast<std::ptrdiff_t>(n_given_));
        n_given_ = 0;
    }
    void stop() noexcept override { is_stopped_ = true; }

  private:
    enum class State : std::uint8_t { waiting, in_burst, ending };

    bool has_closed() const noexcept { return n_given_ < closed_.size(); }
    Nanoseconds ns_of(std::uint64_t time_fine) const noexcept {
        return burst_start_ns_ + static_cast<Nanoseconds>(static_cast<double>(time_fine) * fine_time_ns) + 1;
    }
    static Next later(Nanoseconds due_ns, bool loses_time, Packet& packet) noexcept {
        packet = {.due_ns = due_ns, .n_fragments = loses_time ? 1U : 0U};
        return Next::later;
    }

    /// One step towards the next packet. Returns Next::packet after a step that may have closed packets.
    Next go_on(Nanoseconds now_ns, Packet& packet) noexcept {
        switch (state_) {
            case State::waiting:
                return wait_for_burst(now_ns, packet);
            case State::in_burst:
                return work_in_burst(now_ns, packet);
            case State::ending:
                break;
        }
        return work_at_end(now_ns, packet);
    }

    Next wait_for_burst(Nanoseconds now_ns, Packet& packet) noexcept {
        const bool all_done = config_.n_bursts != 0 && n_bursts_begun_ == config_.n_bursts;
        if (all_done || is_stopped_) return Next::none;
        if (config_.paced && now_ns < next_step_ns_) return later(next_step_ns_, false, packet);
        burst_start_ns_ = now_ns;
        burst_id_ = config_.first_burst_id + n_bursts_begun_++;
        counters_.add(source::GeneratorCounter::bursts);
        times_.begin_burst();
        for (BoardStream& board : boards_) board.begin_burst(burst_id_);
        state_ = State::in_burst;
        return Next::packet;
    }

    Next work_in_burst(Nanoseconds now_ns, Packet& packet) noexcept {
        if (is_stopped_) return end_burst(std::min(times_.next_fine(), burst_fine_), now_ns);
        const std::uint64_t until_fine = std::min(detector_now_fine(now_ns), burst_fine_);
        make_events(until_fine);
        if (has_closed()) return Next::packet;
        for (BoardStream& board : boards_) board.flush_older_than(until_fine);
        if (has_closed()) return Next::packet;
        if (until_fine == burst_fine_) return end_burst(burst_fine_, now_ns);
        return later(std::min(due_ns(), now_ns + longest_turn_ns), true, packet);
    }
    std::uint64_t detector_now_fine(Nanoseconds now_ns) const noexcept {
        if (!config_.paced) return burst_fine_;
        return static_cast<std::uint64_t>(static_cast<double>(now_ns - burst_start_ns_) / fine_time_ns);
    }
    /// Time at which the first packet will be too old for another event.
    Nanoseconds due_ns() const noexcept {
        std::uint64_t due_fine = burst_fine_;
        for (const BoardStream& board : boards_) due_fine = std::min(due_fine, board.due_fine(times_.next_fine()));
        return ns_of(due_fine);
    }

    /// Makes events until one of them closes a packet.
    void make_events(std::uint64_t until_fine) noexcept {
        std::uint64_t n_events = 0;
        for (; times_.next_fine() < until_fine && !has_closed(); ++n_events) {
            make_event(times_.next_fine());
            times_.advance();
        }
        counters_.add(source::GeneratorCounter::events, n_events);
    }
    void make_event(std::uint64_t time_fine) noexcept {
        if (config_.time_jitter_fine == 0) {
            for (BoardStream& board : boards_) board.add(pool_event_, time_fine);
        } else {
            // Draws for all boards of the detector, so that a board's times do not depend on which front ends send it.
            std::array<std::uint64_t, n_boards> times_fine{};
            for (std::uint64_t& one : times_fine)
                one = time_fine - config_.time_jitter_fine + jitter_.below(2 * config_.time_jitter_fine + 1);
            for (std::size_t i = 0; i < boards_.size(); ++i)
                boards_[i].add(pool_event_, times_fine[config_.boards[i].board]);
        }
        truth_.note(std::uint64_t{burst_id_} << 32 | static_cast<std::uint32_t>(time_fine >> 8), pool_event_);
        if (++pool_event_ == pool_.n_events()) pool_event_ = 0;
    }

    Next end_burst(std::uint64_t end_fine, Nanoseconds now_ns) noexcept {
        for (BoardStream& board : boards_) board.close();
        end_fine_ = end_fine;
        n_markers_sent_ = 0;
        next_step_ns_ = now_ns;
        state_ = State::ending;
        return Next::packet;
    }

    Next work_at_end(Nanoseconds now_ns, Packet& packet) noexcept {
        if (config_.paced && now_ns < next_step_ns_) return later(next_step_ns_, false, packet);
        for (BoardStream& board : boards_) board.queue_end_of_burst(end_fine_);
        next_step_ns_ = now_ns + static_cast<Nanoseconds>(config_.end_marker_spacing_ms * 1e6);
        if (++n_markers_sent_ == config_.n_end_markers) {
            const auto period_ns = static_cast<Nanoseconds>((config_.burst_ms + config_.gap_ms) * 1e6);
            next_step_ns_ = std::max(next_step_ns_, burst_start_ns_ + period_ns);
            state_ = State::waiting;
        }
        return Next::packet;
    }

    const RichSourceConfig config_;
    const EventPool& pool_;
    const std::uint64_t burst_fine_;
    PacketSlots slots_;
    std::vector<ClosedPacket> closed_;
    std::size_t n_given_ = 0;  // of closed_
    std::vector<BoardStream> boards_;
    EventTimes times_;
    source::Random jitter_;

    State state_ = State::waiting;
    bool is_stopped_ = false;
    Nanoseconds burst_start_ns_ = 0, next_step_ns_ = 0;
    std::uint32_t n_bursts_begun_ = 0, burst_id_ = 0, n_markers_sent_ = 0;
    std::uint64_t end_fine_ = 0;
    std::uint32_t pool_event_ = 0;
};

source::PlannedSourceConfig planned(const RichSourceConfig& config) {
    source::PlannedSourceConfig planned{.boards = config.boards,
                                        .seed = config.seed,
                                        .paced = config.paced,
                                        .max_behind_ms = config.max_behind_ms,
                                        .max_packet_bytes = config.packet_bytes(),
                                        .max_batch = max_batch,
                                        .faults = config.faults,
                                        .thread = config.thread};
    planned.faults.dead_from_event = config.faults.dead_from_burst;  // in the plan, a step is a burst
    return planned;
}

}  // namespace

RichSource::RichSource(const RichSourceConfig& config, const EventPool& pool, source::PacketSink& sink,
                       const Clock& clock, CounterPage& page)
    : PlannedSource(planned(config), std::make_unique<BurstPlan>(validated(config, pool), pool, page), sink, clock,
                    page) {}

}  // namespace anello::rich
