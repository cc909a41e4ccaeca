// SPDX-License-Identifier: Apache-2.0
#include "source/planned_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "source/send_books.hpp"

namespace anello::source {

using C = SourceCounter;

PlannedSource::PlannedSource(const PlannedSourceConfig& config, std::unique_ptr<PacketPlan> plan, PacketSink& sink,
                             const Clock& clock, CounterPage& page)
    : config_(config),
      plan_(std::move(plan)),
      sink_(sink),
      clock_(clock),
      counters_(page.add_block<GeneratorCounter>("source")),
      packets_(PacketSink::max_batch),
      results_(PacketSink::max_batch),
      thread_(told_in(page, config.thread), [this] { return do_work(); }) {
    for (std::uint32_t board = config.first_board; board < config.first_board + config.n_boards; ++board)
        boards_.push_back({FaultInjector(config.faults, config.seed, board),
                           page.add_block<C>(fmt::format("source.board{}", board)),
                           SentLog(max_withheld_ranges(config.n_boards)),
                           Memory{std::vector<std::byte>(config.max_packet_bytes), 0, {}}});
    for (Memory& memory : packets_) memory.bytes.resize(config.max_packet_bytes);
    out_.reserve(PacketSink::max_batch);
}

void PlannedSource::start() {
    thread_.start();
    is_started_ = true;
}

void PlannedSource::stop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    if (is_started_) finished_.wait(false, std::memory_order_acquire);  // pairs with the release in end()
    thread_.stop();
    if (running()) end();
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
std::size_t PlannedSource::do_work() noexcept {
    if (finished_.load(std::memory_order_relaxed)) return 0;
    if (!has_next()) return 0;
    const Nanoseconds now_ns = time_of_run(clock_.monotonic_ns());
    std::size_t n = 0;
    for (; n < PacketSink::max_batch && running() && next_.due_ns <= now_ns; ++n) {
        send(next_);
        has_next_ = false;
        if (!has_next()) return n + 1;
    }
    flush();
    return n;
}

/// False: that was the end.
bool PlannedSource::has_next() noexcept {
    if (!has_next_) has_next_ = plan_->next(next_);
    const bool is_new_step = has_next_ && (!has_begun_ || next_.step != step_);
    if (has_next_ && !(is_new_step && stop_requested_.load(std::memory_order_relaxed))) return true;
    end();
    return false;
}

/// Far behind, catching up would be a flood: time is forgone instead.
Nanoseconds PlannedSource::time_of_run(Nanoseconds now_ns) noexcept {
    if (start_ns_ == 0) start_ns_ = now_ns;
    if (!config_.paced) return std::numeric_limits<Nanoseconds>::max();
    const Nanoseconds behind_ns = now_ns - start_ns_ - next_.due_ns;
    if (behind_ns > static_cast<Nanoseconds>(counters_[GeneratorCounter::behind_ns_max]))
        counters_.set(GeneratorCounter::behind_ns_max, static_cast<std::uint64_t>(behind_ns));
    const Nanoseconds excess_ns = behind_ns - static_cast<Nanoseconds>(config_.max_behind_ms * 1e6);
    if (excess_ns > 0) {
        start_ns_ += excess_ns;
        counters_.add(GeneratorCounter::time_forgone_ns, static_cast<std::uint64_t>(excess_ns));
    }
    return now_ns - start_ns_;
}

/// What boards hold back of an epoch goes at the latest before the next one.
void PlannedSource::begin_step() noexcept {
    has_begun_ = true;
    step_ = next_.step;
    counters_.add(GeneratorCounter::events);
    for (Board& board : boards_)
        if (board.holds && board.held.packet.epoch != next_.epoch) release_held(board);
}

void PlannedSource::send(const PacketPlan::Packet& packet) noexcept {
    if (!has_begun_ || packet.step != step_) begin_step();
    if (out_.size() + datagrams_of_one > PacketSink::max_batch) flush();
    Board& board = board_of(packet);
    const Fault fault = board.faults.next();
    board.counters.add(C::packets);
    board.counters.add(C::fragments);
    board.counters.add(C::hits, packet.n_hits);
    board.log.made.add(packet.epoch, packet.sequence, std::uint64_t{packet.sequence} + 1);
    if (withhold(board, packet, fault)) return;
    const bool is_held = fault == Fault::reorder && !board.holds;
    Memory& memory = is_held ? board.held : packets_[out_.size()];
    memory.packet = packet;
    memory.length = plan_->write(packet, memory.bytes);
    board.counters.add(C::bytes, memory.length);
    if (is_held) {
        board.holds = true;
        board.counters.add(C::packets_reordered_injected);
        return;
    }
    put_out(memory);
    if (fault == Fault::duplicate) {
        put_out(memory);
        board.counters.add(C::packets_duplicated_injected);
    }
    release_held(board);
}

bool PlannedSource::withhold(Board& board, const PacketPlan::Packet& packet, Fault fault) noexcept {
    const bool is_dead = config_.faults.dead_board == static_cast<std::int32_t>(packet.board) &&
                         packet.step >= config_.faults.dead_from_event;
    if (!is_dead && fault != Fault::loss) return false;
    board.counters.add(is_dead ? C::packets_dead_board : C::packets_lost_injected);
    board.log.withhold(packet.epoch, packet.sequence, std::uint64_t{packet.sequence} + 1,
                       is_dead ? Withheld::board_dead : Withheld::lost_on_purpose);
    return true;
}

void PlannedSource::release_held(Board& board) noexcept {
    if (!std::exchange(board.holds, false)) return;
    if (out_.size() == PacketSink::max_batch) flush();
    Memory& memory = packets_[out_.size()];
    std::copy_n(board.held.bytes.begin(), board.held.length, memory.bytes.begin());
    memory.packet = board.held.packet;
    memory.length = board.held.length;
    put_out(memory);
}

void PlannedSource::put_out(const Memory& memory) noexcept {
    out_.push_back({.bytes = std::span(memory.bytes).first(memory.length),
                    .stream = memory.packet.board - config_.first_board,
                    .n_fragments = 1,
                    .epoch = memory.packet.epoch,
                    .first_number = memory.packet.sequence,
                    .n_numbers = 1});
}

void PlannedSource::flush() noexcept {
    if (out_.empty()) return;
    sink_.send(out_, clock_.wall_ns(), results_.data());
    counters_.add(GeneratorCounter::sends);
    for (std::size_t i = 0; i < out_.size(); ++i)
        count_result(boards_[out_[i].stream].counters, boards_[out_[i].stream].log, out_[i], results_[i]);
    out_.clear();
}

void PlannedSource::end() noexcept {
    for (Board& board : boards_) release_held(board);
    flush();
    finished_.store(true, std::memory_order_release);  // pairs with the acquires in running() and stop()
    finished_.notify_all();
}

}  // namespace anello::source
