// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"

/// What every transport must do; Traits as fabric_farm.hpp says. Nothing is lost on loopback by a sender that respects
/// `busy`, so unreliable transports go through the same tests.
namespace anello::fabric::conformance {

template <typename Traits>
class FabricConformance : public testing::Test {
  protected:
    void SetUp() override {
        if constexpr (requires { Traits::reason_to_skip(); })
            if (const std::string reason = Traits::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    }
    static Bytes header_of(std::uint64_t number) {
        return pattern(number + 1'000'000, number % (max_header_bytes + 1));
    }

    /// sent = received + discarded + failed (+ lost, where it may be lost), bytes alike, when all is at rest.
    static void expect_balance(Farm<Traits>& farm) {
        using enum FabricCounter;
        EXPECT_EQ(farm.count(messages_sent), farm.count(messages_received) + farm.count(messages_discarded) +
                                                 farm.count(messages_failed) + farm.count(messages_lost));
        EXPECT_EQ(farm.count(malformed), 0U);
        EXPECT_EQ(farm.count(strangers_refused), 0U);
    }
    /// A transfer that must not happen: refused at once, or by the peer.
    static void expect_refused(Farm<Traits>& farm, Peer from, Status status, std::uint64_t token) {
        if (status == Status::refused) return;
        ASSERT_EQ(status, Status::ok);
        auto& done = farm.listener(from).done;
        const auto reported = [&] {
            return std::any_of(done.begin(), done.end(), [&](const auto& one) { return one.token == token; });
        };
        ASSERT_TRUE(farm.until(reported));
        EXPECT_EQ(done.back().status, Status::refused);
    }
};

TYPED_TEST_SUITE_P(FabricConformance);

TYPED_TEST_P(FabricConformance, EachComesUpOnceWithEachAndItself) {
    Farm<TypeParam> farm(3);
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::absent);
    EXPECT_EQ(farm.fabric(0).send(1, {}, {}, 0), Status::peer_down);
    farm.connect_all();
    farm.step(50);
    for (Peer from = 0; from < 3; ++from) {
        EXPECT_EQ(farm.listener(from).changes.size(), 3U);
        EXPECT_EQ(farm.count(from, FabricCounter::peers_up), 3U);
        for (Peer to = 0; to < 3; ++to) EXPECT_EQ(farm.fabric(from).state(to), PeerState::up);
        EXPECT_FALSE(farm.fabric(from).describe().empty());
    }
    EXPECT_EQ(farm.fabric(0).state(3), PeerState::absent);
    EXPECT_EQ(farm.fabric(0).send(3, {}, {}, 0), Status::peer_down);
}

TYPED_TEST_P(FabricConformance, NobodyIsUpWhoWasNotAskedFor) {
    Farm<TypeParam> farm(2);
    farm.connect(0, 1);
    farm.step(2000);
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::connecting);
    EXPECT_TRUE(farm.listener(1).changes.empty());
    farm.connect(1, 0);
    EXPECT_TRUE(farm.until(
        [&] { return farm.fabric(0).state(1) == PeerState::up && farm.fabric(1).state(0) == PeerState::up; }));
}

TYPED_TEST_P(FabricConformance, ConnectingToNobodyTimesOut) {
    Farm<TypeParam> farm(2);
    farm.connect(0, 1);
    farm.stop(1);
    farm.pass(farm.config().connect_timeout_ns / 2);
    farm.pass(farm.config().connect_timeout_ns);
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::down);
    EXPECT_EQ(farm.count(0, FabricCounter::peers_down), 1U);
}

