// SPDX-License-Identifier: Apache-2.0
#include "camera/events/boards/group_boards.hpp"

#include <fmt/format.h>

namespace anello::camera {
namespace {

constexpr Nanoseconds show_every_ns = 100'000'000, rates_every_ns = 500'000'000;

}  // namespace

GroupBoards::GroupBoards(BoardRange range, Nanoseconds now_ns, CounterPage& page)
    : range_(range),
      n_live_(range.count),
      boards_(std::make_unique<CameraBoard[]>(range.count)),
      sequences_(std::make_unique<BoardSequence[]>(range.count)),
      rates_(std::make_unique<Rate[]>(range.count)),
      shown_ns_(now_ns),
      rates_shown_ns_(now_ns) {
    for (std::uint32_t i = 0; i < range.count; ++i)
        counters_.push_back(page.add_block<CameraBoardCounter>(fmt::format("build.board{}", number_of(i))));
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::uint16_t GroupBoards::count_waited_for(std::uint32_t number) const noexcept {
    if (n_live_ == range_.count) return static_cast<std::uint16_t>(n_live_);
    std::uint32_t n_boards = 0;
    for (std::uint32_t i = 0; i < range_.count; ++i) n_boards += boards_[i].is_waited_for(number) ? 1 : 0;
    return static_cast<std::uint16_t>(n_boards);
}

void GroupBoards::set_wait(std::uint32_t index, BoardWait wait) noexcept {
    CameraBoard& board = boards_[index];
    const events::BoardState old_state = board.state.load(std::memory_order_relaxed), state = wait.state;
    n_live_ += (state == events::BoardState::live ? 1U : 0U) - (old_state == events::BoardState::live ? 1U : 0U);
    n_ended_ += (state == events::BoardState::ended ? 1U : 0U) - (old_state == events::BoardState::ended ? 1U : 0U);
    board.end_event = wait.end_event;
    board.state.store(state, std::memory_order_relaxed);
    counters_[index].set(CameraBoardCounter::state, static_cast<std::uint64_t>(state));
    if (state == events::BoardState::silent) counters_[index].add(CameraBoardCounter::silences);
}

bool GroupBoards::have_sent_all() noexcept {
    if (n_ended_ < range_.count) return false;
    for (std::uint32_t i = 0; i < range_.count; ++i)
        if (!sequences_[i].is_whole(boards_[i])) return false;
    return true;
}

void GroupBoards::count_missing(const BoardSet& present) noexcept {
    for (std::uint32_t i = 0; i < range_.count; ++i) rates_[i].n_missing += present.contains(number_of(i)) ? 0 : 1;
}

void GroupBoards::show_if_due(Nanoseconds now_ns, std::uint64_t n_events_out) noexcept {
    if (now_ns - shown_ns_ >= show_every_ns) show(now_ns);
    if (now_ns - rates_shown_ns_ >= rates_every_ns) show_rates(now_ns, n_events_out);
}

void GroupBoards::show(Nanoseconds now_ns) noexcept {
    shown_ns_ = now_ns;
    for (std::uint32_t i = 0; i < range_.count; ++i) {
        sequences_[i].catch_up(boards_[i]);
        counters_[i].set(CameraBoardCounter::placed, boards_[i].n_placed);
        counters_[i].set(CameraBoardCounter::missing, rates_[i].n_missing);
        counters_[i].set(CameraBoardCounter::lost, sequences_[i].n_lost());
        counters_[i].set(CameraBoardCounter::announced, sequences_[i].n_announced());
    }
}

void GroupBoards::show_rates(Nanoseconds now_ns, std::uint64_t n_events_out) noexcept {
    const double seconds = static_cast<double>(now_ns - rates_shown_ns_) * 1e-9;
    for (std::uint32_t i = 0; i < range_.count; ++i) {
        Rate& rate = rates_[i];
        const std::uint64_t n_placed = boards_[i].n_placed;
        rate.rate_hz.store(static_cast<float>(static_cast<double>(n_placed - rate.n_placed_shown) / seconds),
                           std::memory_order_relaxed);
        rate.is_slow.store((rate.n_missing - rate.n_missing_shown) * 2 > n_events_out - events_out_at_rates_,
                           std::memory_order_relaxed);
        rate.n_placed_shown = n_placed;
        rate.n_missing_shown = rate.n_missing;
    }
    rates_shown_ns_ = now_ns;
    events_out_at_rates_ = n_events_out;
}

CameraBoardStatus GroupBoards::status(std::uint32_t index) const noexcept {
    const CameraBoard& board = boards_[index];
    CameraBoardStatus status;
    status.state = board.state.load(std::memory_order_relaxed);
    status.is_slow = rates_[index].is_slow.load(std::memory_order_relaxed);
    status.silences = counters_[index][CameraBoardCounter::silences];
    status.last_seen_ns = board.last_seen_ns.load(std::memory_order_relaxed);
    status.rate_hz = rates_[index].rate_hz.load(std::memory_order_relaxed);
    return status;
}

}  // namespace anello::camera
