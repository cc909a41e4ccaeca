// SPDX-License-Identifier: Apache-2.0
#include "simulate/board_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wire/crc32c.hpp"

namespace anello::simulate {
namespace {

constexpr std::uint64_t changes_stream = 0x616e6577;

std::uint64_t place_of(std::uint32_t board, std::span<const std::byte> datagram) noexcept {
    return std::uint64_t{board} << 32 | wire::crc32c(datagram);
}

std::string boards_in_words(std::uint32_t first, std::uint32_t n) {
    return n == 1 ? fmt::format("board {}", first) : fmt::format("boards {} to {}", first, first + n - 1);
}

double milliseconds(Nanoseconds time_ns) noexcept {
    return static_cast<double>(time_ns) * 1e-6;
}

std::string reboot_in_words(const BoardChanges& of) {
    std::string words = fmt::format("at {:.6g} ms: {} begin{} anew after {:.6g} ms, packets count from 0",
                                    milliseconds(of.reboot_at_ns), boards_in_words(of.first_rebooting, of.n_rebooting),
                                    of.n_rebooting == 1 ? "s" : "", milliseconds(of.down_ns));
    if (of.restarts_clock) words += ", and so do times";
    if (of.restarts_steps) words += ", and so do bursts or events";
    if (of.announces) words += "; they say so first";
    return words;
}

std::string clock_in_words(const BoardChanges& of) {
    const std::string when =
        fmt::format("at {:.6g} ms: for {:.6g} ms the clocks of {}", milliseconds(of.clock_at_ns),
                    milliseconds(of.clock_ns), boards_in_words(of.first_wrong_clock, of.n_wrong_clocks));
    if (of.clock_step_ns == 0) return when + " stand still";
    return fmt::format("{} are wrong by {:.6g} ms", when, milliseconds(of.clock_step_ns));
}

/// One board, or most of them, as when a crate loses its power.
std::uint32_t draw_number(source::Random& dice, std::uint32_t n_boards) {
    return dice.below(2) == 0 ? 1 : 1 + dice.below(n_boards);
}

}  // namespace

void draw(BoardChanges& changes, std::uint32_t n_boards, double begin_ms, std::uint64_t seed) {
    source::Random dice(seed, changes_stream);
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    const auto up_to_ns = [&](double most_ms) { return static_cast<Nanoseconds>(dice.uniform() * most_ms * 1e6); };
    if (one_in(4)) changes.n_rebooting = draw_number(dice, n_boards);
    changes.first_rebooting = dice.below(n_boards - std::max(changes.n_rebooting, 1U) + 1);
    changes.reboot_at_ns = up_to_ns(begin_ms);
    if (!one_in(3)) changes.down_ns = up_to_ns(one_in(2) ? 2 : begin_ms);
    changes.restarts_clock = one_in(2);
    changes.restarts_steps = one_in(3);
    changes.announces = one_in(2);
    if (one_in(5)) changes.n_wrong_clocks = draw_number(dice, n_boards);
    changes.first_wrong_clock = dice.below(n_boards - std::max(changes.n_wrong_clocks, 1U) + 1);
    changes.clock_at_ns = up_to_ns(begin_ms);
    changes.clock_ns = 1 + up_to_ns(begin_ms);
    if (!one_in(3)) changes.clock_step_ns = up_to_ns(20) - up_to_ns(10);
    if (one_in(6)) changes.wraps_after = 1 + dice.below(one_in(2) ? 10 : 200);
}

std::vector<std::string> told(const BoardChanges& of) {
    std::vector<std::string> lines;
    if (of.n_rebooting > 0) lines.push_back(reboot_in_words(of));
    if (of.n_wrong_clocks > 0) lines.push_back(clock_in_words(of));
    if (of.wraps_after > 0) lines.push_back(fmt::format("the boards' counters wrap after {}", of.wraps_after));
    return lines;
}

void ChangedBoards::send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds now_ns,
                         source::SendResult* results) noexcept {
    if (!changes_.any()) return wire_.send(datagrams, now_ns, results);
    const Nanoseconds since_ns = world_.monotonic_ns() - World::begin_ns;
    out_.clear();
    copies_.clear();
    for (const source::OutgoingDatagram& datagram : datagrams) {
        std::vector<std::byte>& bytes = copies_.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
        std::vector<std::byte> announcement;
        Change made;
        const Fate fate = change(datagram.stream, bytes, since_ns, made, announcement);
        if (!announcement.empty()) put(datagram, copies_.emplace_back(std::move(announcement)), made);
        if (fate != Fate::dropped) put(datagram, bytes, made);
    }
    results_.resize(out_.size());
    if (!out_.empty()) wire_.send(out_, now_ns, results_.data());
    std::fill_n(results, datagrams.size(), source::SendResult::sent);
}

void ChangedBoards::put(const source::OutgoingDatagram& datagram, std::span<const std::byte> bytes,
                        const Change& made) {
    made_[place_of(datagram.stream, bytes)] = made;
    out_.push_back(datagram);
    out_.back().bytes = bytes;
}

ChangedBoards::Change ChangedBoards::change_of(std::uint32_t board, std::span<const std::byte> datagram) const {
    const auto found = made_.find(place_of(board, datagram));
    return found == made_.end() ? Change{} : found->second;
}

}  // namespace anello::simulate