TYPED_TEST_P(FabricConformance, MessagesOfAllSizesComeAsTheyWere) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const std::size_t largest = farm.fabric(0).max_message_bytes();
    std::vector<std::size_t> sizes{0,    1,    2,    3,    63,   64,    65,    1399,   1400,
                                   1401, 4095, 4096, 8191, 8193, 65535, 65536, 100'000};
    sizes.push_back(largest - 1);
    sizes.push_back(largest);
    std::vector<Bytes> payloads;
    for (std::size_t i = 0; i < sizes.size(); ++i) payloads.push_back(pattern(i, std::min(sizes[i], largest)));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        ASSERT_EQ(farm.send(0, 1, this->header_of(i), payloads[i], i), Status::ok);
    auto& got = farm.listener(1).messages;
    ASSERT_TRUE(farm.until([&] { return got.size() == sizes.size() && farm.listener(0).done.size() == sizes.size(); }));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_EQ(got[i].from, 0);
        EXPECT_EQ(got[i].header, this->header_of(i)) << i;
        EXPECT_TRUE(got[i].payload == payloads[i]) << sizes[i] << " bytes differ";
    }
    farm.listener(0).expect_each_token_once(sizes.size());
    EXPECT_EQ(farm.listener(0).n_done(Status::ok), sizes.size());
    this->expect_balance(farm);
    EXPECT_EQ(farm.count(1, FabricCounter::message_bytes_received), farm.count(0, FabricCounter::message_bytes_sent));
}

TYPED_TEST_P(FabricConformance, WhatIsTooLargeIsRefused) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes large(farm.fabric(0).max_message_bytes() + 1);
    const Bytes header(max_header_bytes + 1);
    EXPECT_EQ(farm.fabric(0).send(1, {}, large, 0), Status::refused);
    EXPECT_EQ(farm.fabric(0).send(1, header, {}, 0), Status::refused);
    EXPECT_EQ(farm.send(0, 1, std::span(header).first(max_header_bytes), {}, 1), Status::ok);
    EXPECT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == 1; }));
    EXPECT_EQ(farm.count(0, FabricCounter::messages_sent), 1U);
}

TYPED_TEST_P(FabricConformance, AllToAllInOrderAndBalanced) {
    constexpr std::size_t n_messages = 60;
    Farm<TypeParam> farm(3);
    farm.connect_all();
    std::mt19937 random(20270311);
    std::map<std::pair<Peer, Peer>, std::vector<Bytes>> sent;
    for (std::size_t i = 0; i < n_messages; ++i)
        for (Peer from = 0; from < 3; ++from)
            for (Peer to = 0; to < 3; ++to)
                sent[{from, to}].push_back(pattern(random(), random() % 4 == 0 ? random() % 50'000 : random() % 2'000));
    for (std::size_t i = 0; i < n_messages; ++i)
        for (const auto& [pair, payloads] : sent)
            ASSERT_EQ(farm.send(pair.first, pair.second, this->header_of(i), payloads[i], i * 9 + pair.second),
                      Status::ok);
    ASSERT_TRUE(farm.until([&] {
        return farm.count(FabricCounter::messages_received) == 9 * n_messages &&
               farm.listener(0).done.size() + farm.listener(1).done.size() + farm.listener(2).done.size() ==
                   9 * n_messages;
    }));
    for (const auto& [pair, payloads] : sent) {
        const auto got = farm.listener(pair.second).messages_from(pair.first);
        ASSERT_EQ(got.size(), n_messages);
        for (std::size_t i = 0; i < n_messages; ++i)
            EXPECT_TRUE(got[i].header == this->header_of(i) && got[i].payload == payloads[i]) << i;
    }
    for (Peer from = 0; from < 3; ++from) farm.listener(from).expect_each_token_once(3 * n_messages);
    this->expect_balance(farm);
}

