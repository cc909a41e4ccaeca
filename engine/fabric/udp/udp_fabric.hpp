// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/fifo.hpp"
#include "fabric/peer_address.hpp"
#include "fabric/udp/udp_datagram.hpp"
#include "fabric/udp/udp_reassembly.hpp"

namespace anello::fabric {

/// Messages cut into datagrams, over one socket. What the network loses stays lost and is counted. A window of
/// datagrams per pair, which the receiver extends, keeps senders from flooding a slower receiver.
class UdpFabric final : public Fabric {
  public:
    UdpFabric(const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters);
    ~UdpFabric() override;

    std::vector<std::byte> address() const override;
    void connect(Peer peer, std::span<const std::byte> address) override;
    void disconnect(Peer peer) noexcept override;
    Region register_memory(std::span<std::byte> memory) override;
    void deregister(Region) noexcept override {}
    std::vector<std::byte> key(Region region) const override;
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override;

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override;
    Status put(RemoteRegion, std::size_t, std::span<const std::byte>, std::uint64_t, std::uint64_t) noexcept override {
        return Status::refused;
    }
    Status get(RemoteRegion, std::size_t, std::span<std::byte>, std::uint64_t) noexcept override {
        return Status::refused;
    }
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return epoll_.number(); }
    bool arm() noexcept override;
    void wake() noexcept override { signal_event(wake_); }

    PeerState state(Peer peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return config_.max_message_bytes; }
    bool reliable() const noexcept override { return false; }
    std::string describe() const override;

  private:
    struct Outgoing {
        std::uint8_t header_bytes = 0;
        std::byte header[max_header_bytes] = {};
        std::span<const std::byte> payload{};
        std::uint64_t token = 0;
    };
    struct Link {
        Link(const FabricConfig& config, Peer peer, Listener& listener, Counters<FabricCounter> counters)
            : queue(config.max_in_flight), incoming(peer, config.max_message_bytes, listener, counters) {}

        PeerState state = PeerState::absent;
        PeerAddress address{};
        sockaddr_in to{};
        std::uint64_t own_cookie = 0, their_cookie = 0;  ///< 0: none
        Nanoseconds since_ns = 0, next_hello_ns = 0, heard_ns = 0, next_heartbeat_ns = 0;
        // Sending
        Fifo<Outgoing> queue;
        std::uint32_t front_piece = 0;    ///< pieces of the first message that are already sent
        std::uint64_t n_messages = 0;     ///< messages sent whole
        std::uint64_t sequence = 0;       ///< number of the next datagram
        std::uint64_t acknowledged = 0;   ///< datagrams below it are no longer under way
        std::uint64_t window = 0;         ///< the peer's window
        Nanoseconds acknowledged_ns = 0;  ///< when `acknowledged` last rose
        // Receiving
        UdpReassembly incoming;
        std::uint64_t heard_below = 0, told_below = 0;  ///< datagram numbers: received, and acknowledged to the peer
    };
    struct Done {
        Peer to = 0;
        std::uint64_t token = 0;
    };
    static constexpr std::size_t n_batch = 64;          ///< largest number of datagrams in one system call
    static constexpr std::size_t n_receive_slots = 16;  ///< messages of recvmmsg(); each may hold many datagrams
    static constexpr std::size_t receive_slot_bytes = 65536;
    static constexpr std::size_t control_bytes = 64;

    // udp_links.cpp: how peers connect and leave
    void send_hello(Link& link) noexcept;
    void send_control(Link& link, DatagramKind kind, std::uint64_t sequence) noexcept;
    void send_bytes(const Link& link, std::span<const std::byte> datagram) noexcept;
    void take_hello(std::span<const std::byte> datagram, const sockaddr_in& from) noexcept;
    void come_up(Peer peer) noexcept;
    void forget(Link& link, std::uint64_t sent_below) noexcept;
    void lose(Peer peer, std::uint64_t sent_below = UINT64_MAX) noexcept;
    void forgive_own_pause() noexcept;
    void on_timer() noexcept;
    void check_time_of(Peer peer) noexcept;
    void report_disconnected() noexcept;

    // udp_fabric.cpp: their messages
    std::size_t piece_bytes(const Outgoing& message) const noexcept;
    bool may_send(const Link& link) const noexcept;
    void flush(Peer peer) noexcept;
    bool flush_batch(Peer peer) noexcept;
    std::size_t gather(Link& link) noexcept;
    void lay_out(const Link& link, const Outgoing& message, std::size_t queue_position, std::size_t piece,
                 std::size_t slot) noexcept;
    void set_segment(msghdr& message, std::size_t index, std::uint16_t bytes) noexcept;
    void drop_sent(Peer peer, std::size_t n_datagrams) noexcept;
    void receive() noexcept;
    void take_batch(std::size_t slot) noexcept;
    void take_datagram(std::span<const std::byte> datagram, const sockaddr_in& from) noexcept;
    bool take_piece(Link& link, const PieceView& piece) noexcept;
    bool acknowledge(Link& link, std::uint64_t below) noexcept;
    void report(Peer to, std::uint64_t token, Status status) noexcept;

    const FabricConfig config_;
    Listener& listener_;
    const Clock& clock_;
    Counters<FabricCounter> counters_;
    const std::uint64_t incarnation_;
    Descriptor socket_, wake_, epoll_;
    bool has_gso_ = false;
    std::uint64_t window_ = 0;  ///< datagrams that one peer may have under way to us
    std::mt19937_64 cookies_;
    std::vector<Link> links_;
    Fifo<Done> disconnected_;
    Nanoseconds now_ns_ = 0, next_timer_ns_ = 0;
    std::size_t n_things_ = 0;
    bool blocked_ = false, more_ = false;

    // One batch to be sent, and slots for receiving
    struct Piece {
        DatagramHead head;
        std::byte header[max_header_bytes];
    };
    std::array<Piece, n_batch> pieces_;
    std::array<iovec, 2 * n_batch> vectors_;
    std::array<mmsghdr, n_batch> out_;
    std::array<std::size_t, n_batch> out_datagrams_;
    std::vector<std::byte> out_controls_, slots_, in_controls_;
    std::array<iovec, n_receive_slots> slot_vectors_;
    std::array<sockaddr_in, n_receive_slots> slot_senders_;
    std::array<mmsghdr, n_receive_slots> in_;
};

}  // namespace anello::fabric
