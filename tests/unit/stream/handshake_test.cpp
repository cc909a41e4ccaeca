// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"
#include "stream/control_socket.hpp"
#include "stream/ring/ring_memory.hpp"
#include "unit/stream/shared_pair.hpp"

/// Strangers that send anything but what docs/reference/stream-layout.md requires.
namespace anello::stream::handshake_test {
namespace {

using anello::test::patience_ns;
using test::Listening;
using test::small_config;
using test::unused_address;
using enum ListenerCounter;

struct Hello {
    std::uint64_t magic = magic_of("ANELSTRM");
    std::uint32_t version = 2, flags = 3;
    std::uint64_t ring_bytes = smallest_ring_bytes;
    std::array<std::uint64_t, 5> reserved{};
};

Nanoseconds deadline() {
    return SystemClock::instance().monotonic_ns() + patience_ns;
}

/// A stranger under a test's control, and the listener that must not take it.
class HandshakeTest : public testing::Test {
  protected:
    void knock() { socket_ = connect_to(listening_.listener.address(), deadline()); }
    void say(const Hello& hello, std::initializer_list<int> descriptors) {
        knock();
        const std::vector<int> given(descriptors);
        ASSERT_TRUE(send_packet(socket_, std::as_bytes(std::span(&hello, 1)), given));
    }
    void say_with(int ring, const Hello& hello = {}) { say(hello, {ring}); }
    void expect_refused(ListenerCounter cause) {
        EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr);
        EXPECT_EQ(listening_.counters[cause], 1U);
        EXPECT_EQ(listening_.counters[accepted], 0U);
    }

    Listening listening_{small_config()};
    CounterPage page_;
    Counters<StreamCounter> stranger_counters_ = page_.add_block<StreamCounter>("stranger");
    Descriptor socket_;
};

TEST_F(HandshakeTest, NobodyKnocks) {
    EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr);
}

TEST_F(HandshakeTest, ConnectsAndSaysNothing) {
    StreamConfig config = small_config();
    config.handshake_ns = 1'000'000;
    Listening hasty(config);
    const Descriptor silent = connect_to(hasty.listener.address(), deadline());
    EXPECT_EQ(hasty.listener.accept(stranger_counters_, 0), nullptr);
    EXPECT_EQ(hasty.counters[refused_silent], 1U);
}

TEST_F(HandshakeTest, ConnectsAndGoesAway) {
    knock();
    socket_ = Descriptor();
    expect_refused(refused_gone);
}

TEST_F(HandshakeTest, ListensAndHasNothingToSay) {
    knock();
    ASSERT_EQ(shutdown(socket_.number(), SHUT_WR), 0);
    expect_refused(refused_gone);
}

TEST_F(HandshakeTest, SaysSomethingElse) {
    knock();
    ASSERT_TRUE(send_packet(socket_, std::as_bytes(std::span("GET / HTTP/1.1", 14)), {}));
    expect_refused(refused_malformed);
}

TEST_F(HandshakeTest, SaysTooMuch) {
    knock();
    ASSERT_TRUE(send_packet(socket_, std::array<std::byte, 65>{}, {}));
    expect_refused(refused_malformed);
}

TEST_F(HandshakeTest, HasAnotherMagicOrVersion) {
    Hello hello;
    hello.magic ^= 1;
    say_with(0, hello);
    expect_refused(refused_malformed);
    hello = {};
    hello.version = 1;
    say_with(0, hello);
    expect_refused(refused_version);
}

TEST_F(HandshakeTest, GoesNoWayOrAnUnknownOne) {
    for (const std::uint32_t flags : {0U, 1U, 7U}) {
        Hello hello;
        hello.flags = flags;
        say_with(0, hello);
        EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr) << flags;
    }
    EXPECT_EQ(listening_.counters[refused_direction], 3U);
}