/// An urgent message may overtake earlier ones; the sender is still notified once of the token of each earlier one.
TYPED_TEST_P(FabricConformance, WordsComeToo) {
    constexpr std::size_t n_words = 40;
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes large = pattern(7, 100'000);
    std::vector<Bytes> words;
    for (std::size_t i = 0; i < n_words; ++i) words.push_back(pattern(static_cast<std::uint32_t>(i), 40));
    ASSERT_EQ(farm.send(0, 1, this->header_of(0), large, 5), Status::ok);
    for (const Bytes& word : words) {
        ASSERT_TRUE(farm.until([&] { return farm.fabric(0).tell(1, word) == Status::ok; }));
    }
    ASSERT_TRUE(farm.until([&] { return farm.listener(1).messages_from(0).size() == n_words + 1; }));
    std::size_t next = 0;
    for (const auto& message : farm.listener(1).messages_from(0)) {
        if (message.payload.empty())
            EXPECT_EQ(message.header, words[next++]) << "words keep their own order";
        else
            EXPECT_TRUE(message.payload == large);
    }
    const auto& done = farm.listener(0).done;
    ASSERT_TRUE(farm.until([&] { return std::ranges::any_of(done, [](const auto& one) { return one.token == 5; }); }));
    EXPECT_EQ(farm.fabric(0).tell(1, pattern(1, 5'000)), Status::refused);
    this->expect_balance(farm);
}

TYPED_TEST_P(FabricConformance, WithoutAPlaceItIsDiscardedAndCounted) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(1, 40'000);
    Recorder& to = farm.listener(1);
    int n_asked = 0;
    to.choose_place = [&](Peer, std::span<const std::byte> header, std::size_t n_bytes) -> std::span<std::byte> {
        EXPECT_EQ(n_bytes, payload.size());
        EXPECT_EQ(header.size(), 1U);
        switch (n_asked++ % 3) {
            case 0:
                return {};
            case 1:
                return std::span(to.places.emplace_back(n_bytes)).first(n_bytes - 1);
            default:
                return to.places.emplace_back(n_bytes + 7);
        }
    };
    for (std::uint64_t i = 0; i < 12; ++i) ASSERT_EQ(farm.send(0, 1, pattern(i, 1), payload, i), Status::ok);
    ASSERT_TRUE(farm.until([&] {
        return farm.count(1, FabricCounter::messages_discarded) == 8 && to.messages.size() == 4 &&
               farm.listener(0).done.size() == 12;
    }));
    EXPECT_EQ(n_asked, 12);
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(to.messages[i].payload == payload);
    EXPECT_EQ(farm.listener(0).n_done(Status::ok), 12U);
    this->expect_balance(farm);
}

TYPED_TEST_P(FabricConformance, WhoDoesNotReadMakesTheSenderBusy) {
    Farm<TypeParam> farm(2, [](FabricConfig& config) { config.max_in_flight = 16; });
    farm.connect_all();
    const Bytes payload = pattern(3, farm.fabric(0).max_message_bytes());
    std::uint64_t n_sent = 0, n_busy = 0;
    for (; n_busy < 200 && n_sent < 4'000; farm.fabric(0).progress()) {
        const Status status = farm.fabric(0).send(1, this->header_of(n_sent), payload, n_sent);
        ASSERT_TRUE(status == Status::ok || status == Status::busy);
        ++(status == Status::ok ? n_sent : n_busy);
    }
    EXPECT_EQ(n_busy, 200U) << n_sent << " messages found room";
    EXPECT_GT(farm.count(0, FabricCounter::busy), 0U);
    EXPECT_GE(farm.listener(0).done.size() + 16, n_sent);
    EXPECT_TRUE(farm.listener(1).messages.empty());
    std::uint64_t n_got = 0;
    Bytes place(payload.size());
    farm.listener(1).choose_place = [&](Peer, std::span<const std::byte>, std::size_t) { return std::span(place); };
    farm.listener(1).at_message = [&](Peer, std::span<const std::byte> header, std::span<std::byte> got) {
        EXPECT_TRUE(std::ranges::equal(header, this->header_of(n_got)));
        EXPECT_TRUE(std::ranges::equal(got, payload));
        farm.listener(1).messages.clear();
        ++n_got;
    };
    EXPECT_TRUE(farm.until([&] { return n_got == n_sent && farm.listener(0).done.size() == n_sent; }));
    farm.listener(0).expect_each_token_once(n_sent);
    EXPECT_EQ(farm.send(0, 1, {}, {}, n_sent), Status::ok) << "there is room again";
}

TYPED_TEST_P(FabricConformance, AListenerMaySendFromItsCalls) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(5, 3'000);
    const auto bounce = [&](Peer self) {
        return [&farm, &payload, self](Peer from, std::span<const std::byte> header, std::span<std::byte>) {
            if (header.size() < 40) {
                const Bytes longer(header.size() + 1);
                EXPECT_EQ(farm.fabric(self).send(from, longer, payload, longer.size()), Status::ok);
            }
        };
    };
    for (const Peer peer : {Peer{0}, Peer{1}}) farm.listener(peer).at_message = bounce(peer);
    ASSERT_EQ(farm.send(0, 1, {}, payload, 0), Status::ok);
    EXPECT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == 21; }));
    EXPECT_EQ(farm.listener(0).messages.size(), 20U);
}

TYPED_TEST_P(FabricConformance, PutsLieThereWhenTheirSignalComes) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    if (!farm.fabric(0).reliable()) {
        Bytes memory(100);
        EXPECT_EQ(farm.fabric(0).put({1, 0, 100}, 0, memory, 0, 0), Status::refused);
        EXPECT_EQ(farm.fabric(0).get({1, 0, 100}, 0, memory, 0), Status::refused);
        return;
    }
    constexpr std::size_t n_puts = 40, slot_bytes = 30'000;
    Bytes memory(n_puts * slot_bytes);
    const Region region = farm.fabric(1).register_memory(memory);
    const RemoteRegion remote = farm.fabric(0).attach(1, farm.fabric(1).key(region));
    EXPECT_EQ(remote.size_bytes, memory.size());
    std::vector<Bytes> sent;
    for (std::size_t i = 0; i < n_puts; ++i) sent.push_back(pattern(i, i % 5 == 0 ? 0 : i * i * 17 % slot_bytes));
    farm.listener(1).at_signal = [&](Peer, std::uint64_t signal) {
        const auto& expected = sent.at(signal - 7);
        const std::span slot = std::span(memory).subspan((signal - 7) * slot_bytes, expected.size());
        EXPECT_TRUE(std::ranges::equal(slot, expected)) << "data of signal " << signal << " is not there";
    };
    for (std::size_t i = 0; i < n_puts; ++i) {
        Status status = Status::busy;
        farm.until([&] {
            status = farm.fabric(0).put(remote, i * slot_bytes, sent[i], i + 7, i);
            return status != Status::busy;
        });
        ASSERT_EQ(status, Status::ok);
    }
    auto& signals = farm.listener(1).signals;
    ASSERT_TRUE(farm.until([&] { return signals.size() == n_puts && farm.listener(0).done.size() == n_puts; }));
    for (std::size_t i = 0; i < n_puts; ++i) EXPECT_EQ(signals[i], std::pair(Peer{0}, std::uint64_t{i + 7}));
    farm.listener(0).expect_each_token_once(n_puts);
    EXPECT_EQ(farm.listener(0).n_done(Status::ok), n_puts);
    EXPECT_EQ(farm.count(0, FabricCounter::puts), n_puts);
    std::size_t n_bytes = 0;
    for (const Bytes& one : sent) n_bytes += one.size();
    EXPECT_EQ(farm.count(0, FabricCounter::put_bytes), n_bytes);
    EXPECT_EQ(farm.count(1, FabricCounter::signals_received), n_puts);
}

