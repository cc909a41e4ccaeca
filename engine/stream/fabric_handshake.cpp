// SPDX-License-Identifier: Apache-2.0
#include "stream/fabric_handshake.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "stream/control_connection.hpp"
#include "stream/courier.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/stream_address.hpp"

namespace anello::stream {
namespace {

using Blob = std::vector<std::byte>;

constexpr std::uint32_t pieces_under_way = 64;

struct Heard {
    FabricHello hello;
    Blob address, key;
};

/// Null if there are no keys.
using MaybeSession = std::optional<Session>;

Blob joined(const FabricHello& hello, const Blob& address, const Blob& key) {
    const std::span words = std::as_bytes(std::span(&hello, 1));
    Blob all(words.begin(), words.end());
    all.insert(all.end(), address.begin(), address.end());
    all.insert(all.end(), key.begin(), key.end());
    return all;
}

template <typename T>
std::span<std::byte> bytes_of(T& packet) noexcept {
    return std::as_writable_bytes(std::span(&packet, 1));
}

Nanoseconds left_ns(Nanoseconds deadline_ns) noexcept {
    return deadline_ns - SystemClock::instance().monotonic_ns();
}

void check(const FabricHello& hello, fabric::Transport transport, const StreamConfig& config) {
    if (hello.magic == key_hello_magic) throw Refused{Refusal::key, "the other side has keys, and we have none"};
    if (hello.magic == fabric_hello_magic && hello.version != fabric_hello_version)
        throw Refused{Refusal::version,
                      fmt::format("the other side has version {}, we have {}", hello.version, fabric_hello_version)};
    if (!well_formed(hello) || hello.transport != static_cast<std::uint32_t>(transport))
        throw Refused{Refusal::malformed, "the other side's hello is not ours, or of another transport"};
    agree_on_direction(hello.flags, config.direction);
    const bool has_ring = (hello.flags & hello_receives) != 0;
    const bool good_size = std::has_single_bit(hello.ring_bytes) && hello.ring_bytes >= smallest_ring_bytes &&
                           hello.ring_bytes <= std::min(largest_ring_bytes, config.max_peer_ring_bytes);
    if (has_ring ? !good_size : hello.ring_bytes != 0)
        throw Refused{Refusal::ring, fmt::format("the other side's ring of {} bytes is no power of two, or above our "
                                                 "limit of {}",
                                                 hello.ring_bytes, config.max_peer_ring_bytes)};
}

/// Uses nothing that a peer says about itself before its tag has been verified.
Heard hear(const Descriptor& control, fabric::Transport transport, const StreamConfig& config,
           const MaybeSession& session, Nanoseconds deadline_ns) {
    Heard heard;
    receive_all(control, bytes_of(heard.hello), deadline_ns);
    check(heard.hello, transport, config);
    heard.address.resize(heard.hello.address_bytes);
    heard.key.resize(heard.hello.key_bytes);
    receive_all(control, heard.address, deadline_ns);
    receive_all(control, heard.key, deadline_ns);
    if (!session) return heard;
    Tag tag{};
    receive_all(control, std::as_writable_bytes(std::span(tag)), deadline_ns);
    if (!session->is_genuine(tag, joined(heard.hello, heard.address, heard.key)))
        throw Refused{Refusal::key, "the other side does not have the key that it named"};
    return heard;
}

void say(const Descriptor& control, const Courier& courier, fabric::Transport transport, std::uint64_t farm_id,
         const StreamConfig& config, const MaybeSession& session) {
    const Blob address = courier.address(), key = courier.key();
    FabricHello hello;
    hello.flags = flags_of(config.direction);
    hello.ring_bytes = config.direction == Direction::send ? 0 : config.ring_bytes;
    hello.farm_id = farm_id;
    hello.transport = static_cast<std::uint32_t>(transport);
    hello.address_bytes = static_cast<std::uint32_t>(address.size());
    hello.key_bytes = static_cast<std::uint32_t>(key.size());
    Blob words = joined(hello, address, key);
    if (session) {
        const Tag tag = session->tag_of(words);
        const std::span tag_bytes = std::as_bytes(std::span(tag));
        words.insert(words.end(), tag_bytes.begin(), tag_bytes.end());
    }
    if (!send_all(control, words)) refuse_gone();
}

std::shared_ptr<Courier> make_courier(const Descriptor& control, fabric::Transport transport, FabricSide side,
                                      std::uint64_t farm_id, const StreamConfig& config,
                                      Counters<StreamCounter> counters) {
    fabric::FabricConfig fabric_config;
    fabric_config.transport = transport;
    fabric_config.self = side == FabricSide::listener ? 0 : 1;
    fabric_config.n_peers = 2;
    fabric_config.farm_id = farm_id;
    fabric_config.max_message_bytes = largest_piece_bytes;
    fabric_config.max_in_flight = pieces_under_way;
    fabric_config.host = own_host(control);
    fabric_config.ucx_tls = config.ucx_tls;
    fabric_config.peer_timeout_ns = config.peer_timeout_ns;
    fabric_config.heartbeat_ns = config.peer_timeout_ns / 5;
    fabric_config.connect_timeout_ns = config.connect_ns;
    return std::make_shared<Courier>(config, fabric_config, counters);
}

/// Waits until the fabric reaches the other side; its verdict may still be negative.
void reach(Courier& courier, const Descriptor& control, const Heard& heard, Nanoseconds deadline_ns) {
    try {
        courier.connect(heard.address);
        while (!courier.up()) {
            if (!courier.wait_a_little(control)) refuse_gone();
            if (left_ns(deadline_ns) <= 0) refuse_silent();
        }
    } catch (const ConfigError& error) {
        throw Refused{Refusal::malformed, error.what()};
    }
    try {
        courier.attach(heard.key, heard.hello.ring_bytes);
    } catch (const ConfigError& error) {
        throw Refused{Refusal::ring, error.what()};
    }
}

/// Keeps the fabric working, because the other side may still be connecting to us.
void agree(Courier& courier, const Descriptor& control, Nanoseconds deadline_ns) {
    Verdict verdict;
    if (!send_all(control, bytes_of(verdict))) refuse_gone();
    for (;;) {
        const ssize_t n_bytes = recv(control.number(), &verdict, sizeof verdict, MSG_PEEK | MSG_DONTWAIT);
        if (n_bytes == sizeof verdict) break;
        if (n_bytes == 0 || (n_bytes < 0 && errno != EAGAIN && errno != EINTR)) refuse_gone();
        if (left_ns(deadline_ns) <= 0) refuse_silent();
        if (!courier.wait_a_little(control)) refuse_gone();
    }
    receive_all(control, bytes_of(verdict), deadline_ns);
    if (verdict.magic != Verdict().magic) throw Refused{Refusal::malformed, "the other side's verdict is not ours"};
    if (verdict.refusal != 0)
        throw Refused{Refusal::gone, fmt::format("the other side refused us (reason {})", verdict.refusal)};
}

}  // namespace

Handshake shake_hands_over_fabric(Descriptor control, fabric::Transport transport, FabricSide side,
                                  const StreamConfig& config, Nanoseconds deadline_ns,
                                  Counters<StreamCounter> counters) {
    try {
        Heard heard;
        std::shared_ptr<Courier> courier;
        MaybeSession session;
        if (config.keys != nullptr) session = Session::open(control, side, *config.keys, deadline_ns);
        if (side == FabricSide::connector) {
            const std::uint64_t farm_id = std::uint64_t{std::random_device()()} << 32 | std::random_device()();
            courier = make_courier(control, transport, side, farm_id, config, counters);
            say(control, *courier, transport, farm_id, config, session);
            heard = hear(control, transport, config, session, deadline_ns);
        } else {
            heard = hear(control, transport, config, session, deadline_ns);
            // The peer has proved its identity; opening a transport may take longer than the limit for unknown peers.
            deadline_ns = std::max(deadline_ns, SystemClock::instance().monotonic_ns() + config.connect_ns);
            courier = make_courier(control, transport, side, heard.hello.farm_id, config, counters);
            say(control, *courier, transport, heard.hello.farm_id, config, session);
        }
        reach(*courier, control, heard, deadline_ns);
        agree(*courier, control, deadline_ns);
        return {Refusal::none, {}, Courier::start(std::move(courier), std::move(control))};
    } catch (const Refused& refused) {
        Verdict verdict;
        verdict.refusal = static_cast<std::uint64_t>(refused.refusal);
        send_all(control, bytes_of(verdict));
        return {refused.refusal, refused.reason, {}};
    }
}

}  // namespace anello::stream