TEST_F(HandshakeTest, BringsTooFewDescriptorsOrTooMany) {
    const RingMemory ring = RingMemory::create(smallest_ring_bytes);
    say({}, {});
    expect_refused(refused_malformed);
    const Descriptor bell(eventfd(0, EFD_CLOEXEC));  // what version 1 brought, and could make us wait for
    say({}, {ring.descriptor(), bell.number(), bell.number()});
    EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr);
    EXPECT_EQ(listening_.counters[refused_malformed], 2U);
}

TEST_F(HandshakeTest, ClaimsAnotherSizeThanItsRingHas) {
    const RingMemory ring = RingMemory::create(smallest_ring_bytes);
    int n_refused = 0;
    for (const std::uint64_t claimed :
         {std::uint64_t{0}, std::uint64_t{smallest_ring_bytes / 2}, std::uint64_t{2 * smallest_ring_bytes},
          std::uint64_t{smallest_ring_bytes + 4096}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        Hello hello;
        hello.ring_bytes = claimed;
        say_with(ring.descriptor(), hello);
        EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr) << claimed;
        EXPECT_EQ(listening_.counters[refused_ring], static_cast<unsigned>(++n_refused)) << claimed;
    }
}

TEST_F(HandshakeTest, BringsARingOfASizeThatNoneHas) {
    int n_refused = 0;
    for (const std::size_t size_bytes : {smallest_ring_bytes / 2, 2 * smallest_ring_bytes + 4096}) {
        const RingMemory ring = RingMemory::create(size_bytes);  // which says the same of itself
        Hello hello;
        hello.ring_bytes = size_bytes;
        say_with(ring.descriptor(), hello);
        EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr) << size_bytes;
        EXPECT_EQ(listening_.counters[refused_ring], static_cast<unsigned>(++n_refused)) << size_bytes;
    }
}

TEST_F(HandshakeTest, BringsARingThatCouldShrinkUnderUs) {
    const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.number(), smallest_ring_bytes + sysconf(_SC_PAGESIZE)), 0);
    say_with(unsealed.number());
    expect_refused(refused_ring);
}

TEST_F(HandshakeTest, BringsNoMemoryAtAll) {
    const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
    say_with(null.number());
    expect_refused(refused_ring);
}

TEST_F(HandshakeTest, BringsARingWhoseHeaderLies) {
    for (int field = 0; field < 3; ++field) {
        const RingMemory ring = RingMemory::create(smallest_ring_bytes);
        if (field == 0) ring.header().magic = 0;
        if (field == 1) ring.header().version = 9;
        if (field == 2) ring.header().size_bytes *= 2;
        say_with(ring.descriptor());
        EXPECT_EQ(listening_.listener.accept(stranger_counters_, 0), nullptr) << field;
    }
    EXPECT_EQ(listening_.counters[refused_ring], 3U);
}

TEST_F(HandshakeTest, BringsALargerRingThanAllowed) {
    StreamConfig config = small_config();
    config.max_peer_ring_bytes = smallest_ring_bytes;
    Listening listening(config);
    const RingMemory ring = RingMemory::create(2 * smallest_ring_bytes);
    const Descriptor stranger = connect_to(listening.listener.address(), deadline());
    Hello hello;
    hello.ring_bytes = 2 * smallest_ring_bytes;
    const std::array given{ring.descriptor()};
    ASSERT_TRUE(send_packet(stranger, std::as_bytes(std::span(&hello, 1)), given));
    EXPECT_EQ(listening.listener.accept(stranger_counters_, 0), nullptr);
    EXPECT_EQ(listening.counters[refused_ring], 1U);
}

TEST_F(HandshakeTest, AfterStrangersAGoodPeerIsTaken) {
    knock();
    socket_ = Descriptor();
    auto far = std::async(std::launch::async,
                          [&] { return connect(listening_.listener.address(), small_config(), stranger_counters_); });
    CounterPage page;
    EXPECT_NE(listening_.listener.accept(page.add_block<StreamCounter>("near"), patience_ns), nullptr);
    EXPECT_NE(far.get(), nullptr);
    EXPECT_EQ(listening_.counters[refused_gone], 1U);
    EXPECT_EQ(listening_.counters[accepted], 1U);
}