TYPED_TEST_P(FabricConformance, GetsReadWhatIsThere) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    if (!farm.fabric(0).reliable()) return;
    Bytes memory = pattern(11, 300'000);
    const Region region = farm.fabric(1).register_memory(memory);
    const RemoteRegion remote = farm.fabric(0).attach(1, farm.fabric(1).key(region));
    std::vector<std::pair<std::size_t, Bytes>> wanted;
    for (std::size_t i = 0; i < 30; ++i) wanted.emplace_back(i * i * 311, Bytes(1 + i * 900));
    wanted.emplace_back(0, Bytes(memory.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        Status status = Status::busy;
        farm.until([&] {
            status = farm.fabric(0).get(remote, wanted[i].first, wanted[i].second, i);
            return status != Status::busy;
        });
        ASSERT_EQ(status, Status::ok);
    }
    ASSERT_TRUE(farm.until([&] { return farm.listener(0).done.size() == wanted.size(); }));
    EXPECT_EQ(farm.listener(0).n_done(Status::ok), wanted.size());
    farm.listener(0).expect_each_token_once(wanted.size());
    std::size_t n_bytes = 0;
    for (const auto& [offset, got] : wanted) {
        EXPECT_TRUE(std::ranges::equal(got, std::span(memory).subspan(offset, got.size())));
        n_bytes += got.size();
    }
    EXPECT_EQ(farm.count(0, FabricCounter::get_bytes), n_bytes);
    EXPECT_EQ(farm.count(0, FabricCounter::gets), wanted.size());
    EXPECT_EQ(farm.count(FabricCounter::messages_discarded), 0U);
}

TYPED_TEST_P(FabricConformance, NothingBeyondARegionIsTouched) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    if (!farm.fabric(0).reliable()) return;
    Bytes memory(1000), own(1001);
    const Region region = farm.fabric(1).register_memory(memory);
    const RemoteRegion remote = farm.fabric(0).attach(1, farm.fabric(1).key(region));
    Fabric& fabric = farm.fabric(0);
    const std::span some = std::span(own).first(10);
    EXPECT_EQ(fabric.put(remote, 0, own, 1, 1), Status::refused);
    EXPECT_EQ(fabric.put(remote, 991, some, 1, 2), Status::refused);
    EXPECT_EQ(fabric.put(remote, SIZE_MAX - 4, some, 1, 3), Status::refused);
    EXPECT_EQ(fabric.get(remote, 991, some, 4), Status::refused);
    EXPECT_EQ(fabric.get(remote, SIZE_MAX, some, 5), Status::refused);
    this->expect_refused(farm, 0, fabric.put({1, 77, 1000}, 0, some, 1, 6), 6);
    this->expect_refused(farm, 0, fabric.get({1, 77, 1000}, 0, some, 7), 7);
    EXPECT_EQ(fabric.put({9, 0, 1000}, 0, some, 1, 8), Status::peer_down);
    EXPECT_EQ(fabric.put(remote, 990, some, 99, 9), Status::ok) << "the last bytes are inside";
    EXPECT_TRUE(farm.until([&] { return farm.listener(1).signals.size() == 1; }));
    EXPECT_EQ(farm.listener(1).signals[0].second, 99U);
    EXPECT_EQ(farm.count(FabricCounter::messages_discarded), 0U) << "none of these is a message";
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::up);
}

