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

/// When the sender of a message is notified that it is done. copied: the system has copied it, as with TCP; it may
/// still be lost with the connection. arrived: the receiver has it; until then it is read from the sender's memory, as
/// by a card that sends without a copy (UCX).
enum class DoneWhen : std::uint8_t { copied, arrived };

struct NetworkConfig {
    std::uint16_t n_nodes = 2;
    double gbps = 10;  ///< of each card, in each direction
    Nanoseconds latency_ns = 5'000;
    Nanoseconds jitter_ns = 0;  ///< largest additional random delay
    DoneWhen done_when = DoneWhen::copied;
    /// copied: for each connection, how many bytes may be sent that the receiver has not read; one message is always
    /// allowed.
    std::size_t window_bytes = std::size_t{512} << 10;
    /// Bytes of each message's payload that are carried; the rest is not changed at the receiver and must not be read
    /// there.
    std::size_t carried_bytes = std::numeric_limits<std::size_t>::max();
    bool reliable = true;
    double loss = 0, duplicate = 0;  ///< fractions of the messages, if it is not reliable
    std::uint64_t seed = 1;
    std::size_t packet_bytes = 1448, packet_overhead_bytes = 78;  ///< Ethernet, IP, TCP, preamble and gap
    /// For a message with this header: bytes on the network that one byte of its payload represents; no function: 1.
    std::function<double(std::span<const std::byte> header)> weight_of{};
    std::uint16_t nodes_per_leaf = 0;  ///< 0: one switch with unlimited room; otherwise two levels (SwitchesConfig)
    std::uint16_t n_spines = 1;
    double uplink_gbps = 0;  ///< 0: the rate of the cards
    double card_sum_gbps = 0;
    std::size_t buffer_bytes = std::size_t{64} << 10, cell_bytes = 4096;
    Routing routing = Routing::destination;
    std::uint32_t n_failed_cables = 0;

    SwitchesConfig switches() const;
    void validate() const;  ///< Throws ConfigError.
};

/// The network's end at a node, for a process that has a fabric.
class Port {
  public:
    virtual ~Port() = default;
    /// The first bytes of a packet with a payload arrived.
    virtual void on_head(const PacketPointer& packet) noexcept = 0;
    virtual void on_tail(const PacketPointer& packet) noexcept = 0;
};

/// One card per node, and between the cards a switch with unlimited room, or two levels of switches (Switches). A card
/// sends one packet at a time, and receives one at a time. Packets of one pair of nodes keep their order if the network
/// is reliable. Packets that reach a link that is cut wait until it is repaired, or are lost if the network may lose.
class Network final : private Actor, private Switches::Exit {
  public:
    Network(const NetworkConfig& config, World& world);

    World& world() noexcept { return world_; }
    const NetworkConfig& config() const noexcept { return config_; }
    std::uint64_t new_number() noexcept { return ++last_number_; }

    void join(Node node, Port& port) noexcept;
    void leave(Node node, const Port& port) noexcept;
    void send(PacketPointer packet);
    /// Calls this function with each packet that arrives.
    void on_delivery(std::function<void(const Packet&)> told) { told_ = std::move(told); }

    /// The load of each link, if there are switches.
    std::vector<LinkLoad> loads() const { return switches_ ? switches_->loads() : std::vector<LinkLoad>{}; }

    // Faults
    void cut(Node from, Node to) noexcept;
    void mend(Node from, Node to) noexcept;
    /// A node's card becomes slower by this factor.
    void slow_down(Node node, double factor) noexcept;
    /// Packets still in the card are lost, and senders to this node get no answer, until a process joins.
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
