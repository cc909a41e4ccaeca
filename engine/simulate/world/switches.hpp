// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "simulate/packet.hpp"
#include "simulate/world/world.hpp"

namespace anello::simulate {

/// How a spine switch is chosen for a message to another leaf. destination: one for each receiver, as in InfiniBand's
/// linear tables; hashed: one for each pair (ECMP); spread: for each cell the port with the shortest queue (adaptive).
enum class Routing : std::uint8_t { destination, hashed, spread };

/// A network of leaf and spine switches. If it is lossless, a sender sends only what the next hop has room for
/// (credits, or priority flow control); otherwise a switch drops what finds no room in its buffer (Ethernet without
/// flow control).
struct SwitchesConfig {
    std::uint16_t n_nodes = 2, nodes_per_leaf = 1, n_spines = 1;
    double card_gbps = 100, uplink_gbps = 100;  ///< of each link, in each direction
    double card_sum_gbps = 0;                   ///< of a card, for both directions together; 0: no such limit
    Nanoseconds latency_ns = 300;               ///< of each link
    std::size_t buffer_bytes = 64 << 10;        ///< of each port of a switch, for arriving data
    std::size_t cell_bytes = 4096;              ///< messages are cut into cells, which switches handle one by one
    std::size_t packet_bytes = 4096, packet_overhead_bytes = 26;
    Routing routing = Routing::destination;
    bool drops = false;                 ///< cells of messages without room are dropped; all others wait
    std::uint32_t n_failed_cables = 0;  ///< between leaves and spines, drawn from the seed
    std::uint64_t seed = 1;

    std::uint16_t n_leaves() const noexcept {
        return static_cast<std::uint16_t>((n_nodes + nodes_per_leaf - 1) / nodes_per_leaf);
    }
    /// For a port: one cell, and the bytes that arrive until its sender stops.
    std::size_t least_buffer_bytes() const noexcept;
    void validate() const;  ///< Throws ConfigError.
};

/// Kinds of links: out of a node, up to a spine, down from a spine, in to a node.
enum class LinkKind : std::uint8_t { out, up, down, in };

struct LinkLoad {
    LinkKind kind = LinkKind::out;
    double gbps = 0;
    std::uint64_t n_bytes = 0;    ///< headers of packets included
    Nanoseconds stalled_ns = 0;   ///< time with data to send and no room at the next hop
    std::uint64_t n_dropped = 0;  ///< cells, at its end
    std::size_t most_bytes = 0;   ///< largest content of the buffer at its end
};

/// Messages are cut into cells, which travel from link to link. Each switch has a buffer for each port where they
/// enter, with a queue for each port where they leave (so that none blocks one for another port), and serves the queues
/// in turn. A cell continues when its first packet has arrived (cut-through). Small messages and answers of cards
/// overtake the queues: they take the time of the path, and none of its rate. A node's card serves its receivers in
/// turn, cell by cell; messages for one receiver keep their order.
class Switches final : private Actor {
  public:
    /// Receives the messages at the end of their path.
    class Exit {
      public:
        virtual ~Exit() = default;
        virtual void on_first_bytes(const PacketPointer& packet) noexcept = 0;
        virtual void on_last_byte(const PacketPointer& packet) noexcept = 0;
    };
    /// Throws ConfigError. World and exit must outlive it.
    Switches(const SwitchesConfig& config, World& world, Exit& exit);

    void send(PacketPointer packet);
    void slow_down(Node node, double factor) noexcept;
    /// Messages still in the node's card are lost.
    void lose_power(Node node) noexcept;
    std::vector<LinkLoad> loads() const;

