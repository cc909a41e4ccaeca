// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "unit/receive/stream_rig.hpp"

/// Random streams with every fault at once, through both policies: all input is accounted for, as a comparison
/// with an independent count shows. Rapidcheck prints the seed of a failing case.
namespace anello::receive::conservation_test {
namespace {

using test::Bytes;
using test::MgpSender;
using test::StreamRig;
using enum ReceiveCounter;

struct Sent {
    Bytes datagram;
    bool is_valid = true, is_marker = false;
    std::uint32_t sequence = 0;
};

class FaultyNetwork {
  public:
    explicit FaultyNetwork(std::uint32_t seed) : random_(seed) {}

    bool chance(double share) { return std::uniform_real_distribution<>()(random_) < share; }
    std::uint32_t below(std::size_t n) {
        return std::uniform_int_distribution<std::uint32_t>(0, static_cast<std::uint32_t>(n - 1))(random_);
    }

    /// Loses, doubles, damages, cuts and replaces packets; then lets some overtake others.
    std::vector<Sent> carry(const std::vector<Sent>& sent, double fault_share) {
        std::vector<Sent> arrived;
        for (const Sent& packet : sent) {
            if (chance(fault_share)) continue;
            arrived.push_back(packet);
            if (chance(fault_share)) arrived.push_back(packet);
            if (chance(fault_share)) arrived.push_back(damage(packet));
            if (chance(fault_share)) spoil(arrived.back());
        }
        for (std::size_t i = 0; i + 1 < arrived.size(); ++i)
            if (chance(fault_share)) std::swap(arrived[i], arrived[std::min(arrived.size() - 1, i + 1 + below(8))]);
        return arrived;
    }

  private:
    /// Once only: a second damage could mend the first.
    void spoil(Sent& packet) {
        if (packet.is_valid) packet = damage(packet);
    }

    Sent damage(Sent packet) {
        packet.is_valid = false;
        switch (below(4)) {
            case 0:
                packet.datagram[below(packet.datagram.size())] ^= static_cast<std::byte>(1 + below(255));
                break;
            case 1:
                packet.datagram.resize(below(packet.datagram.size()));
                break;
            case 2:
                packet.datagram.resize(below(200));
                for (std::byte& byte : packet.datagram) byte = static_cast<std::byte>(below(256));
                break;
            default:
                packet.datagram = MgpSender(99).data(1);
        }
        return packet;
    }

    std::mt19937 random_;
};

std::vector<Sent> send_bursts(MgpSender& board, FaultyNetwork& network, std::uint32_t n_bursts) {
    std::vector<Sent> sent;
    for (std::uint32_t burst = 0; burst < n_bursts; ++burst) {
        board.begin_burst(burst);
        for (int i = 0; i < 3; ++i) sent.push_back({board.marker(wire::mgp::start_of_burst), true, true, 0});
        for (std::uint32_t i = network.below(60); i > 0; --i) {
            const std::uint32_t sequence = board.sequence();
            sent.push_back({board.data(1 + network.below(12)), true, false, sequence});
        }
        for (int i = 0; i < 3; ++i) sent.push_back({board.marker(wire::mgp::end_of_burst), true, true, 0});
    }
    return sent;
}

struct Book {
    std::set<std::uint32_t> distinct;
    std::uint64_t n_valid_data = 0, n_markers = 0, n_malformed = 0;

    void note(const Sent& packet) {
        n_malformed += packet.is_valid ? 0 : 1;
        if (!packet.is_valid) return;
        n_markers += packet.is_marker ? 1 : 0;
        if (packet.is_marker) return;
        ++n_valid_data;
        distinct.insert(packet.sequence);
    }
};

/// The builder takes now and then, and holds buffers for a while.
class SlowBuilder {
  public:
    SlowBuilder(StreamRig& rig, FaultyNetwork& network) : rig_(rig), network_(network) {}
    void work() {
        test::TakenBlock taken;
        if (network_.chance(0.3) && rig_.try_take(taken, false)) note(taken);
        if (network_.chance(0.3)) give_back_one();
    }
    void work_off() {
        for (test::TakenBlock taken; rig_.try_take(taken, false);) note(taken);
        while (!held_.empty()) give_back_one();
    }
    std::multiset<std::uint32_t> ended;
    bool sorted_flag_is_right = true;
    std::set<std::uint32_t> sequences;

