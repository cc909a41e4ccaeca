// SPDX-License-Identifier: Apache-2.0
// Which programs may reach the sockets that UCX opens, and what strangers there cost.
#ifdef ANELLO_UCX
#include "fabric/ucx/ucx_connection_limiter.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <filesystem>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"
#include "fabric/ucx/ucx_devices.hpp"
#include "fabric/ucx/ucx_sockets.hpp"
#include "unit/fabric/raw_peer.hpp"

namespace anello::fabric {
namespace {

using conformance::Farm;
using test::RawSocket;

struct UcxOverTcp {
    static FabricConfig config() {
        FabricConfig config;
        config.transport = Transport::ucx;
        config.ucx_tls = "tcp";
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        return make_fabric(config, listener, clock, counters);
    }
};

/// The sockets at which a farm made after this listens.
class UcxSockets : public ::testing::Test {
  protected:
    std::vector<SocketName> opened() const { return ucx_sockets::added(before_, ucx_sockets::listening()); }
    /// Number of our ends of the connections that came to these.
    static std::size_t n_accepted(std::span<const SocketName> listening) {
        std::size_t n_found = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            const int descriptor = std::stoi(entry.path().filename());
            if (!ucx_sockets::contains(listening, ucx_sockets::here(descriptor))) continue;
            n_found += ucx_sockets::there(descriptor).port != 0 ? 1 : 0;
        }
        return n_found;
    }
    static std::vector<RawSocket> strangers(std::size_t n, const SocketName& at, std::string_view words) {
        std::vector<RawSocket> made;
        for (std::size_t i = 0; i < n; ++i) {
            made.emplace_back(SOCK_STREAM).connect_to(at.port);
            if (!words.empty()) made.back().send(std::as_bytes(std::span(words)));
        }
        return made;
    }

