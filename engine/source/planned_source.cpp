// SPDX-License-Identifier: Apache-2.0
#include "source/planned_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "source/send_books.hpp"

namespace anello::source {

using C = SourceCounter;
using Next = PacketPlan::Next;

PlannedSource::PlannedSource(const PlannedSourceConfig& config, std::unique_ptr<PacketPlan> plan, PacketSink& sink,
                             const Clock& clock, CounterPage& page)
    : config_(config),
      plan_(std::move(plan)),
      sink_(sink),
      clock_(clock),
      counters_(plan_->counters()),
      rooms_(config.max_batch, std::vector<std::byte>(config.max_packet_bytes)),
      results_(config.max_batch),
      thread_(thread_config(page), [this] { return do_work(); }) {
    for (const BoardEndpoint& endpoint : config.boards)
        boards_.push_back({endpoint.board, FaultInjector(config.faults, config.seed, endpoint.board),
                           page.add_block<C>(fmt::format("source.board{}", endpoint.board)),
                           SentLog(max_withheld_ranges(config.boards.size())),
                           std::vector<std::byte>(config.max_packet_bytes)});
    out_.reserve(config.max_batch);
}

/// The thread sleeps until a packet is due. PERF NOTE: with naps of 20 us instead, the median latency from the event
/// was 102 to 111 us, not 90 to 94 (./dev bench demo, ten runs each).
ThreadConfig PlannedSource::thread_config(CounterPage& page) {
    ThreadConfig thread = config_.thread;
    thread.can_be_woken = true;
    thread.longest_wait_ns = [this] { return longest_wait_ns(); };
    return told_in(page, std::move(thread));
}

void PlannedSource::start() {
    thread_.start();
    is_started_ = true;
}

void PlannedSource::stop() {
    request_stop();
    wait();
    if (running()) end();
}

void PlannedSource::wait() {
    if (!is_started_) return;
    finished_.wait(false, std::memory_order_acquire);  // pairs with the release in end()
    thread_.stop();
}

void PlannedSource::request_stop() noexcept {
    stop_requested_.store(true, std::memory_order_relaxed);
    thread_.wake();
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
std::size_t PlannedSource::do_work() noexcept {
    if (finished_.load(std::memory_order_relaxed)) return 0;
    if (stop_requested_.load(std::memory_order_relaxed)) plan_->stop();
    const Nanoseconds until_ns = time_of_run(clock_.monotonic_ns());
    Next next = Next::packet;
    std::size_t n = 0;
    for (; n < config_.max_batch; ++n) {
        next = plan_->next(until_ns, next_);
        if (next != Next::packet) break;
        send(next_);
    }
    flush();
    plan_->left();
    if (next == Next::none) end();
    return n;
}

Nanoseconds PlannedSource::longest_wait_ns() const noexcept {
    if (!running()) return longest_idle_ns;
    if (!config_.paced) return shortest_rest_ns;
    return std::clamp(start_ns_ + next_.due_ns - clock_.monotonic_ns(), Nanoseconds{0}, longest_idle_ns);
}

Nanoseconds PlannedSource::time_of_run(Nanoseconds now_ns) noexcept {
    if (!std::exchange(has_begun_, true)) start_ns_ = now_ns;
    if (!config_.paced) return std::numeric_limits<Nanoseconds>::max();
    if (!next_.is_marker()) watch_lag(now_ns - start_ns_ - next_.due_ns);
    return now_ns - start_ns_;
}

/// After a long delay (the process was stopped, or the rate is more than the machine can send), catching up would flood
/// the network. Instead the run's clock is put back: packets keep their times, and leave later.
void PlannedSource::watch_lag(Nanoseconds behind_ns) noexcept {
    if (behind_ns > static_cast<Nanoseconds>(counters_[GeneratorCounter::behind_ns_max]))
        counters_.set(GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const Nanoseconds excess_ns = behind_ns - static_cast<Nanoseconds>(config_.max_behind_ms * 1e6);
    if (excess_ns <= 0) return;
    start_ns_ += excess_ns;
    counters_.add(GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
}

/// A datagram that a board holds back leaves before the next epoch at the latest; markers are sent alone.
void PlannedSource::send(const PacketPlan::Packet& packet) noexcept {
    if (std::exchange(epoch_, packet.epoch) != packet.epoch) release_all();
    const bool is_full = out_.size() + datagrams_of_one > config_.max_batch;
    if (is_full || (!out_.empty() && (out_.back().n_fragments == 0) != packet.is_marker())) flush();
    if (out_.empty()) wall_ns_ = clock_.wall_ns();
    Board& board = boards_[packet.stream];
    if (packet.is_marker()) release_held(board);
    const bool is_dead =
        config_.faults.dead_board == std::int32_t{board.board} && packet.step >= config_.faults.dead_from_event;
    const OutgoingDatagram datagram{plan_->write(packet, wall_ns_, rooms_[out_.size()]),
                                    packet.stream,
                                    packet.n_fragments,
                                    packet.epoch,
                                    packet.first_number,
                                    packet.n_numbers};
    if (packet.is_marker()) return send_marker(board, datagram, is_dead);
    board.counters.add(C::hits, packet.n_hits);
    send_data(board, datagram, is_dead);
}

void PlannedSource::send_marker(Board& board, const OutgoingDatagram& datagram, bool is_dead) noexcept {
    if (is_dead) return;
    board.counters.add(C::burst_markers);
    out_.push_back(datagram);
}

void PlannedSource::send_data(Board& board, OutgoingDatagram datagram, bool is_dead) noexcept {
    count(board, {C::packets, C::fragments}, datagram);
    board.counters.add(C::bytes, datagram.bytes.size());
    board.log.made.add(datagram.epoch, datagram.first_number, datagram.first_number + datagram.n_numbers);
    const Fault fault = board.faults.next();
    if (is_dead)
        return withhold(board, {C::packets_dead_board, C::fragments_dead_board}, datagram, Withheld::board_dead);
    if (fault == Fault::loss)
        return withhold(board, {C::packets_lost_injected, C::fragments_lost_injected}, datagram,
                        Withheld::lost_on_purpose);
    if (fault == Fault::reorder && !board.holds) return hold(board, datagram);
    if (fault == Fault::corrupt) {
        const std::span<std::byte> changed = copied(datagram.bytes);
        board.faults.corrupt(changed);
        datagram.bytes = changed;
        withhold(board, {C::packets_corrupted_injected, C::fragments_corrupted_injected}, datagram,
                 Withheld::corrupted_on_purpose);
    }
    if (fault == Fault::truncate) {
        datagram.bytes = datagram.bytes.first(board.faults.truncated_length(datagram.bytes.size()));
        withhold(board, {C::packets_truncated_injected, C::fragments_truncated_injected}, datagram,
                 Withheld::truncated_on_purpose);
    }
    out_.push_back(datagram);
    if (fault == Fault::duplicate) {
        out_.push_back(datagram);
        count(board, {C::packets_duplicated_injected, C::fragments_duplicated_injected}, datagram);
    }
    release_held(board);
}

void PlannedSource::count(Board& board, FaultCounters fault, const OutgoingDatagram& datagram) noexcept {
    board.counters.add(fault.packets);
    board.counters.add(fault.fragments, datagram.n_fragments);
}

/// Notes numbers that are not sent, or are sent altered.
void PlannedSource::withhold(Board& board, FaultCounters fault, const OutgoingDatagram& datagram,
                             Withheld why) noexcept {
    count(board, fault, datagram);
    board.log.withhold(datagram.epoch, datagram.first_number, datagram.first_number + datagram.n_numbers, why);
}

void PlannedSource::hold(Board& board, const OutgoingDatagram& datagram) noexcept {
    board.counters.add(C::packets_reordered_injected);
    std::ranges::copy(datagram.bytes, board.held.begin());
    board.waiting = datagram;
    board.waiting.bytes = std::span(board.held).first(datagram.bytes.size());
    board.holds = true;
}

void PlannedSource::release_held(Board& board) noexcept {
    if (!std::exchange(board.holds, false)) return;
    board.waiting.bytes = copied(board.waiting.bytes);
    out_.push_back(board.waiting);
}

void PlannedSource::release_all() noexcept {
    for (Board& board : boards_) {
        if (out_.size() == config_.max_batch) flush();
        if (out_.empty()) wall_ns_ = clock_.wall_ns();
        release_held(board);
    }
}

/// Copies a datagram into memory of the batch.
std::span<std::byte> PlannedSource::copied(std::span<const std::byte> datagram) noexcept {
    std::vector<std::byte>& room = rooms_[out_.size()];
    if (datagram.data() != room.data()) std::ranges::copy(datagram, room.begin());
    return std::span(room).first(datagram.size());
}

void PlannedSource::flush() noexcept {
    if (out_.empty()) return;
    sink_.send(out_, wall_ns_, results_.data());
    counters_.add(GeneratorCounter::sends);
    for (std::size_t i = 0; i < out_.size(); ++i)
        count_result(boards_[out_[i].stream].counters, boards_[out_[i].stream].log, out_[i], results_[i]);
    out_.clear();
}

void PlannedSource::end() noexcept {
    release_all();
    flush();
    finished_.store(true, std::memory_order_release);  // pairs with the acquires in running() and wait()
    finished_.notify_all();
}

}  // namespace anello::source
