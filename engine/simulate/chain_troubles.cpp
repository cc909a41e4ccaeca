// SPDX-License-Identifier: Apache-2.0
#include "simulate/chain_troubles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace anello::simulate {

void draw(ChainTroubles& troubles, const TroubleLimits& limits, source::Random& dice) {
    const auto one_in = [&](std::uint32_t n) { return dice.below(n) == 0; };
    const auto up_to_ns = [&](double most_ms) { return static_cast<Nanoseconds>(dice.uniform() * most_ms * 1e6); };
    troubles.wire.latency_ns = 1 + up_to_ns(0.2);
    troubles.wire.jitter_ns = up_to_ns(limits.jitter_ms);
    troubles.host.n_cores = 1 + dice.below(4);
    if (one_in(4)) troubles.wire.buffer_bytes = limits.least_buffer_bytes + dice.below(limits.more_buffer_bytes);
    if (one_in(3)) troubles.faults.loss = dice.uniform() * limits.loss;
    if (one_in(4)) troubles.faults.duplicate = dice.uniform() * 0.1;
    if (one_in(4)) troubles.faults.reorder = dice.uniform() * 0.1;
    if (one_in(4)) troubles.faults.corrupt = dice.uniform() * limits.damage;
    if (one_in(6)) troubles.faults.truncate = dice.uniform() * limits.damage;
    if (one_in(6)) troubles.faults.dead_board = static_cast<std::int32_t>(dice.below(limits.n_boards));
    troubles.faults.dead_from_event = troubles.faults.dead_from_burst = dice.below(limits.n_steps);
    if (one_in(4)) troubles.host.preempted_share = dice.uniform() * 0.02;
    troubles.host.preempted_ns = up_to_ns(5);
    troubles.stop_at_ns = up_to_ns(limits.begin_ms);
    if (one_in(4)) troubles.stop_ns = up_to_ns(200);
    troubles.cut_board = dice.below(limits.n_boards);
    troubles.cut_at_ns = up_to_ns(limits.begin_ms);
    if (one_in(6)) troubles.cut_ns = up_to_ns(limits.link_ms);
    if (one_in(6)) troubles.hold_ns = up_to_ns(limits.link_ms);
    troubles.disk = {.short_share = one_in(2) ? 0.1 : 0, .seed = troubles.seed};
    troubles.disk_full_at_ns = up_to_ns(limits.begin_ms);
    if (one_in(4)) troubles.disk_full_ns = up_to_ns(500);
    troubles.disk_room_bytes = dice.below(one_in(2) ? 1'000'000 : 10'000);
    if (one_in(4)) troubles.disk_slowness = 1 + dice.uniform() * 20;
    if (!limits.has_wrong_headers) return;
    if (one_in(3)) troubles.wrong_header = static_cast<WrongHeader>(1 + dice.below(6));
    troubles.wrong_board = dice.below(limits.n_boards);
    troubles.wrong_from_step = dice.below(limits.n_steps);
    troubles.n_wrong_steps = 1 + dice.below(limits.n_steps);
    troubles.wrong_by_steps = 1 + dice.below(2 * limits.n_steps);
}

std::vector<std::string> told(const ChainTroubles& of) {
    std::vector<std::string> lines;
    const auto add_share = [&](double share, const char* what) {
        if (share > 0) lines.push_back(fmt::format("{:.3g} % of the datagrams are {}", 100 * share, what));
    };
    const auto in_ms = [](Nanoseconds time_ns) { return static_cast<double>(time_ns) * 1e-6; };
    add_share(of.faults.loss, "lost");
    add_share(of.faults.duplicate, "doubled");
    add_share(of.faults.reorder, "overtaken");
    add_share(of.faults.corrupt, "damaged");
    add_share(of.faults.truncate, "cut short");
    if (of.faults.dead_board >= 0)
        lines.push_back(
            fmt::format("board {} is dead from step {} on", of.faults.dead_board, of.faults.dead_from_event));
    if (of.wire.buffer_bytes < ChainTroubles::usual_buffer_bytes)
        lines.push_back(fmt::format("a stream's buffer holds {} bytes", of.wire.buffer_bytes));
    if (of.host.preempted_share > 0)
        lines.push_back(fmt::format("after {:.3g} % of the steps another program has the core for up to {:.3g} ms",
                                    100 * of.host.preempted_share, in_ms(of.host.preempted_ns)));
    if (of.stop_ns > 0)
        lines.push_back(fmt::format("at {:.6g} ms: the node's process stands still for {:.6g} ms", in_ms(of.stop_at_ns),
                                    in_ms(of.stop_ns)));
    if (of.cut_ns > 0)
        lines.push_back(fmt::format("at {:.6g} ms: nothing of board {} comes through for {:.6g} ms",
                                    in_ms(of.cut_at_ns), of.cut_board, in_ms(of.cut_ns)));
    if (of.hold_ns > 0)
        lines.push_back(fmt::format("at {:.6g} ms: what board {} sends is held for {:.6g} ms", in_ms(of.cut_at_ns),
                                    of.cut_board, in_ms(of.hold_ns)));
    if (of.wrong_header != WrongHeader::none)
        lines.push_back(fmt::format("the headers of board {} are wrong in {} steps from step {} on: {}", of.wrong_board,
                                    of.n_wrong_steps, of.wrong_from_step, word_of(of.wrong_header)));
    if (of.disk_full_ns > 0)
        lines.push_back(fmt::format("at {:.6g} ms: the disk has room for {} bytes more, for {:.6g} ms",
                                    in_ms(of.disk_full_at_ns), of.disk_room_bytes, in_ms(of.disk_full_ns)));
    if (of.disk_slowness > 1) lines.push_back(fmt::format("the disk is {:.3g} times slower", of.disk_slowness));
    std::ranges::move(told(of.boards), std::back_inserter(lines));
    return lines;
}

void act(const ChainTroubles& troubles, SimulatedThreads& host, SimulatedWire& wire, SimulatedDisk& disk,
         const World& world) {
    const Nanoseconds now_ns = world.monotonic_ns(), since_ns = now_ns - World::begin_ns;
    const auto is_due = [since_ns](Nanoseconds at_ns) { return at_ns <= since_ns && since_ns < at_ns + 1'000'000; };
    if (troubles.stop_ns > 0 && is_due(troubles.stop_at_ns)) host.stop_until(now_ns + troubles.stop_ns);
    if (troubles.disk_full_ns > 0 && is_due(troubles.disk_full_at_ns)) disk.have_room_for(troubles.disk_room_bytes);
    if (troubles.disk_full_ns > 0 && is_due(troubles.disk_full_at_ns + troubles.disk_full_ns))
        disk.have_room_for(SimulatedDisk::enough_bytes);
    if (!is_due(troubles.cut_at_ns)) return;
    if (troubles.cut_ns > 0) wire.cut_until(troubles.cut_board, now_ns + troubles.cut_ns);
    if (troubles.hold_ns > 0) wire.hold_until(troubles.cut_board, now_ns + troubles.hold_ns);
}

}  // namespace anello::simulate
