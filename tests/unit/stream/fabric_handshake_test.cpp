// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "core/errors.hpp"
#include "stream/courier.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/stream_address.hpp"
#include "unit/stream/fabric_pair.hpp"

/// Strangers at the door of a stream over a network, and peers that break its rules once they are in.
namespace anello::stream::fabric_handshake_test {
namespace {

using anello::test::patience_ns;
using test::FabricPair;
using test::small_config;
using enum ListenerCounter;
using enum StreamStatus;

Nanoseconds deadline() {
    return SystemClock::instance().monotonic_ns() + patience_ns;
}

class FabricHandshakeTest : public testing::Test {
  protected:
    void knock(std::span<const std::byte> words) {
        socket_ = connect_to(parse_address(listener_.address()), deadline());
        if (!words.empty()) ASSERT_GT(::send(socket_.number(), words.data(), words.size(), MSG_NOSIGNAL), 0);
    }
    void say(const FabricHello& hello, std::size_t n_more = 0) {
        std::vector<std::byte> words(sizeof hello + n_more, std::byte{7});
        std::memcpy(words.data(), &hello, sizeof hello);
        knock(words);
    }
    void expect_refused(ListenerCounter cause, std::uint64_t n = 1) {
        EXPECT_EQ(listener_.accept(page_.add_block<StreamCounter>("stranger"), 0), nullptr);
        EXPECT_EQ(counters_[cause], n);
        EXPECT_EQ(counters_[accepted], 0U);
    }
    static FabricHello good() {
        FabricHello hello;
        hello.flags = 3;
        hello.ring_bytes = smallest_ring_bytes;
        hello.transport = static_cast<std::uint32_t>(fabric::Transport::tcp);
        hello.address_bytes = hello.key_bytes = 40;
        return hello;
    }

