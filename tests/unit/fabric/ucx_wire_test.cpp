// SPDX-License-Identifier: Apache-2.0
#ifdef ANELLO_UCX
#include "fabric/ucx/ucx_wire.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <vector>

#include "core/errors.hpp"
#include "fabric/peer_address.hpp"

namespace anello::fabric {
namespace {

std::vector<std::byte> header_bytes(UcxKind kind, std::size_t n_body, std::uint8_t n_said) {
    const UcxHeader header{.farm_id = 7, .link = 9, .sequence = 3, .sender = 1, .kind = kind, .body_bytes = n_said};
    std::vector<std::byte> bytes(sizeof header + n_body);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

TEST(UcxWire, AHeaderWhoseLengthsDoNotAgreeIsRefused) {
    UcxHeader header{};
    std::span<const std::byte> body;
    EXPECT_FALSE(parse({}, header, body));
    EXPECT_FALSE(parse(std::vector<std::byte>(sizeof(UcxHeader) - 1), header, body));
    EXPECT_TRUE(parse(header_bytes(UcxKind::message, 64, 64), header, body));
    EXPECT_EQ(body.size(), 64U);
    EXPECT_EQ(header.link, 9U);
    EXPECT_FALSE(parse(header_bytes(UcxKind::message, 10, 11), header, body));
    EXPECT_FALSE(parse(header_bytes(UcxKind::message, 65, 65), header, body));
    EXPECT_FALSE(parse(header_bytes(UcxKind::signal, 7, 7), header, body));
    EXPECT_FALSE(parse(header_bytes(UcxKind::hello, 63, 63), header, body));
    EXPECT_FALSE(parse(header_bytes(UcxKind::bye, 1, 1), header, body));
    EXPECT_FALSE(parse(header_bytes(static_cast<UcxKind>(200), 0, 0), header, body));
}

RC_GTEST_PROP(UcxWire, AnyBytesAreParsedOrRefused, (const std::vector<std::uint8_t>& bytes)) {
    UcxHeader header{};
    std::span<const std::byte> body;
    if (parse(std::as_bytes(std::span(bytes)), header, body)) RC_ASSERT(body.size() + sizeof header == bytes.size());
}

RC_GTEST_PROP(UcxWire, ADamagedAddressOrKeyIsRefused, (std::uint64_t where, std::uint8_t flip)) {
    FabricConfig config;
    config.self = 1;
    config.n_peers = 2;
    config.farm_id = 5;
    const UcxAddress address{
        .incarnation = 11, .listening = {{1, 2, 0}, {3, 4, 0}}, .worker = std::vector<std::byte>(100, std::byte{8})};
    const UcxKey key{.farm_id = 5, .incarnation = 11, .address = 4096, .size_bytes = 10, .remote_key = {std::byte{1}}};
    std::vector<std::byte> one = encode(address, config), other = encode(key);
    const UcxAddress decoded = decode_ucx_address(one, 1, config);
    RC_ASSERT(decoded.worker == address.worker);
    RC_ASSERT(decoded.listening == address.listening);
    RC_ASSERT(decode_ucx_key(other, 5).remote_key == key.remote_key);
    RC_ASSERT_THROWS_AS(decode_ucx_key(other, 6), ConfigError);
    const auto damage = static_cast<std::byte>(flip | 1);
    one[where % one.size()] ^= damage;
    other[where % other.size()] ^= damage;
    RC_ASSERT_THROWS_AS(decode_ucx_address(one, 1, config), ConfigError);
    RC_ASSERT_THROWS_AS(decode_ucx_key(other, 5), ConfigError);
    one.resize(where % one.size());
    RC_ASSERT_THROWS_AS(decode_ucx_address(one, 1, config), ConfigError);
}

TEST(UcxWire, AnAddressOfAnotherVersionOfUcxIsRefusedByName) {
    FabricConfig config;
    config.self = 1;
    config.n_peers = 2;
    UcxAddress address{.incarnation = 11, .listening = {}, .worker = std::vector<std::byte>(100, std::byte{8})};
    EXPECT_EQ(decode_ucx_address(encode(address, config), 1, config).incarnation, 11U);
    address.ucx_version = std::uint64_t{1} << 32 | 999;
    try {
        decode_ucx_address(encode(address, config), 1, config);
        FAIL() << "UCX would have read it";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.given(), "1.999");
    }
}

TEST(UcxWire, TransportsThatAreNotHereAreRefusedWithARemedy) {
    FabricConfig config;
    config.ucx_tls = "rc_mlx5_that_is_not";
    class Nobody final : public Listener {
        std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t) noexcept override { return {}; }
        void on_message(Peer, std::span<const std::byte>, std::span<std::byte>) noexcept override {}
        void on_signal(Peer, std::uint64_t) noexcept override {}
        void on_done(Peer, std::uint64_t, Status) noexcept override {}
        void on_peer(Peer, PeerState) noexcept override {}
    } nobody;
    CounterPage page;
    try {
        make_fabric(config, nobody, SystemClock::instance(), page.add_block<FabricCounter>("fabric"));
        FAIL() << "UCX took a transport that does not exist";
    } catch (const ConfigError& error) {
        EXPECT_EQ(error.field(), "fabric.ucx_tls");
        EXPECT_NE(error.given().find("rc_mlx5_that_is_not"), std::string::npos);
    }
}

}  // namespace
}  // namespace anello::fabric
#endif