TYPED_TEST_P(FabricConformance, WhatIsNoAddressOrKeyIsRefused) {
    Farm<TypeParam> farm(2), other(2, [](FabricConfig&config) { config.farm_id ^= 1; });
    Fabric& fabric = farm.fabric(0);
    const Bytes address = farm.fabric(1).address();
    EXPECT_THROW(fabric.connect(1, {}), ConfigError);
    EXPECT_THROW(fabric.connect(1, std::span(address).first(address.size() / 2)), ConfigError);
    EXPECT_THROW(fabric.connect(1, pattern(1, address.size())), ConfigError);
    EXPECT_THROW(fabric.connect(2, address), ConfigError) << "there is no peer 2";
    EXPECT_THROW(fabric.connect(0, address), ConfigError) << "another peer's";
    EXPECT_THROW(fabric.connect(1, other.fabric(1).address()), ConfigError) << "another farm's";
    EXPECT_EQ(fabric.state(1), PeerState::absent);
    farm.connect_all();
    if (!fabric.reliable()) return;
    EXPECT_THROW(fabric.attach(1, {}), ConfigError);
    EXPECT_THROW(fabric.attach(1, pattern(2, 16)), ConfigError);
    EXPECT_THROW(fabric.attach(2, {}), ConfigError);
    Bytes memory(10);
    const Region region = farm.fabric(1).register_memory(memory);
    farm.fabric(1).deregister(region);
    EXPECT_THROW(farm.fabric(1).key(region), ConfigError);
    EXPECT_THROW(farm.fabric(1).register_memory({}), ConfigError);
}