    CounterPage page_;
    Counters<ListenerCounter> counters_ = page_.add_block<ListenerCounter>("listener");
    Listener listener_{"tcp://127.0.0.1:0",
                       [] {
                           StreamConfig config = small_config();
                           config.handshake_ns = 20'000'000;
                           return config;
                       }(),
                       counters_};
    Descriptor socket_;
};

TEST_F(FabricHandshakeTest, SaysOnlyAPart) {
    knock(std::array{std::byte{7}});
    expect_refused(refused_silent);
    say(good(), 10);
    expect_refused(refused_silent, 2);
}

/// The listener does not even answer them, so that no peer waits for them one after the other.
TEST_F(FabricHandshakeTest, SilentStrangersKeepNobodyOut) {
    std::vector<Descriptor> silent;
    for (int i = 0; i < 40; ++i) silent.push_back(connect_to(parse_address(listener_.address()), deadline()));
    const auto near = page_.add_block<StreamCounter>("near"), far = page_.add_block<StreamCounter>("far");
    auto connecting =
        std::async(std::launch::async, [&, this] { return connect(listener_.address(), small_config(), far); });
    EXPECT_NE(listener_.accept(near, patience_ns), nullptr);
    EXPECT_NE(connecting.get(), nullptr);
    EXPECT_EQ(counters_[refused_silent], 0U);
    EXPECT_EQ(counters_[accepted], 1U);
}

TEST_F(FabricHandshakeTest, SaysSomethingElse) {
    FabricHello hello = good();
    hello.magic ^= 1;
    say(hello, 80);
    expect_refused(refused_malformed);
    hello = good();
    hello.address_bytes = largest_blob_bytes + 1;
    say(hello, 80);
    expect_refused(refused_malformed, 2);
    hello = good();
    hello.transport = 77;
    say(hello, 80);
    expect_refused(refused_malformed, 3);
    say(good(), 80);  // an address and a key that are none
    expect_refused(refused_malformed, 4);
    hello = good();
    hello.version = 1;
    say(hello, 80);
    expect_refused(refused_version);
    hello = good();
    hello.flags = 1;
    say(hello, 80);
    expect_refused(refused_direction);
}

TEST_F(FabricHandshakeTest, ClaimsARingThatCannotBe) {
    std::uint64_t n = 0;
    for (const std::uint64_t claimed :
         {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        FabricHello hello = good();
        hello.ring_bytes = claimed;
        say(hello, 80);
        expect_refused(refused_ring, ++n);
    }
}

/// A peer that connects as it should, and then sends any bytes.
struct Liar final : fabric::Listener {
    std::span<std::byte> place(fabric::Peer, std::span<const std::byte>, std::size_t) noexcept override { return {}; }
    void on_message(fabric::Peer, std::span<const std::byte>, std::span<std::byte>) noexcept override {}
    void on_signal(fabric::Peer, std::uint64_t) noexcept override {}
    void on_done(fabric::Peer, std::uint64_t, fabric::Status) noexcept override {}
    void on_peer(fabric::Peer, fabric::PeerState) noexcept override {}

    Liar(const std::string& address, std::uint64_t ring_bytes) {
        config.transport = fabric::Transport::tcp;
        config.self = 1;
        config.n_peers = 2;
        config.max_message_bytes = largest_piece_bytes;
        fabric = make_fabric(config, *this, SystemClock::instance(), page.add_block<fabric::FabricCounter>("liar"));
        const auto own = fabric->address(), key = fabric->key(fabric->register_memory(ring));
        control = connect_to(parse_address(address), deadline());
        FabricHello hello;
        hello.flags = 3;
        hello.ring_bytes = ring_bytes;
        hello.transport = static_cast<std::uint32_t>(fabric::Transport::tcp);
        hello.address_bytes = static_cast<std::uint32_t>(own.size());
        hello.key_bytes = static_cast<std::uint32_t>(key.size());
        tell(std::as_bytes(std::span(&hello, 1)));
        tell(own);
        tell(key);
        const Verdict ready;
        tell(std::as_bytes(std::span(&ready, 1)));
    }
    void tell(std::span<const std::byte> words) const {
        EXPECT_EQ(::send(control.number(), words.data(), words.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(words.size()));
    }
    /// Answers the hello, then sends `bits` with this number of bytes, until the other side breaks off.
    void lie(std::uint64_t bits, std::size_t n_bytes) {
        FabricHello hello;
        EXPECT_EQ(recv(control.number(), &hello, sizeof hello, MSG_WAITALL), static_cast<ssize_t>(sizeof hello));
        std::vector<std::byte> address(hello.address_bytes);
        EXPECT_GT(recv(control.number(), address.data(), address.size(), MSG_WAITALL), 0);
        fabric->connect(0, address);
        bool said = false;
        for (const Nanoseconds until = deadline();
             SystemClock::instance().monotonic_ns() < until && fabric->state(0) != fabric::PeerState::down;) {
            fabric->progress();
            if (!said && fabric->state(0) == fabric::PeerState::up)
                said = fabric->send(0, std::as_bytes(std::span(&bits, 1)), std::span(ring).first(n_bytes), 0) ==
                       fabric::Status::ok;
        }
    }

    CounterPage page;
    fabric::FabricConfig config;
    std::vector<std::byte> ring = std::vector<std::byte>(smallest_ring_bytes);
    std::unique_ptr<fabric::Fabric> fabric;
    Descriptor control;
};

StreamStatus what_comes_of(FabricSignal signal, std::size_t n_bytes, bool sending) {
    CounterPage page;
    Listener listener("tcp://127.0.0.1:0", small_config(), page.add_block<ListenerCounter>("listener"));
    auto lying = std::async(std::launch::async, [&, address = listener.address()] {
        Liar liar(address, smallest_ring_bytes);
        const int flags = fcntl(liar.control.number(), F_GETFL);
        fcntl(liar.control.number(), F_SETFL, flags & ~O_NONBLOCK);
        liar.lie(encode(signal), n_bytes);
    });
    StreamStatus status = ok;
    {
        const auto stream = listener.accept(page.add_block<StreamCounter>("near"), patience_ns);
        EXPECT_NE(stream, nullptr);
        if (stream == nullptr) return ok;
        std::vector<std::byte> room(smallest_ring_bytes);
        if (!sending) {
            status = stream->recv(room, patience_ns).status;
        } else {
            for (int n = 0; n < 3 && status == ok; ++n) status = stream->send(room, patience_ns).status;
        }
    }
    lying.wait();
    return status;
}

TEST(WrongIndex, AHeadThatCannotBeEndsTheStream) {
    EXPECT_EQ(what_comes_of({FabricWord::head, smallest_ring_bytes + 1}, 0, false), corrupt);
    EXPECT_EQ(what_comes_of({FabricWord::head, smallest_ring_bytes + 1000}, 500, false), peer_died);
}

TEST(WrongIndex, ATailBeyondWhatWasSentEndsTheStream) {
    EXPECT_EQ(what_comes_of({FabricWord::tail, 3 * smallest_ring_bytes}, 0, true), corrupt);
}

TEST_F(FabricHandshakeTest, TheKeyOfAnotherRingThanClaimed) {
    auto lying = std::async(std::launch::async, [&] {
        Liar liar(listener_.address(), 2 * smallest_ring_bytes);
        const int flags = fcntl(liar.control.number(), F_GETFL);
        fcntl(liar.control.number(), F_SETFL, flags & ~O_NONBLOCK);
        liar.lie(0, 0);
    });
    const auto stream = page_.add_block<StreamCounter>("liar");
    EXPECT_TRUE(anello::test::comes_true([&] {
        EXPECT_EQ(listener_.accept(stream, 1'000'000), nullptr);
        return counters_[refused_ring] > 0;
    }));
    EXPECT_EQ(counters_[refused_ring], 1U);
    lying.wait();
}

/// Half of a message is there when the peer goes; the fault-injecting fabric loses the peer on its own account.
TEST(PeerDeath, WithinAMessageAndByAFault) {
    FabricPair pair("tcp", small_config(), small_config());
    const std::array<std::uint64_t, 2> half{100, 1};
    pair.far->send(std::as_bytes(std::span(half)), patience_ns);
    pair.kill_far();
    ConstBytes message;
    EXPECT_EQ(pair.near->peek_message(message, patience_ns), peer_died);
    StreamConfig faulty = small_config();
    faulty.make_fabric = fabric::with_faults({.disconnect_after = 1});
    FabricPair lost("tcp", small_config(), faulty);
    std::vector<std::byte> many(8 * smallest_ring_bytes);
    EXPECT_EQ(lost.far->send(many, patience_ns).status, peer_died);
    EXPECT_EQ(lost.near->recv_all(many, patience_ns).status, peer_died);
    EXPECT_EQ(lost.far_counters[StreamCounter::sender_peer_died], 1U);
}

TEST(Address, WhatItMayBe) {
    EXPECT_EQ(parse_address("shm:///run/x").place, "/run/x");
    EXPECT_EQ(parse_address("@x").place, "@x");
    EXPECT_EQ(to_text(parse_address("ucx://127.0.0.1:7000")), "ucx://127.0.0.1:7000");
    for (const char* wrong : {"ucx://", "tcp://host:1", "tcp://127.0.0.1", "tcp://127.0.0.1:x", "tcp://127.0.0.1:99999",
                              "udp://127.0.0.1:1", "ib://127.0.0.1:1"})
        EXPECT_THROW(parse_address(wrong), ConfigError) << wrong;
    EXPECT_THROW(parse_carry("pigeon"), ConfigError);
}

}  // namespace
}  // namespace anello::stream::fabric_handshake_test
