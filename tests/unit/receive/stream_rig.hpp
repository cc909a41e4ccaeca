// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "receive/boards/mgp_unpacker.hpp"
#include "receive/boards/receiver.hpp"
#include "unit/receive/mgp_sender.hpp"

namespace anello::receive::test {

constexpr SourceAddress own_source(0x0a000001, 5000);
constexpr MgpBoard rig_board{.source_id = 7, .first_hit_id = 976, .n_channels = 488};

/// The content of one block, as a builder takes it.
struct TakenBlock {
    Completion completion;
    std::vector<std::uint32_t> ticks;
    std::vector<PacketStamp> packets;
};

/// One StreamReceiver with its clock and counters, and a builder that takes when the test calls it.
struct StreamRig {
    explicit StreamRig(const StreamConfig& config = {}, const BlockShape& shape = {}, std::uint32_t n_buffers = 8,
                       std::unique_ptr<Unpacker> unpacker = std::make_unique<MgpUnpacker>(rig_board))
        : blocks(shape, n_buffers) {
        counters = {page.add_block<ReceiveCounter>("receive.test"), page.add_block<wire::Verdict>("verdicts.test")};
        receiver =
            std::make_unique<StreamReceiver>(config, std::uint16_t{3}, std::move(unpacker), blocks, counters, clock);
    }

    void send(const Bytes& datagram, SourceAddress source = own_source) {
        receiver->on_datagram(
            {.bytes = datagram, .stream = 3, .cut = false, .kernel_ns = clock.wall_ns(), .source = source});
    }
    /// Receives datagrams of random length and bytes, and the end.
    void send_random(std::uint32_t seed, int n_datagrams) {
        std::mt19937 random(seed);
        for (int i = 0; i < n_datagrams; ++i) {
            Bytes datagram(random() % 300);
            for (std::byte& byte : datagram) byte = static_cast<std::byte>(random());
            send(datagram);
        }
        receiver->finish();
        take_all();
    }
    /// Lets time pass in which the stream is read and no datagram comes.
    void pass_ms(int ms) {
        for (int i = 0; i < ms; ++i) {
            clock.advance(1'000'000);
            receiver->on_time(clock.monotonic_ns());
            receiver->on_read(clock.monotonic_ns());
        }
    }
    std::uint64_t operator[](ReceiveCounter counter) const { return counters.stream[counter]; }
    std::uint64_t operator[](wire::Verdict verdict) const { return counters.verdicts[verdict]; }

    bool try_take(TakenBlock& taken, bool give_back = true) {
        if (!blocks.try_take(taken.completion)) return false;
        const FragmentColumns columns = blocks.columns(taken.completion.buffer);
        taken.ticks.assign(columns.timestamp_ticks, columns.timestamp_ticks + taken.completion.n_fragments);
        taken.packets.assign(columns.packet, columns.packet + taken.completion.n_packets);
        n_wrong_fragments += count_wrong(taken.completion, columns);
        n_fragments += taken.completion.n_fragments;
        n_hits += taken.completion.n_hits;
        n_packets += taken.completion.n_packets;
        if (give_back) blocks.give_back(taken.completion.buffer);
        return true;
    }
    std::vector<TakenBlock> take_all() {
        std::vector<TakenBlock> all;
        for (TakenBlock taken; try_take(taken);) all.push_back(taken);
        return all;
    }

    /// Fragments whose hits are not those that MgpSender gives an event of that time.
    std::uint64_t count_wrong(const Completion& completion, const FragmentColumns& columns) const {
        std::uint64_t n_wrong = 0;
        for (std::uint32_t i = 0; i < completion.n_fragments; ++i) {
            const std::uint32_t ticks = columns.timestamp_ticks[i], begin = columns.hit_begin[i];
            const std::uint32_t n_expected = MgpSender::n_hits_of(ticks);
            bool right = columns.hit_begin[i + 1] - begin == n_expected &&
                         columns.fine_time[i] == static_cast<std::uint8_t>(ticks);
            for (std::uint32_t j = 0; right && j < n_expected; ++j)
                right = columns.hit_id[begin + j] == rig_board.first_hit_id + MgpSender::hit_of(ticks, j).channel;
            n_wrong += right ? 0 : 1;
        }
        return n_wrong;
    }

    std::uint64_t n_malformed() const {
        std::uint64_t n = 0;
        for (std::size_t i = 1; i < static_cast<std::size_t>(wire::Verdict::count); ++i)
            n += counters.verdicts[static_cast<wire::Verdict>(i)];
        return n;
    }
    /// The balance of receive_counters.hpp, against the blocks that the builder really took.
    void expect_balance() const {
        using enum ReceiveCounter;
        EXPECT_EQ((*this)[datagrams], (*this)[packets] + (*this)[markers] + (*this)[duplicate_packets] +
                                          (*this)[conflicting_packets] + (*this)[dropped_packets] +
                                          (*this)[stray_packets] + (*this)[strangers] + n_malformed());
        EXPECT_EQ((*this)[wire::Verdict::ok], (*this)[datagrams] - (*this)[strangers] - n_malformed());
        EXPECT_EQ((*this)[fragments], n_fragments + (*this)[overwritten_fragments]);
        EXPECT_EQ((*this)[hits], n_hits + (*this)[overwritten_hits]);
        EXPECT_EQ((*this)[packets], n_packets + (*this)[overwritten_packets]);
        EXPECT_EQ((*this)[distinct_sequences], (*this)[packets] - (*this)[disowned_packets] + (*this)[dropped_packets]);
        EXPECT_EQ((*this)[announced_packets],
                  (*this)[distinct_sequences] + (*this)[lost_sequences] + (*this)[before_joining]);
        EXPECT_GE((*this)[announced_fragments] + (*this)[unannounced_fragments],
                  (*this)[fragments] - (*this)[disowned_fragments] + (*this)[dropped_fragments]);
        EXPECT_GE((*this)[announced_hits] + (*this)[unannounced_hits],
                  (*this)[hits] - (*this)[disowned_hits] + (*this)[dropped_hits]);
        EXPECT_EQ(n_wrong_fragments, 0U);
    }

    ManualClock clock{1'000'000};
    CounterPage page;
    BlockStream blocks;
    StreamCounters counters;
    std::unique_ptr<StreamReceiver> receiver;
    std::uint64_t n_fragments = 0, n_hits = 0, n_packets = 0, n_wrong_fragments = 0;  ///< taken by the builder
};

}  // namespace anello::receive::test