TYPED_TEST_P(FabricConformance, ADisconnectedPeerMayComeBack) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(8, 10'000);
    for (int round = 0; round < 3; ++round) {
        for (Peer peer = 0; peer < 2; ++peer) farm.listener(peer).messages.clear();
        farm.listener(0).done.clear();
        std::uint64_t n_sent = 0;
        while (n_sent < 20 && farm.fabric(0).send(1, {}, payload, n_sent) == Status::ok) ++n_sent;
        farm.disconnect(0, 1);
        EXPECT_EQ(farm.fabric(0).state(1), PeerState::absent);
        EXPECT_EQ(farm.fabric(0).send(1, {}, payload, 0), Status::peer_down);
        ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
        farm.step(20);
        EXPECT_EQ(farm.listener(0).done.size(), n_sent);
        farm.connect(0, 1);
        farm.connect(1, 0);
        ASSERT_TRUE(farm.until([&] { return farm.all_up(); }));
        ASSERT_EQ(farm.send(0, 1, pattern(1, 9), payload, 77), Status::ok);
        ASSERT_EQ(farm.send(1, 0, pattern(1, 9), payload, 77), Status::ok);
        ASSERT_TRUE(farm.until([&] {
            return !farm.listener(0).messages.empty() && !farm.listener(1).messages.empty() &&
                   farm.listener(1).messages.back().header.size() == 9 && farm.listener(0).done.size() == n_sent + 1;
        }));
        EXPECT_EQ(farm.listener(0).messages.size(), 1U);
        EXPECT_EQ(farm.listener(1).n_changes(0, PeerState::down), static_cast<std::size_t>(round + 1));
    }
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 0U) << "the side that disconnects is not notified";
}

TYPED_TEST_P(FabricConformance, ADeadPeerIsToldOnceAndAllThatIsOwedToIt) {
    Farm<TypeParam> farm(3);
    farm.connect_all();
    const Bytes payload = pattern(8, farm.fabric(0).max_message_bytes());
    std::uint64_t n_sent = 0;
    while (n_sent < 40 && farm.fabric(0).send(1, {}, payload, n_sent) == Status::ok) ++n_sent;
    farm.fabric(0).progress();
    farm.stop(1);
    ASSERT_TRUE(farm.pass_until(
        [&] { return farm.fabric(0).state(1) == PeerState::down && farm.fabric(2).state(1) == PeerState::down; }));
    farm.step(50);
    farm.listener(0).expect_each_token_once(n_sent);
    EXPECT_EQ(farm.count(0, FabricCounter::messages_failed), farm.listener(0).n_done(Status::peer_down));
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.listener(2).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.fabric(0).send(1, {}, {}, 0), Status::peer_down);
    ASSERT_EQ(farm.send(0, 2, {}, payload, 1), Status::ok);
    EXPECT_TRUE(farm.until([&] { return farm.listener(2).messages.size() == 1; })) << "the others continue";
}