  private:
    void note(const test::TakenBlock& taken) {
        held_.push_back(taken.completion.buffer);
        if (taken.completion.reason == CloseReason::end_of_burst) ended.insert(taken.completion.burst_id);
        const bool sorted = std::is_sorted(taken.ticks.begin(), taken.ticks.end());
        sorted_flag_is_right &= sorted == taken.completion.sorted;
        for (const PacketStamp& packet : taken.packets) sequences.insert(packet.sequence);
    }
    void give_back_one() {
        if (held_.empty()) return;
        rig_.blocks.give_back(held_.back());
        held_.pop_back();
    }

    StreamRig& rig_;
    FaultyNetwork& network_;
    std::vector<std::uint32_t> held_;
};

void check_conservation(std::uint32_t seed, FullPolicy policy, std::uint32_t n_buffers, double fault_share,
                        std::uint8_t flags) {
    FaultyNetwork network(seed);
    MgpSender board(7, flags);
    const std::vector<Sent> sent = send_bursts(board, network, 4);
    StreamRig rig({.gathering_time_ns = 500, .full_policy = policy},
                  {.max_fragments = 40, .max_hits = 600, .max_packets = 8}, n_buffers);
    SlowBuilder builder(rig, network);
    Book book;
    for (const Sent& packet : network.carry(sent, fault_share)) {
        rig.clock.advance(network.below(200));
        rig.receiver->on_time(rig.clock.monotonic_ns());
        rig.send(packet.datagram);
        book.note(packet);
        builder.work();
    }
    const Bytes end = board.marker(wire::mgp::end_of_burst);  // the last word arrives
    rig.send(end);
    book.note({end, true, true, 0});
    while (!rig.receiver->finish()) builder.work_off();
    builder.work_off();

    rig.expect_balance();
    RC_ASSERT(!testing::Test::HasFailure());
    RC_ASSERT(rig[datagrams] == book.n_valid_data + book.n_markers + book.n_malformed);
    RC_ASSERT(rig.n_malformed() == book.n_malformed);
    RC_ASSERT(rig[markers] == book.n_markers);
    RC_ASSERT(rig[stray_packets] == 0U);
    RC_ASSERT(rig[distinct_sequences] == book.distinct.size());
    RC_ASSERT(rig[duplicate_packets] == book.n_valid_data - book.distinct.size());
    RC_ASSERT(rig[announced_packets] == board.totals().n_packets);
    RC_ASSERT(rig[announced_fragments] == board.totals().n_events);
    RC_ASSERT(rig[lost_end_notices] == 0U);
    RC_ASSERT(builder.ended.size() == rig[bursts_ended]);
    for (const std::uint32_t burst_id : builder.ended) RC_ASSERT(builder.ended.count(burst_id) == 1U);
    RC_ASSERT(builder.sorted_flag_is_right);
    RC_ASSERT(
        std::includes(book.distinct.begin(), book.distinct.end(), builder.sequences.begin(), builder.sequences.end()));
    RC_ASSERT(builder.sequences.size() == rig[packets] - rig[overwritten_packets]);
    if (policy == FullPolicy::drop_new) RC_ASSERT(rig[overwritten_packets] == 0U);
}

RC_GTEST_PROP(StreamConservation, EveryDatagramIsAccountedFor, ()) {
    const auto policy = *rc::gen::element(FullPolicy::drop_new, FullPolicy::overwrite_oldest);
    const auto n_buffers = *rc::gen::inRange<std::uint32_t>(2, 12);
    const auto fault_share = *rc::gen::element(0.0, 0.02, 0.1, 0.3);
    const std::uint8_t timed = *rc::gen::element<std::uint8_t>(0, wire::mgp::hits_with_time);
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    check_conservation(seed, policy, n_buffers, fault_share, timed | wire::mgp::with_checksum);
}

RC_GTEST_PROP(StreamConservation, RandomBytesNeverStopAStream, (std::uint32_t seed)) {
    StreamRig rig({}, {}, 4);
    rig.send_random(seed, 40);
    RC_ASSERT(rig[datagrams] == 40U);
    RC_ASSERT(rig[datagrams] == rig[packets] + rig[markers] + rig[duplicate_packets] + rig[dropped_packets] +
                                    rig[stray_packets] + rig.n_malformed());
    RC_ASSERT(rig[fragments] == rig.n_fragments);
}

}  // namespace
}  // namespace anello::receive::conservation_test
