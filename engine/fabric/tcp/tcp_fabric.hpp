// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/fifo.hpp"
#include "fabric/peer_address.hpp"
#include "fabric/region_table.hpp"
#include "fabric/tcp/tcp_frame.hpp"

namespace anello::fabric {

/// Messages over plain TCP: each process sends over the connections that it opened itself, and reads from those that
/// its peers opened. Puts and gets are frames that the peer's progress() carries out.
class TcpFabric final : public Fabric, private FrameSink {
  public:
    TcpFabric(const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters);

    std::vector<std::byte> address() const override;
    void connect(Peer peer, std::span<const std::byte> address) override;
    void disconnect(Peer peer) noexcept override;
    Region register_memory(std::span<std::byte> memory) override { return regions_.add(memory); }
    /// Connections that are transferring bytes of this region are closed.
    void deregister(Region region) noexcept override;
    std::vector<std::byte> key(Region region) const override { return regions_.key(region); }
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override { return decode_key(peer, key); }

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override;
    Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept override;
    Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept override;
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return epoll_.number(); }
    bool arm() noexcept override;
    void wake() noexcept override { signal_event(wake_); }

    PeerState state(Peer peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return config_.max_message_bytes; }
    bool reliable() const noexcept override { return true; }
    std::string describe() const override;

  private:
    struct Outgoing {
        FrameHead head;
        std::byte header[max_header_bytes] = {};  ///< follows the head in memory, so that one write sends both
        std::span<const std::byte> payload{};
        std::uint64_t token = 0;

        std::size_t head_bytes() const noexcept { return sizeof head + head.header_bytes; }
        std::size_t n_bytes() const noexcept { return head_bytes() + payload.size(); }
    };
    struct Transfer {  ///< a put or get that awaits its answer; answers arrive in order
        std::uint64_t token = 0;
        std::span<std::byte> destination{};
    };
    struct Done {
        Peer to = 0;
        std::uint64_t token = 0;
        FabricCounter failure = FabricCounter::messages_failed;
    };
    enum class OutState : std::uint8_t { closed, connecting, greeted, welcomed };
    struct Link {
        explicit Link(std::size_t max_in_flight) : queue(2 * max_in_flight + 1), transfers(max_in_flight) {}

        PeerState state = PeerState::absent;
        bool broken = false;  ///< its sockets are closed, the listener is still to be notified
        bool blocked = false;
        OutState out_state = OutState::closed;
        Descriptor out{};
        int in = -1;  ///< index of its Inbound
        PeerAddress address{};
        Nanoseconds since_ns = 0, next_try_ns = 0, heard_ns = 0, sent_ns = 0;
        Fifo<Outgoing> queue;        ///< our frames, and as many answers to the peer's frames
        std::size_t front_sent = 0;  ///< bytes of the first frame that are already sent
        Fifo<Transfer> transfers;
        std::size_t in_flight = 0;  ///< counts until on_done()
    };
    enum class InState : std::uint8_t { free, opened, greeted, active };
    struct Inbound {  ///< a connection that a peer, or a stranger, opened to us
        Inbound(FrameSink& sink, std::size_t max_message_bytes) : reader(sink, max_message_bytes) {}

        InState state = InState::free;
        Descriptor socket{};
        Peer peer = 0;
        std::uint64_t incarnation = 0;
        Nanoseconds since_ns = 0;
        TcpHello hello{};
        std::size_t hello_bytes = 0;
        FrameReader reader;
    };
    enum class Source : std::uint32_t { listener, wake, out, in };

    // tcp_links.cpp: how connections are opened and closed
    void watch(int descriptor, Source source, std::size_t index, std::uint32_t events) noexcept;
    void open_out(Peer peer) noexcept;
    void close_out(Link& link) noexcept;
    void on_out(Peer peer) noexcept;
    void greet(Peer peer) noexcept;
    void read_welcome(Peer peer) noexcept;
    void accept_some() noexcept;
    Inbound* free_inbound() noexcept;
    void read_hello(std::size_t index) noexcept;
    void take_hello(std::size_t index) noexcept;
    void adopt(Peer peer) noexcept;
    void welcome(std::size_t index) noexcept;
    void close_in(Inbound& inbound) noexcept;
    void come_up(Peer peer) noexcept;
    void close_sockets(Link& link) noexcept;
    void break_link(Peer peer) noexcept;
    void lose(Peer peer) noexcept;
    void lose_broken() noexcept;
    void forgive_own_pause() noexcept;
    void on_timer() noexcept;
    void check_time_of(Peer peer) noexcept;

    // tcp_fabric.cpp: messages and transfers over the connections
    Status post(Peer to, const Outgoing& frame) noexcept;
    void flush(Peer peer) noexcept;
    std::size_t gather(Link& link, std::span<iovec> pieces) noexcept;
    void drop_sent(Peer peer, std::size_t n_bytes) noexcept;
    void on_in(std::size_t index) noexcept;
    void read_frames(Inbound& inbound, int n_reads) noexcept;
    Destination begin_frame(Peer from, const FrameHead& head, std::span<const std::byte> header) noexcept override;
    bool end_frame(Peer from, const FrameHead& head, std::span<const std::byte> header,
                   std::byte* payload) noexcept override;
    void end_message(Peer from, const FrameHead& head, std::span<const std::byte> header, std::byte* payload) noexcept;
    bool answer(Peer to, Status status, std::span<const std::byte> payload, std::uint32_t region) noexcept;
    bool end_transfer(Peer from, Status status) noexcept;
    void report(Peer to, std::uint64_t token, Status status, FabricCounter failure) noexcept;
    void report_disconnected() noexcept;

    const FabricConfig config_;
    Listener& listener_;
    const Clock& clock_;
    Counters<FabricCounter> counters_;
    const std::uint64_t incarnation_;
    Descriptor listening_, wake_, epoll_;
    std::vector<Link> links_;
    std::vector<Inbound> inbounds_;
    Fifo<Done> disconnected_;  ///< unfinished messages and transfers of a peer that the caller disconnected
    RegionTable regions_;
    Nanoseconds now_ns_ = 0, next_timer_ns_ = 0;
    std::size_t n_things_ = 0;  ///< events handled by this progress()
    bool any_broken_ = false;
};

}  // namespace anello::fabric
