// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric_config.hpp"
#include "fabric/region_table.hpp"
#include "simulate/world/network.hpp"

namespace anello::simulate {

/// What a transport sent and received, in the units in which the network takes time.
struct Moved {
    std::uint64_t n_messages = 0, n_bytes = 0;
    std::uint64_t n_mfps_done = 0;  ///< MFPs whose simulated size exceeds their real size
};

/// A transport over a simulated network. As with a real one, nothing arrives before its time, data are partly in place
/// before they are whole, a connection that breaks loses what is on its way, and a silent peer is taken for dead. There
/// is no descriptor to wait for: the fabric calls `woken` when something arrived.
class SimulatedFabric : public fabric::Fabric, private Port {
  public:
    /// Throws ConfigError. All arguments must outlive it.
    SimulatedFabric(const fabric::FabricConfig& config, fabric::Listener& listener, Network& network,
                    Counters<fabric::FabricCounter> counters, std::function<void()> woken);
    /// As when a process ends: the system sends what it has copied, and closes the connections.
    ~SimulatedFabric() override;
    /// As when the machine loses its power: no peer is notified.
    void lose_power() noexcept;
    /// After so many more packets it sends nothing, like a process that dies within a step, and calls `then`.
    void die_after(std::uint32_t n_packets, std::function<void()> then);

    std::vector<std::byte> address() const override;
    void connect(Node peer, std::span<const std::byte> address) override;
    void disconnect(Node peer) noexcept override;
    fabric::Region register_memory(std::span<std::byte> memory) override { return regions_.add(memory); }
    void deregister(fabric::Region region) noexcept override { regions_.remove(region); }
    std::vector<std::byte> key(fabric::Region region) const override { return regions_.key(region); }
    fabric::RemoteRegion attach(Node peer, std::span<const std::byte> key) override {
        return fabric::decode_key(peer, key);
    }

    fabric::Status send(Node to, std::span<const std::byte> header, std::span<const std::byte> payload,
                        std::uint64_t token) noexcept override;
    fabric::Status tell(Node to, std::span<const std::byte> header) noexcept override;
    fabric::Status put(fabric::RemoteRegion to, std::size_t offset, std::span<const std::byte> from,
                       std::uint64_t signal, std::uint64_t token) noexcept override;
    fabric::Status get(fabric::RemoteRegion from, std::size_t offset, std::span<std::byte> to,
                       std::uint64_t token) noexcept override;
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return -1; }
    bool arm() noexcept override { return inbox_.empty() && done_.empty() && !links_changed_ && !has_room_; }
    void wake() noexcept override { woken_(); }
    /// When progress() has work to do even if nothing arrives.
    Nanoseconds next_due_ns() const noexcept;
    const Moved& moved() const noexcept { return moved_; }

    fabric::PeerState state(Node peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return config_.max_message_bytes; }
    bool reliable() const noexcept override { return network_.config().reliable; }
    std::string describe() const override;

  private:
    using Kind = Packet::Kind;
    static constexpr std::uint32_t no_end = 0xffffffff;
    struct Link {
        fabric::PeerState state = fabric::PeerState::absent;
        std::uint64_t incarnation = 0;  ///< the process that connect() expects
        std::uint64_t number = 0;       ///< our end; 0: not opened yet
        std::uint64_t partner = 0;      ///< the peer's end
        /// The peer's request to connect, kept until the caller connects, too.
        std::uint64_t asking_incarnation = 0, asking_number = 0;
        Nanoseconds since_ns = 0, heard_ns = 0, sent_ns = 0;
        std::size_t in_flight = 0;             ///< until on_done()
        std::size_t unread_bytes = 0;          ///< copied: bytes of the window
        std::vector<PacketPointer> waiting{};  ///< for room in the window
        std::vector<PacketPointer> unanswered{};
    };
    struct Arrival {
        PacketPointer packet;
        bool is_whole;
    };
    struct Done {
        Node to;
        std::uint64_t token;
        fabric::Status status;
        bool is_message;
        bool is_weighted;
        Nanoseconds due_ns;  ///< when the datagram has left the card, and so is done
    };

    // Port
    void on_head(const PacketPointer& packet) noexcept override;
    void on_tail(const PacketPointer& packet) noexcept override;

    // Connections
    void open(Node peer) noexcept;
    void close(Node peer) noexcept;
    void give_up(Node peer) noexcept;
    std::size_t pair_all() noexcept;
    void on_open(const Packet& packet) noexcept;
    void on_close(const Packet& packet) noexcept;
    void lose(Node peer) noexcept;
    void forgive_own_pause() noexcept;
    void on_timer() noexcept;
    void check_time_of(Node peer) noexcept;

    // Messages and transfers
    PacketPointer make(Node to, Kind kind) const;
    fabric::Status post(PacketPointer packet) noexcept;
    bool must_wait(const Packet& packet) const noexcept;
    void launch(Link& link, PacketPointer packet) noexcept;
    void transmit(Link& link, PacketPointer packet) noexcept;
    std::size_t take_inbox() noexcept;
    void take(const Arrival& arrival) noexcept;
    void refuse(const Packet& packet) noexcept;
    void begin_message(Packet& packet) noexcept;
    void end_message(const PacketPointer& packet) noexcept;
    void answer_message(const Packet& packet) noexcept;
    void lose_message(const Packet& packet) noexcept;
    void on_put(const Packet& packet) noexcept;
    void on_get(const Packet& packet) noexcept;
    void on_taken(const Packet& packet) noexcept;
    void launch_waiting(Link& link) noexcept;
    PacketPointer answer_to(const Packet& packet) const;
    void report_first() noexcept;
    void report(const Done& done) noexcept;

    const fabric::FabricConfig config_;
    fabric::Listener& listener_;
    Network& network_;
    Counters<fabric::FabricCounter> counters_;
    const std::function<void()> woken_;
    const std::uint64_t incarnation_;
    std::vector<Link> links_;
    std::deque<Arrival> inbox_;
    std::deque<Done> done_;  ///< to be reported
    fabric::RegionTable regions_;
    Moved moved_;
    std::uint64_t last_packet_ = 0;
    Nanoseconds now_ns_ = 0, next_timer_ns_ = 0;
    bool links_changed_ = false, has_room_ = false, has_power_ = true;
    std::uint32_t packets_left_ = no_end;
    std::function<void()> at_death_;
};

}  // namespace anello::simulate