  private:
    using Index = std::uint32_t;
    static constexpr Index none = 0xffffffff;
    static constexpr std::size_t word_bytes = 128;
    struct Message {
        PacketPointer packet;
        std::size_t left_bytes = 0;  ///< not yet cut into cells
        Index n_cells = 0;           ///< on their way
        Index next = none;           ///< in its card's queue
        Index next_of_pair = none;
        bool has_begun = false, is_shown = false, has_left = false, is_dead = false;
        bool has_lost = false;  ///< a cell of it
    };
    struct Cell {
        Index message = none, bytes = 0, link = none, next = none;  ///< link: the one over which it arrived
        Nanoseconds tail_ns = 0;                                    ///< when its last byte arrives at its present place
        bool is_last = false, is_dropped = false;
    };
    /// Cells that wait for one port from one other port, or messages for one receiver.
    struct Queue {
        Index head = none, tail = none, next = none;  ///< next: for a card, in the list of queues with content
    };
    struct Link {
        LinkKind kind = LinkKind::out;
        Index queues = 0;                     ///< first of the queues at its end
        Index position = 0;                   ///< number among the links that leave its beginning
        Index end_position = 0;               ///< number among the links that enter its end
        std::vector<std::uint64_t> is_ready;  ///< a bit for each port at its beginning that has a cell for it
        Index turn = 0;                       ///< the port whose turn it is
        double ns_per_byte = 0, slowness = 1;
        bool is_busy = false;
        Index first_queue = none, last_queue = none;  ///< for a card
        std::int64_t room = 0, capacity = 0;
        Index flying_bytes = 0, flying_from = none, flying_message = none;
        bool flying_is_last = false;
        Nanoseconds stalled_since_ns = 0;
        std::size_t queued_bytes = 0;
        LinkLoad load;
    };
    /// The messages of a pair on their way, in the order in which they are delivered.
    struct Pair {
        Index first = none, last = none;
    };
    enum class What : std::uint8_t { tail, head, last, word };

    void on_event(std::uint64_t what) noexcept override;
    void make_links();
    void cut_cables();
    void add(LinkKind kind, double gbps, Index position, Index end_position);
    std::uint16_t leaf_of(Node node) const noexcept {
        return static_cast<std::uint16_t>(node / config_.nodes_per_leaf);
    }
    Index up_link(Index leaf, Index spine) const noexcept { return first_up_ + leaf * config_.n_spines + spine; }
    Index down_link(Index leaf, Index spine) const noexcept { return first_down_ + spine * config_.n_leaves() + leaf; }
    bool is_whole(std::uint16_t leaf, std::uint16_t spine) const noexcept {
        return !is_cut_[leaf * config_.n_spines + spine];
    }
    Index next_link(const Cell& cell) const noexcept;
    std::uint16_t spine_of(const Packet& packet) const noexcept;
    std::uint16_t emptiest_spine(const Packet& packet) const noexcept;
    void come_out(Pair& pair) noexcept;
    void show(Message& message) noexcept;
    /// All of it has arrived, except for cells that were lost.
    static bool is_over(const Message& message) noexcept {
        return message.n_cells == 0 && (message.has_left || message.is_dead);
    }
    Pair& pair_of(const Packet& packet) noexcept {
        return pairs_[std::size_t{packet.from} * config_.n_nodes + packet.to];
    }
    bool is_way(std::uint16_t spine, Node from, Node to) const noexcept;

    bool is_word(const Packet& packet) const noexcept;
    void send_word(Index message) noexcept;
    void on_word(Index message) noexcept;
    void put_into(Index queue, Index link) noexcept;
    void serve(Index link) noexcept;
    Index front_of(const Link& link) const noexcept;
    Index input_of(Index link, Index position) const noexcept;
    Index take_of_card(Index link) noexcept;
    Index take_of_port(Index link, Index queue, Index position) noexcept;
    void begin_cell(Index link, Index cell) noexcept;
    Nanoseconds take_of_sum(Index link, std::size_t bytes) noexcept;
    void put_down(Nanoseconds when_ns, What what, Index index) noexcept;
    Index cut_cell(Index queue) noexcept;
    void on_tail(Index link) noexcept;
    void on_head(Index cell) noexcept;
    void drop(Index cell) noexcept;
    bool may_drop(Index message) const noexcept {
        return config_.drops && messages_[message].packet->kind == Packet::Kind::message;
    }
    void on_last(Index cell) noexcept;
    std::size_t on_wire(std::size_t n_bytes) const noexcept;
    template <typename Thing>
    static Index new_one(std::vector<Thing>& all, std::vector<Index>& free);

    const SwitchesConfig config_;
    World& world_;
    Exit& exit_;
    std::vector<Link> links_;
    std::vector<Queue> queues_;
    std::vector<bool> is_cut_;          ///< [leaf][spine]
    std::vector<double> sum_until_ns_;  ///< by node: until when its card's common limit is used up
    std::vector<Pair> pairs_;           ///< [from][to]
    Index first_in_ = 0, first_up_ = 0, first_down_ = 0;
    std::vector<Message> messages_;
    std::vector<Cell> cells_;
    std::vector<Index> free_messages_, free_cells_;
};

}  // namespace anello::simulate

namespace anello {

template <>
inline constexpr std::array<const char*, 3> words_of<simulate::Routing>{"destination", "hashed", "spread"};
template <>
inline constexpr std::array<const char*, 4> words_of<simulate::LinkKind>{"out", "up", "down", "in"};

}  // namespace anello
