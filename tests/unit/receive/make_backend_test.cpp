// SPDX-License-Identifier: Apache-2.0
#include "receive/card/make_backend.hpp"

#include <gmock/gmock.h>

#include <memory>

#include "core/errors.hpp"
#include "receive/datagrams/udp_socket.hpp"
#include "unit/receive/veth_pair.hpp"

namespace anello::receive {
namespace {

const BackendInfo& named(const std::vector<BackendInfo>& all, const std::string& name) {
    for (const BackendInfo& info : all)
        if (info.name == name) return info;
    throw std::out_of_range(name);
}

TEST(MakeBackend, NamesAreReadAndWritten) {
    for (const auto kind :
         {BackendKind::socket, BackendKind::io_uring, BackendKind::af_xdp, BackendKind::pcap, BackendKind::nanet})
        EXPECT_EQ(parse_word<BackendKind>(name_of(kind), {}), kind);
    EXPECT_THROW(parse_word<BackendKind>("dpdk", {}), ConfigError);
}

TEST(MakeBackend, KeysOfAGroupAreRefusedWhereThereIsNone) {
    const Clock& clock = SystemClock::instance();
    EXPECT_THROW(make_backend({.group_interface = "lo", .ports = {0}}, clock), ConfigError);
    EXPECT_THROW(make_backend({.group_source = "127.0.0.2", .ports = {0}}, clock), ConfigError);
    EXPECT_NO_THROW(make_backend({.address = "239.1.2.3", .group_interface = "lo", .ports = {0}}, clock));
}

TEST(MakeBackend, EveryWayIsProbedAndSaysWhyNot) {
    const std::vector<BackendInfo> found = probe_backends("lo");
    EXPECT_THAT(found, testing::SizeIs(6));
    for (const BackendInfo& info : found) {
        EXPECT_EQ(info.available, info.reason.empty()) << info.name;
        EXPECT_EQ(info.available, !info.mode.empty()) << info.name;
        EXPECT_THAT(info.reason, testing::Not(testing::HasSubstr("Success"))) << info.name << " failed at nothing";
    }
    EXPECT_TRUE(named(found, "socket").available);
    EXPECT_TRUE(named(found, "pcap").available);
    EXPECT_THAT(named(found, "nanet").reason, testing::HasSubstr("anello nanet library"));
    EXPECT_THAT(named(found, "af_xdp").reason, testing::HasSubstr("loopback"));
#ifndef ANELLO_IO_URING
    EXPECT_THAT(named(found, "io_uring").reason, testing::HasSubstr("liburing"));
#endif
}

/// Even the first port is refused, which only root may take.
TEST(MakeBackend, ProbingTakesAnyPortThatIsFree) {
    std::unique_ptr<UdpSocket> first;
    try {
        first = std::make_unique<UdpSocket>(UdpSocketConfig{.port = 1, .receive_buffer_bytes = 1 << 20});
    } catch (const SystemError& error) {
        GTEST_SKIP() << error.what();
    }
    EXPECT_TRUE(named(probe_backends("lo"), "socket").available);
}

TEST(MakeBackend, AnInterfaceThatIsNotThereIsNamed) {
    const std::vector<BackendInfo> found = probe_backends("nosuchdevice");
    EXPECT_THAT(named(found, "af_xdp").reason, testing::HasSubstr("nosuchdevice"));
}

TEST(MakeBackend, ProbingAnInterfaceLeavesNothingBehind) {
    if (const std::string reason = test::VethPair::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    const test::VethPair veth;
    for (int i = 0; i < 3; ++i) {
        const std::vector<BackendInfo> found = probe_backends(test::VethPair::receiver_interface);
        EXPECT_TRUE(named(found, "af_xdp").available) << named(found, "af_xdp").reason;
    }
    EXPECT_NE(std::system("ip link show anello-take | grep -q xdp"), 0);
    BackendConfig config;
    config.kind = BackendKind::af_xdp;
    config.address = test::VethPair::receiver_address;
    config.interface = test::VethPair::receiver_interface;
    config.ports = {0};
    const auto backend = make_backend(config, SystemClock::instance());
    EXPECT_NE(backend->port(0), 0);
    EXPECT_EQ(std::system("ip link show anello-take | grep -q xdp"), 0);
}

}  // namespace
}  // namespace anello::receive
