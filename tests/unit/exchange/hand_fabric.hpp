// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "exchange/messages/messages.hpp"
#include "fabric/fabric.hpp"

namespace anello::exchange::test {

/// A transport for one unit alone: it keeps what it is given and answers as the test decides.
class HandFabric final : public fabric::Fabric {
  public:
    struct Sent {
        fabric::Peer to;
        MessageHeader header;
        std::vector<std::byte> payload;
        std::uint64_t token;

        template <typename Entry>
        std::vector<Entry> entries() const {
            std::vector<Entry> all(header.n_entries);
            for (std::size_t i = 0; i < all.size(); ++i) read(payload.data() + i * entry_bytes, all[i]);
            return all;
        }
    };

    std::vector<Sent> sent;
    fabric::Status answer = fabric::Status::ok;

    /// Messages sent since the last call.
    std::vector<Sent> take() { return std::exchange(sent, {}); }

    fabric::Status send(fabric::Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                        std::uint64_t token) noexcept override {
        if (answer != fabric::Status::ok) return answer;
        sent.push_back({to, {}, {payload.begin(), payload.end()}, token});
        read(header, sent.back().header);
        return answer;
    }
    std::vector<std::byte> address() const override { return {}; }
    void connect(fabric::Peer, std::span<const std::byte>) override {}
    void disconnect(fabric::Peer) noexcept override {}
    fabric::Region register_memory(std::span<std::byte>) override { return {}; }
    void deregister(fabric::Region) noexcept override {}
    std::vector<std::byte> key(fabric::Region) const override { return {}; }
    fabric::RemoteRegion attach(fabric::Peer, std::span<const std::byte>) override { return {}; }
    fabric::Status put(fabric::RemoteRegion, std::size_t, std::span<const std::byte>, std::uint64_t,
                       std::uint64_t) noexcept override {
        return fabric::Status::refused;
    }
    fabric::Status get(fabric::RemoteRegion, std::size_t, std::span<std::byte>, std::uint64_t) noexcept override {
        return fabric::Status::refused;
    }
    std::size_t progress() noexcept override { return 0; }
    int descriptor() const noexcept override { return -1; }
    bool arm() noexcept override { return false; }
    void wake() noexcept override {}
    fabric::PeerState state(fabric::Peer) const noexcept override { return fabric::PeerState::up; }
    std::size_t max_message_bytes() const noexcept override { return 1 << 20; }
    bool reliable() const noexcept override { return true; }
    std::string describe() const override { return "by hand"; }
};

}  // namespace anello::exchange::test