    const std::vector<SocketName> before_ = ucx_sockets::listening();
};

TEST_F(UcxSockets, ListensAtTheInterfaceOfTheHostOnly) {
    Farm<UcxOverTcp> farm(1);
    ASSERT_FALSE(opened().empty());
    for (const SocketName& name : opened()) EXPECT_EQ(name.ipv4, htonl(INADDR_LOOPBACK));
}

TEST_F(UcxSockets, DoesNotListenAtAllWhereMemoryIsShared) {
    Farm<UcxOverTcp> farm(2, [](FabricConfig& config) { config.ucx_tls.clear(); });
    EXPECT_TRUE(opened().empty());
    farm.connect_all();
    EXPECT_TRUE(opened().empty());
}

TEST_F(UcxSockets, AHostThatIsNoneOfThisMachineIsRefusedWithARemedy) {
    FabricConfig config = UcxOverTcp::config();
    for (const char* const host : {"192.0.2.200", "0.0.0.0", "name"}) {
        config.host = host;
        EXPECT_THROW(ucx_devices(config), ConfigError) << host;
    }
    config.ucx_net_devices = "lo";
    EXPECT_EQ(ucx_devices(config).net_devices, "lo") << "what is named is not looked for";
}

TEST(UcxDevices, KnowWhichVersionsBearBrokenConnections) {
    const auto bears = [](std::uint64_t major, std::uint64_t minor) {
        return bears_broken_connections(major << 32 | minor);
    };
    EXPECT_FALSE(bears(1, 21));
    EXPECT_TRUE(bears(1, 22));
    EXPECT_TRUE(bears(2, 0));
}

TEST_F(UcxSockets, OnlyThoseOfUcxKeepSilentStrangersOut) {
    const RawSocket ours(SOCK_STREAM), others(SOCK_STREAM);
    for (const RawSocket* const each : {&ours, &others}) ASSERT_EQ(listen(each->number(), 1), 0);
    const auto keeps_out = [](const RawSocket& of) {
        int for_seconds = 0;
        socklen_t n_bytes = sizeof for_seconds;
        EXPECT_EQ(getsockopt(of.number(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &for_seconds, &n_bytes), 0);
        return for_seconds > 0;
    };
    ucx_sockets::keep_silent_out({});
    EXPECT_FALSE(keeps_out(ours));
    ucx_sockets::keep_silent_out(std::vector{ucx_sockets::here(ours.number())});
    EXPECT_TRUE(keeps_out(ours));
    EXPECT_FALSE(keeps_out(others));
}

TEST_F(UcxSockets, SilentStrangersGetNoDescriptorAndAPeerComesIn) {
    if (!test::may_open(1200)) GTEST_SKIP() << "a process may not open 1200 descriptors here";
    Farm<UcxOverTcp> farm(2);
    const std::vector<SocketName> listening = opened();
    const std::vector<RawSocket> silent = strangers(1000, listening.front(), "");
    farm.pass(1'000'000'000);
    EXPECT_EQ(n_accepted(listening), 0U);
    farm.connect_all();
    EXPECT_LE(n_accepted(listening), 8U);
}

TEST_F(UcxSockets, WhoSaysTooLittleIsClosedAndPeersAreNot) {
    Farm<UcxOverTcp> farm(2);
    farm.connect_all();
    const std::vector<SocketName> listening = opened();
    const std::size_t n_peers = n_accepted(listening);
    ASSERT_GT(n_peers, 0U);
    const std::vector<RawSocket> mumbling = strangers(100, listening.front(), "x");
    EXPECT_TRUE(farm.until([&] { return n_accepted(listening) == n_peers + mumbling.size(); }));
    farm.pass(2 * farm.config().heartbeat_ns);
    EXPECT_TRUE(
        farm.until([&] { return n_accepted(listening) <= n_peers + 2 * UcxConnectionLimiter::max_unanswered; }));
    farm.pass(2 * UcxConnectionLimiter::patience_ns);
    EXPECT_TRUE(farm.until([&] { return n_accepted(listening) == n_peers; }));
    EXPECT_GE(farm.count(FabricCounter::strangers_refused), mumbling.size());
    EXPECT_TRUE(farm.all_up());
    EXPECT_EQ(farm.count(FabricCounter::peers_down), 0U);
}

/// A limiter before a socket of our own, which replaces UCX: it accepts connections and sends nothing.
class Door : public ::testing::Test {
  protected:
    Door() : port_(listening_.bind_somewhere()) { EXPECT_EQ(listen(listening_.number(), 64), 0); }
    /// Connects n strangers, whose connections are accepted.
    void come(std::size_t n) {
        const std::byte word{'x'};
        for (std::size_t i = 0; i < n; ++i) {
            strangers_.emplace_back(SOCK_STREAM).connect_to(port_);
            strangers_.back().send({&word, 1});
            taken_.emplace_back(Descriptor(accept(listening_.number(), nullptr, nullptr)));
        }
    }
    void all_leave() {
        taken_.clear();
        strangers_.clear();
    }

    RawSocket listening_{SOCK_STREAM};
    std::uint16_t port_;
    std::vector<RawSocket> strangers_, taken_;
    UcxConnectionLimiter door_{std::vector{ucx_sockets::here(listening_.number())}};
};

TEST_F(Door, WhoGetsNoAnswerIsClosedAfterItsTime) {
    constexpr Nanoseconds begin_ns = 5 * UcxConnectionLimiter::patience_ns;
    come(1);
    EXPECT_EQ(door_.close_strangers(begin_ns), 0U);
    EXPECT_EQ(door_.close_strangers(begin_ns + UcxConnectionLimiter::patience_ns - 1), 0U);
    EXPECT_FALSE(strangers_.back().ended());
    EXPECT_EQ(door_.close_strangers(begin_ns + UcxConnectionLimiter::patience_ns), 1U);
    EXPECT_TRUE(strangers_.back().ended());
}

TEST_F(Door, WhoIsGoneLeavesItsTimeToTheNext) {
    come(UcxConnectionLimiter::max_unanswered);
    EXPECT_EQ(door_.close_strangers(1), 0U);
    come(1);
    EXPECT_EQ(door_.close_strangers(1), 1U) << "they are too many";
    all_leave();
    EXPECT_EQ(door_.close_strangers(2), 0U);
    come(1);
    EXPECT_EQ(door_.close_strangers(3), 0U);
}

TEST_F(UcxSockets, WhoSpeaksAnotherLanguageIsClosedByUcx) {
    Farm<UcxOverTcp> farm(2);
    farm.connect_all();
    const std::vector<SocketName> listening = opened();
    const std::size_t n_peers = n_accepted(listening);
    const std::vector<RawSocket> browsers = strangers(10, listening.front(), "GET / HTTP/1.1\r\n\r\n");
    farm.pass(2 * UcxConnectionLimiter::patience_ns);
    EXPECT_TRUE(farm.until([&] { return n_accepted(listening) == n_peers; }));
    EXPECT_TRUE(farm.all_up());
}

}  // namespace
}  // namespace anello::fabric
#endif
