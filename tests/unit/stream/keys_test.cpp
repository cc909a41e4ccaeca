// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <tuple>
#include <utility>

#include "core/errors.hpp"
#include "stream/control_connection.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/handshake.hpp"
#include "stream/stream_keys.hpp"
#include "unit/stream/fabric_pair.hpp"

/// Which programs are accepted at the other end of a stream over a network.
namespace anello::stream::keys_test {
namespace {

using anello::test::patience_ns;
using test::small_config;
using enum ListenerCounter;

using SharedKeys = std::shared_ptr<const StreamKeys>;

Nanoseconds deadline() {
    return SystemClock::instance().monotonic_ns() + patience_ns;
}

/// Both sides have each other's key.
std::pair<StreamKeys, StreamKeys> two_friends() {
    StreamKeys one = make_keys(), other = make_keys();
    one.allowed = {other.own_public};
    other.allowed = {one.own_public};
    return {one, other};
}
StreamConfig with(const StreamKeys& keys) {
    StreamConfig config = small_config();
    config.keys = std::make_shared<const StreamKeys>(keys);
    return config;
}

/// Accepts until a peer is refused or taken; returns the reason of a refusal.
std::future<ListenerCounter> first_outcome(Listener& listener, CounterPage& page, Counters<ListenerCounter> counters) {
    return std::async(std::launch::async, [&listener, counters, stream = page.add_block<StreamCounter>("far")] {
        while (listener.accept(stream, 1'000'000) == nullptr) {
            for (auto cause = static_cast<std::uint8_t>(refused_silent);
                 cause < static_cast<std::uint8_t>(ListenerCounter::count); ++cause)
                if (counters[static_cast<ListenerCounter>(cause)] > 0) return static_cast<ListenerCounter>(cause);
        }
        return accepted;
    });
}

/// The listener's verdict when these two meet; the side that connects must be refused or refuse.
ListenerCounter meet_in_vain(const StreamConfig& listens, const StreamConfig& connects) {
    CounterPage page;
    const auto counters = page.add_block<ListenerCounter>("listener");
    Listener listener("tcp://127.0.0.1:0", listens, counters);
    auto outcome = first_outcome(listener, page, counters);
    CounterPage own;
    EXPECT_THROW(connect(listener.address(), connects, own.add_block<StreamCounter>("near")), ConfigError);
    return outcome.get();
}

TEST(Keys, TwoWhoKnowEachOtherComeTogether) {
    const auto [one, other] = two_friends();
    test::FabricPair pair("tcp", with(one), with(other));
    EXPECT_EQ(pair.near->send(std::array<std::byte, 8>{}, patience_ns).status, StreamStatus::ok);
    std::array<std::byte, 8> room;
    EXPECT_EQ(pair.far->recv_all(room, patience_ns).status, StreamStatus::ok);
}

TEST(Keys, AKeyThatNobodyKnowsIsRefused) {
    auto [one, other] = two_friends();
    other.allowed = {make_keys().own_public};
    EXPECT_EQ(meet_in_vain(with(other), with(one)), refused_key);
    std::tie(one, other) = two_friends();
    one.allowed = {make_keys().own_public};  // who connects does not know who listens, and says so by leaving
    EXPECT_NE(meet_in_vain(with(other), with(one)), accepted);
}

TEST(Keys, WhoHasNoneMeetsNobodyWhoHas) {
    const auto [one, other] = two_friends();
    EXPECT_EQ(meet_in_vain(with(other), small_config()), refused_key);
    EXPECT_EQ(meet_in_vain(small_config(), with(one)), refused_key);
}

TEST(Keys, AStolenNameIsNotEnough) {
    auto [one, other] = two_friends();
    one.own_secret = make_keys().own_secret;
    EXPECT_EQ(meet_in_vain(with(other), with(one)), refused_gone) << "who connects cannot check the listener's proof";
    std::tie(one, other) = two_friends();
    other.own_secret = make_keys().own_secret;
    EXPECT_NE(meet_in_vain(with(other), with(one)), accepted);
}

/// Two sessions over a pair of sockets.
struct Sessions {
    explicit Sessions(const StreamKeys& listens, const StreamKeys& connects) {
        std::array<int, 2> pair{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
        const Descriptor near(pair[0]), far(pair[1]);
        auto opened = std::async(std::launch::async,
                                 [&] { return Session::open(far, FabricSide::listener, listens, deadline()); });
        connector = Session::open(near, FabricSide::connector, connects, deadline());
        listener = opened.get();
    }
    Session connector, listener;
};

TEST(Keys, ATagIsOfItsWordsItsSideAndItsConnection) {
    const auto [one, other] = two_friends();
    const Sessions first(other, one), second(other, one);
    std::array<std::byte, 100> words{};
    const Tag tag = first.connector.tag_of(words);
    EXPECT_TRUE(first.listener.is_genuine(tag, words));
    EXPECT_FALSE(second.listener.is_genuine(tag, words)) << "said again in another connection";
    EXPECT_FALSE(first.connector.is_genuine(tag, words)) << "sent back to who said it";
    words[99] = std::byte{1};
    EXPECT_FALSE(first.listener.is_genuine(tag, words));
    EXPECT_FALSE(first.listener.is_genuine(Tag{}, words));
}

/// A peer that knows the public keys and begins as it should, but cannot make the tag of its hello.
TEST(Keys, AConnectorWithoutTheSecretKeyIsRefusedBeforeAnythingIsMadeForIt) {
    const auto [one, other] = two_friends();
    CounterPage page;
    const auto counters = page.add_block<ListenerCounter>("listener");
    Listener listener("tcp://127.0.0.1:0", with(other), counters);
    auto outcome = first_outcome(listener, page, counters);
    const Descriptor socket = connect_to(parse_address(listener.address()), deadline());
    KeyHello hello;
    hello.public_key = one.own_public;
    ASSERT_TRUE(send_all(socket, std::as_bytes(std::span(&hello, 1))));
    std::array<std::byte, sizeof(KeyHello) + sizeof(Tag)> answer;
    receive_all(socket, answer, deadline());
    FabricHello words;
    words.flags = hello_sends | hello_receives;
    words.ring_bytes = smallest_ring_bytes;
    words.transport = static_cast<std::uint32_t>(fabric::Transport::tcp);
    words.address_bytes = words.key_bytes = 40;
    std::array<std::byte, sizeof words + 80 + sizeof(Tag)> said{};
    std::memcpy(said.data(), &words, sizeof words);
    ASSERT_TRUE(send_all(socket, said));
    EXPECT_EQ(outcome.get(), refused_key);
}

TEST(Keys, AnAddressOfTheNetworkNeedsThemOrAWord) {
    CounterPage page;
    const auto counters = page.add_block<ListenerCounter>("listener");
    EXPECT_THROW(Listener("tcp://0.0.0.0:0", small_config(), counters), ConfigError);
    CounterPage own;
    EXPECT_THROW(connect("tcp://192.0.2.1:9", small_config(), own.add_block<StreamCounter>("near")), ConfigError);
    StreamConfig config = small_config();
    config.without_keys = true;
    const Listener meant("tcp://0.0.0.0:0", config, counters);
    const Listener keyed("tcp://0.0.0.0:0", with(make_keys()), counters);
    const Listener local("tcp://127.0.0.2:0", small_config(), counters);
}

}  // namespace
}  // namespace anello::stream::keys_test