TYPED_TEST_P(FabricConformance, AHalfMessageOfADeadPeerIsNeverTold) {
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(8, farm.fabric(0).max_message_bytes());
    for (std::uint64_t n_sent = 0; n_sent < 12 && farm.fabric(0).send(1, {}, payload, n_sent) == Status::ok; ++n_sent)
        farm.fabric(0).progress();
    farm.fabric(1).progress();
    farm.stop(0);
    ASSERT_TRUE(farm.pass_until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    for (const auto& message : farm.listener(1).messages) EXPECT_TRUE(message.payload == payload);
    const std::size_t n_before = farm.listener(1).messages.size();
    farm.step(50);
    EXPECT_EQ(farm.listener(1).messages.size(), n_before);
}

TYPED_TEST_P(FabricConformance, ARestartedPeerConnectsAnew) {
    Farm<TypeParam> farm(3);
    farm.connect_all();
    farm.stop(1);
    const auto down = [&](Peer peer) { return farm.fabric(peer).state(1) == PeerState::down; };
    ASSERT_TRUE(farm.pass_until([&] { return down(0) && down(2); }));
    farm.start(1);
    for (Peer peer = 0; peer < 3; ++peer) farm.connect(1, peer);
    farm.step(50);
    farm.connect(0, 1);
    farm.connect(2, 1);
    ASSERT_TRUE(farm.until([&] { return farm.all_up(); }));
    const Bytes payload = pattern(8, 70'000);
    for (Peer peer = 0; peer < 3; ++peer) {
        ASSERT_EQ(farm.send(peer, 1, {}, payload, 1), Status::ok);
        ASSERT_EQ(farm.send(1, peer, {}, payload, 10 + peer), Status::ok);
    }
    EXPECT_TRUE(
        farm.until([&] { return farm.listener(1).messages.size() == 4 && farm.listener(0).messages.size() == 1; }));
}

REGISTER_TYPED_TEST_SUITE_P(FabricConformance, EachComesUpOnceWithEachAndItself, NobodyIsUpWhoWasNotAskedFor,
                            WordsComeToo, ConnectingToNobodyTimesOut, MessagesOfAllSizesComeAsTheyWere,
                            WhatIsTooLargeIsRefused, AllToAllInOrderAndBalanced, WithoutAPlaceItIsDiscardedAndCounted,
                            WhoDoesNotReadMakesTheSenderBusy, AListenerMaySendFromItsCalls,
                            PutsLieThereWhenTheirSignalComes, GetsReadWhatIsThere, NothingBeyondARegionIsTouched,
                            WhatIsNoAddressOrKeyIsRefused, ADisconnectedPeerMayComeBack,
                            ADeadPeerIsToldOnceAndAllThatIsOwedToIt, AHalfMessageOfADeadPeerIsNeverTold,
                            ARestartedPeerConnectsAnew);

/// Transports with a descriptor: a thread that waits for it wakes when a message arrives.
template <typename Traits>
class FabricWaiting : public FabricConformance<Traits> {};

TYPED_TEST_SUITE_P(FabricWaiting);

TYPED_TEST_P(FabricWaiting, AWaitingThreadIsWoken) {
    constexpr std::size_t n_rounds = 200;
    Farm<TypeParam> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(8, 5'000);
    for (const Peer self : {Peer{0}, Peer{1}})
        farm.listener(self).at_message = [&farm, &payload, self](Peer from, std::span<const std::byte>, auto) {
            const std::size_t n_got = farm.listener(self).messages.size();
            if (self == 1 || n_got < n_rounds) {
                EXPECT_EQ(farm.fabric(self).send(from, {}, payload, n_got), Status::ok);
            }
        };
    const auto work = [&farm](Peer self) {
        const auto finished = [&] {
            return farm.listener(self).messages.size() == n_rounds && farm.listener(self).done.size() == n_rounds;
        };
        for (int n_waits = 0; !finished() && n_waits < 100'000; ++n_waits) {
            if (farm.fabric(self).progress() > 0 || !farm.fabric(self).arm()) continue;
            pollfd waiting{farm.fabric(self).descriptor(), POLLIN, 0};
            if (poll(&waiting, 1, anello::test::patience_ms) == 0) {
                ADD_FAILURE() << "peer " << self << " was not woken";
                return;
            }
        }
    };
    ASSERT_EQ(farm.fabric(0).send(1, {}, payload, 0), Status::ok);
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_EQ(farm.listener(0).messages.size(), n_rounds);
    EXPECT_EQ(farm.listener(1).messages.size(), n_rounds);
}

TYPED_TEST_P(FabricWaiting, WakeMakesTheDescriptorReadable) {
    Farm<TypeParam> farm(1);
    farm.connect_all();
    Fabric& fabric = farm.fabric(0);
    const auto readable = [&](int timeout_ms) {
        pollfd waiting{fabric.descriptor(), POLLIN, 0};
        return poll(&waiting, 1, timeout_ms) == 1;
    };
    const auto rest = [&] { return farm.until([&] { return fabric.arm() && !readable(0); }); };
    ASSERT_TRUE(rest());
    std::thread([&] { fabric.wake(); }).join();
    EXPECT_TRUE(readable(anello::test::patience_ms));
    ASSERT_TRUE(rest()) << "a wake is over some time";
    fabric.wake();
    fabric.wake();
    EXPECT_TRUE(readable(anello::test::patience_ms));
    ASSERT_TRUE(rest());
}

REGISTER_TYPED_TEST_SUITE_P(FabricWaiting, AWaitingThreadIsWoken, WakeMakesTheDescriptorReadable);

/// A process that hangs keeps its connections; only its silence shows it. Not for transports without heartbeats.
template <typename Traits>
class FabricLiveness : public FabricConformance<Traits> {};

TYPED_TEST_SUITE_P(FabricLiveness);

TYPED_TEST_P(FabricLiveness, WhoIsSilentTooLongIsDownAndTheOthersAreNot) {
    Farm<TypeParam> farm(3);
    farm.connect_all();
    farm.pass(4 * farm.config().peer_timeout_ns);
    for (Peer from = 0; from < 3; ++from) EXPECT_EQ(farm.listener(from).changes.size(), 3U) << "an idle farm stays up";
    const Nanoseconds end = farm.clock().monotonic_ns() + 2 * farm.config().peer_timeout_ns;
    while (farm.clock().monotonic_ns() < end) {
        farm.clock().advance(farm.config().heartbeat_ns / 4);
        for (int i = 0; i < 100; ++i) {
            farm.fabric(0).progress();
            farm.fabric(2).progress();
        }
    }
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.listener(2).n_changes(1, PeerState::down), 1U);
    EXPECT_EQ(farm.fabric(0).state(2), PeerState::up);
    EXPECT_EQ(farm.fabric(2).state(0), PeerState::up);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; })) << "it finds itself left";
    for (Peer peer = 0; peer < 3; ++peer) {
        farm.connect(1, peer);
        farm.connect(peer, 1);
    }
    EXPECT_TRUE(farm.until([&] { return farm.all_up(); }));
}

