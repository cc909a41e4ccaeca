// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "simulate/packet.hpp"
#include "simulate/world/switches.hpp"
#include "simulate/world/world.hpp"
#include "source/random.hpp"

namespace anello::simulate {

/// When the sender of a message is told that it is done. copied: the system has copied it, as TCP does; it may still be
/// lost with the connection. arrived: the receiver has it, and meanwhile it is read from the sender's memory, as by a
/// card that sends without a copy (UCX).
enum class DoneWhen : std::uint8_t { copied, arrived };

struct NetworkConfig {
    std::uint16_t n_nodes = 2;
    double gbps = 10;  ///< of each card, in each direction
    Nanoseconds latency_ns = 5'000;
    Nanoseconds jitter_ns = 0;  ///< less than so much more
    DoneWhen done_when = DoneWhen::copied;
    /// copied: of each connection, how many bytes may be sent that the receiver has not read; one message always may.
    std::size_t window_bytes = std::size_t{512} << 10;
    /// Of each message's payload; what is behind stays as it is at the receiver, where nobody may look at it.
    std::size_t carried_bytes = std::numeric_limits<std::size_t>::max();
    bool reliable = true;
    double loss = 0, duplicate = 0;  ///< of messages, where it is not reliable
    std::uint64_t seed = 1;
    std::size_t packet_bytes = 1448, packet_overhead_bytes = 78;  ///< Ethernet, IP, TCP, preamble and gap
    /// Of a message with this header: how many bytes on the wire one of its payload stands for; none: one.
    std::function<double(std::span<const std::byte> header)> weight_of{};
    std::uint16_t nodes_per_leaf = 0;  ///< 0: one switch with room for everything; else two levels (SwitchesConfig)
    std::uint16_t n_spines = 1;
    double uplink_gbps = 0;  ///< 0: as the cards
    double card_sum_gbps = 0;
    std::size_t buffer_bytes = std::size_t{64} << 10, cell_bytes = 4096;
    Routing routing = Routing::destination;
    std::uint32_t n_failed_cables = 0;

    SwitchesConfig switches() const;
    void validate() const;  ///< Throws ConfigError.
};

/// The network's end at a node: a process that has a fabric.
class Port {
  public:
    virtual ~Port() = default;
    virtual void on_head(const PacketPointer& packet) noexcept = 0;  ///< The first bytes of one with a payload.
    virtual void on_tail(const PacketPointer& packet) noexcept = 0;
};

/// One card per node, between them a switch with room for everything, or two levels of them (Switches). A card sends
/// one packet at a time, and takes in one at a time. Packets of one pair of nodes keep their order where the network is
/// reliable. What comes to a link that is cut waits until it is mended, or is lost where the network may lose.
class Network final : private Actor, private Switches::Exit {
  public:
    Network(const NetworkConfig& config, World& world);

    World& world() noexcept { return world_; }
    const NetworkConfig& config() const noexcept { return config_; }
    std::uint64_t new_number() noexcept { return ++last_number_; }

    void join(Node node, Port& port) noexcept;
    void leave(Node node, const Port& port) noexcept;
    void send(PacketPointer packet);
    /// Called with each packet that arrives.
    void on_delivery(std::function<void(const Packet&)> told) { told_ = std::move(told); }

    /// Of each link, where there are switches.
    std::vector<LinkLoad> loads() const { return switches_ ? switches_->loads() : std::vector<LinkLoad>{}; }

    // Faults
    void cut(Node from, Node to) noexcept;
    void mend(Node from, Node to) noexcept;
    /// A node's card is so many times slower.
    void slow_down(Node node, double factor) noexcept;
    /// What had not left the card never does, and whoever speaks to the node hears nothing, until a process joins.
    void lose_power(Node node) noexcept;

  private:
    struct Card {
        Nanoseconds sends_until_ns = 0, takes_until_ns = 0;
        double slowness = 1;
        Nanoseconds lost_power_ns = std::numeric_limits<Nanoseconds>::min();
        bool is_off = false;
    };
    struct Path {
        int n_cuts = 0;
        Nanoseconds last_head_ns = 0;
        std::vector<PacketPointer> held{};
    };
    enum class Phase : std::uint8_t { head, tail, enter };

    void on_event(std::uint64_t what) noexcept override;
    void put_down(Nanoseconds when_ns, Phase phase, PacketPointer packet);
    void decide_fate(const PacketPointer& packet);
    void arrive(PacketPointer packet);
    void enter(PacketPointer packet);
    void on_first_bytes(const PacketPointer& packet) noexcept override;
    void on_last_byte(const PacketPointer& packet) noexcept override;
    void deliver(const PacketPointer& packet);
    bool may_be_lost(const Packet& packet) const noexcept {
        return !config_.reliable && packet.kind == Packet::Kind::message;
    }
    Nanoseconds wire_ns(Node node, const Packet& packet) const noexcept;
    Path& path(Node from, Node to) noexcept { return paths_[std::size_t{from} * config_.n_nodes + to]; }

    const NetworkConfig config_;
    World& world_;
    source::Random random_;
    std::vector<Port*> ports_;
    std::vector<Card> cards_;
    std::vector<Path> paths_;  ///< [from][to]
    std::vector<PacketPointer> under_way_;
    std::vector<std::uint32_t> free_;  ///< places in under_way_
    std::uint64_t last_number_ = 0;
    std::size_t n_cuts_ = 0;  ///< of all paths
    std::optional<Switches> switches_;
    std::function<void(const Packet&)> told_;
};

}  // namespace anello::simulate

namespace anello {

template <>
inline constexpr std::array<const char*, 2> words_of<simulate::DoneWhen>{"copied", "arrived"};

}  // namespace anello