TEST_F(HandshakeTest, DirectionsThatDoNotFitAreAnErrorOnBothSides) {
    auto accepting =
        std::async(std::launch::async, [&] { return listening_.listener.accept(stranger_counters_, 300'000'000); });
    CounterPage page;
    EXPECT_THROW(
        connect(listening_.listener.address(), small_config(Direction::send), page.add_block<StreamCounter>("near")),
        ConfigError);
    EXPECT_EQ(accepting.get(), nullptr);
    EXPECT_EQ(listening_.counters[refused_direction], 1U);
}

TEST(Listen, AnAddressInUseOrImpossibleIsAnError) {
    CounterPage page;
    const auto counters = page.add_block<ListenerCounter>("listener");
    const std::string address = unused_address();
    const Listener first(address, small_config(), counters);
    EXPECT_THROW(Listener(address, small_config(), counters), SystemError);
    EXPECT_THROW(Listener("", small_config(), counters), ConfigError);
    EXPECT_THROW(Listener(std::string(200, 'x'), small_config(), counters), ConfigError);
    EXPECT_THROW(Listener("/no/such/folder/socket", small_config(), counters), SystemError);
}

TEST(Listen, ASocketFileLeftOverIsReplacedAndOursIsRemoved) {
    const std::string path = std::filesystem::temp_directory_path() / ("anello-" + std::to_string(getpid()));
    CounterPage page;
    const auto counters = page.add_block<ListenerCounter>("listener");
    { const Descriptor left = listen_at(path); }
    ASSERT_TRUE(std::filesystem::exists(path));
    {
        const Listener listener(path, small_config(), counters);
        EXPECT_THROW(Listener(path, small_config(), counters), SystemError);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    // A file that is no socket must not be replaced.
    std::fclose(std::fopen(path.c_str(), "w"));
    EXPECT_THROW(Listener(path, small_config(), counters), SystemError);
    EXPECT_TRUE(std::filesystem::remove(path));
}

TEST(Connect, NobodyListensIsAnErrorThatNamesTheAddress) {
    StreamConfig config = small_config();
    config.connect_ns = 1;
    CounterPage page;
    try {
        connect("@anello-nobody", config, page.add_block<StreamCounter>("near"));
        FAIL();
    } catch (const SystemError& error) {
        EXPECT_NE(std::string(error.what()).find("@anello-nobody"), std::string::npos);
    }
}

TEST(Config, EveryFieldHasItsRule) {
    const auto refused = [](auto change) {
        StreamConfig config;
        config.spin_ns = 0;
        validate(config);
        change(config);
        EXPECT_THROW(validate(config), ConfigError);
    };
    refused([](StreamConfig& config) { config.ring_bytes = 100'000; });
    refused([](StreamConfig& config) { config.ring_bytes = 4096; });
    refused([](StreamConfig& config) { config.ring_bytes = std::size_t{1} << 40; });
    refused([](StreamConfig& config) { config.grain_bytes = 0; });
    refused([](StreamConfig& config) { config.max_peer_ring_bytes = 0; });
    refused([](StreamConfig& config) { config.spin_ns = -1; });
    refused([](StreamConfig& config) { config.connect_ns = 0; });
    refused([](StreamConfig& config) { config.handshake_ns = 0; });
    CounterPage page;
    StreamConfig config;
    config.ring_bytes = 100'000;
    EXPECT_THROW(connect("@anello-nobody", config, page.add_block<StreamCounter>("near")), ConfigError);
    for (const WaitMode mode : {WaitMode::spin, WaitMode::spin_then_sleep, WaitMode::block})
        EXPECT_EQ(parse_wait_mode(name_of(mode)), mode);
    for (const Direction direction : {Direction::both, Direction::send, Direction::receive})
        EXPECT_EQ(parse_direction(name_of(direction)), direction);
    EXPECT_THROW(parse_wait_mode("nap"), ConfigError);
    EXPECT_THROW(parse_direction("up"), ConfigError);
    EXPECT_STREQ(name_of(StreamStatus::corrupt), "corrupt");
}

}  // namespace
}  // namespace anello::stream::handshake_test