/// Like a slow network: messages under way take longer than the peer has to answer, and its own messages
/// wait after them. The arrival of data counts as its answer.
TYPED_TEST_P(FabricLiveness, WhoSendsMoreThanLeavesInTimeStaysUp) {
    for (const bool both : {false, true}) {
        SCOPED_TRACE(both ? "both send" : "one sends");
        Farm<TypeParam> farm(2, [](FabricConfig& config) { config.max_in_flight = 512; });
        if (!farm.fabric(0).reliable()) return;
        farm.connect_all();
        const Bytes large = pattern(1, farm.config().max_message_bytes);
        Bytes place(large.size());
        for (Peer peer = 0; peer < 2; ++peer)
            farm.listener(peer).choose_place = [&](Peer, std::span<const std::byte>, std::size_t) {
                return std::span(place);
            };
        std::uint64_t n_sent = 0;
        for (Peer from = 0; from < (both ? 2 : 1); ++from)
            while (farm.fabric(from).send(static_cast<Peer>(1 - from), {}, large, n_sent) == Status::ok) ++n_sent;
        const auto n_came = [&] { return farm.listener(0).messages.size() + farm.listener(1).messages.size(); };
        ASSERT_TRUE(farm.until([&] {
            farm.clock().advance(farm.config().heartbeat_ns / 4);
            return n_came() == n_sent || farm.fabric(0).state(1) != PeerState::up;
        }));
        EXPECT_EQ(n_came(), n_sent);
        EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down) + farm.listener(1).n_changes(0, PeerState::down), 0U);
    }
}

/// The others do not give it up, nor does it give them up when it runs again, whether it alone stood still or all did.
TYPED_TEST_P(FabricLiveness, WhoStandsStillForLessThanThePeerTimeoutIsNotDown) {
    Farm<TypeParam> farm(3);
    farm.connect_all();
    farm.pass(farm.config().peer_timeout_ns);
    const Nanoseconds pause_ns = farm.config().peer_timeout_ns * 24 / 25;
    const Nanoseconds end = farm.clock().monotonic_ns() + pause_ns;
    while (farm.clock().monotonic_ns() < end) {
        farm.clock().advance(std::min(farm.config().heartbeat_ns / 4, end - farm.clock().monotonic_ns()));
        for (int i = 0; i < 100; ++i) {
            farm.fabric(0).progress();
            farm.fabric(2).progress();
        }
    }
    farm.fabric(1).progress();
    farm.pass(2 * farm.config().peer_timeout_ns);
    farm.clock().advance(pause_ns);
    farm.step(100);
    farm.pass(2 * farm.config().peer_timeout_ns);
    for (Peer from = 0; from < 3; ++from)
        for (Peer to = 0; to < 3; ++to)
            EXPECT_EQ(farm.listener(from).n_changes(to, PeerState::down), 0U) << from << " gave up " << to;
}

REGISTER_TYPED_TEST_SUITE_P(FabricLiveness, WhoIsSilentTooLongIsDownAndTheOthersAreNot,
                            WhoStandsStillForLessThanThePeerTimeoutIsNotDown, WhoSendsMoreThanLeavesInTimeStaysUp);

}  // namespace anello::fabric::conformance
