// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/packet_ring_backend.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include "core/errors.hpp"
#include "receive/datagrams/message.hpp"
#include "receive/datagrams/port_guard.hpp"
#include "receive/frames/ethernet_frame.hpp"
#include "receive/datagrams/shared_mapping.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t ring_block_bytes = std::size_t{256} << 10;  // several super-packets
constexpr std::uint32_t block_time_ms = 1;           // the least there is; the system rounds it up to its tick
constexpr Nanoseconds longest_tick_ns = 10'000'000;  // of a system with 100 per second
constexpr std::uint32_t fragment_offset_bits = 0x1fff, whole_packet = 0x40000;

/// What the system puts before each packet (PACKET_VNET_HDR); its header linux/virtio_net.h is no C++.
struct PacketOffload {
    std::uint8_t flags, gso_type;
    std::uint16_t header_bytes, gso_bytes, checksum_at, checksum_offset;
};
constexpr std::uint8_t gso_udp = 5;

[[noreturn]] void fail_by_ring(const std::string& action, int error_number) {
    switch (error_number) {
        case EPERM:
        case EACCES:
            throw SystemError(action, error_number,
                              "Run as root, or give the program CAP_NET_RAW, or set receive.backend = \"socket\".");
        case ENOMEM:
            throw SystemError(action, error_number, "Lower receive.socket_buffer_bytes: each port takes that much.");
        default:
            throw SystemError(action, error_number, "Set receive.backend = \"socket\".");
    }
}

template <typename T>
void set_ring(int socket, int option, const T& value, const char* action) {
    if (setsockopt(socket, SOL_PACKET, option, &value, sizeof value) != 0) fail_by_ring(action, errno);
}

/// Accepts what begins a UDP datagram over IPv4 to this port and, unless it is 0, address. The socket sees IPv4 alone.
std::vector<sock_filter> filter_for(std::uint16_t port, std::uint32_t address) {
    constexpr std::uint32_t ip_at = ETH_HLEN;
    const auto drop_if = [](std::uint16_t comparison, std::uint32_t value, bool when) {
        return sock_filter{static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), static_cast<std::uint8_t>(!when),
                           static_cast<std::uint8_t>(when), value};
    };
    const sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
    std::vector<sock_filter> code;
    const auto require = [&](sock_filter load, sock_filter jump) { code.insert(code.end(), {load, jump, drop}); };
    require({BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)},
            drop_if(BPF_JEQ, PACKET_OTHERHOST, true));
    require({BPF_LD | BPF_B | BPF_ABS, 0, 0, ip_at + 9}, drop_if(BPF_JEQ, IPPROTO_UDP, false));
    require({BPF_LD | BPF_H | BPF_ABS, 0, 0, ip_at + 6}, drop_if(BPF_JSET, fragment_offset_bits, true));
    if (address != 0) require({BPF_LD | BPF_W | BPF_ABS, 0, 0, ip_at + 16}, drop_if(BPF_JEQ, address, false));
    code.push_back({BPF_LDX | BPF_B | BPF_MSH, 0, 0, ip_at});
    require({BPF_LD | BPF_H | BPF_IND, 0, 0, ip_at + 2}, drop_if(BPF_JEQ, port, false));
    code.push_back({BPF_RET | BPF_K, 0, 0, whole_packet});
    return code;
}

}  // namespace

/// The ring of one port. Blocks are used in turn; counts only grow: [given_back_, lent_) is with the caller, lent_ is
/// being read.
class PacketRingBackend::Ring {
  public:
    Ring(const PacketRingBackendConfig& config, std::uint16_t port, std::uint16_t stream,
         const NetworkInterface& interface)
        : guard_(config.address, port, config.gro, config.group),
          socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)),
          n_blocks_(
              static_cast<std::uint32_t>(std::max<std::size_t>(2, config.receive_buffer_bytes / ring_block_bytes))),
          stream_(stream) {
        if (socket_.number() < 0) fail_by_ring("cannot open a packet socket", errno);
        filter(config.address);
        set_ring(socket_.number(), PACKET_VERSION, static_cast<int>(TPACKET_V3), "cannot have packets in blocks");
        set_ring(socket_.number(), PACKET_VNET_HDR, 1, "cannot have super-packets described");
        tpacket_req3 shape{};
        shape.tp_block_size = ring_block_bytes;
        shape.tp_block_nr = n_blocks_;
        shape.tp_frame_size = TPACKET_ALIGNMENT << 7;  // frames lie where they fit; the system wants a number
        shape.tp_frame_nr = static_cast<unsigned>(ring_block_bytes / shape.tp_frame_size * n_blocks_);
        shape.tp_retire_blk_tov = block_time_ms;
        set_ring(socket_.number(), PACKET_RX_RING, shape, "cannot take memory for a packet ring");
        memory_ = SharedMapping(socket_.number(), 0, ring_block_bytes * n_blocks_);
        if (!memory_.mapped()) fail_by_ring("cannot map a packet ring", errno);
        sockaddr_ll where{};
        where.sll_family = AF_PACKET;
        where.sll_protocol = htons(ETH_P_IP);
        where.sll_ifindex = static_cast<int>(interface.index);
        if (bind(socket_.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
            fail_by_ring(fmt::format("cannot listen on interface {}", interface.name), errno);
    }

    std::uint16_t port() const noexcept { return guard_.port(); }
    int descriptor() const noexcept { return socket_.number(); }
    std::uint64_t n_super_packets() const noexcept { return n_super_packets_; }
    std::size_t n_bytes() const noexcept { return memory_.n_bytes(); }
    bool wanted = true;
    bool is_read() const noexcept { return wanted && is_empty_; }

    // Hot path from here on: no allocation, no lock, no log, no throw.
    void give_back_lent() noexcept {
        for (; given_back_ != lent_; ++given_back_)
            status_of(given_back_).store(TP_STATUS_KERNEL, std::memory_order_release);  // pairs with the kernel's read
    }

    std::size_t lend(std::span<Datagram> batch) noexcept {
        std::size_t n_lent = 0;
        is_empty_ = false;
        while (n_lent < batch.size() && (open_ || open_next()))
            if (!lend_next(*open_, batch[n_lent++])) open_.reset();
        return n_lent;
    }

    /// Asking clears the system's counts. Called by the receiving thread.
    std::uint64_t n_dropped() const noexcept {
        ask();
        return n_no_room_ + n_not_whole_;
    }
    bool has_more_coming() const noexcept {
        ask();
        return n_placed_ != n_read_;
    }

  private:
    void filter(const std::string& address) {
        in_addr destination{};
        inet_pton(AF_INET, address.c_str(), &destination);  // checked by the guard
        std::vector<sock_filter> code = filter_for(port(), ntohl(destination.s_addr));
        const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
        if (setsockopt(socket_.number(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
            fail_by_ring("cannot choose packets by port", errno);
    }

    std::byte* block_begin(std::uint64_t count) const noexcept {
        return memory_.begin() + count % n_blocks_ * ring_block_bytes;
    }
    tpacket_hdr_v1& block(std::uint64_t count) const noexcept {
        return reinterpret_cast<tpacket_block_desc*>(block_begin(count))->hdr.bh1;
    }
    std::atomic_ref<std::uint32_t> status_of(std::uint64_t count) const noexcept {
        return std::atomic_ref(block(count).block_status);
    }

    /// The next message that is a whole datagram; false when there is none yet.
    bool open_next() noexcept {
        while (n_left_ > 0 || open_block()) {
            const std::byte* const packet = next_packet_;
            const auto& header = *reinterpret_cast<const tpacket3_hdr*>(packet);
            next_packet_ += header.tp_next_offset;
            ++n_read_;
            --n_left_;
            read(packet, header);
            if (open_) return true;
        }
        return false;
    }

    /// Leaves the block that was read to its end; false when the next one is not ours yet.
    bool open_block() noexcept {
        while (true) {
            if (next_packet_ != nullptr) ++lent_;
            next_packet_ = nullptr;
            if (lent_ - given_back_ == n_blocks_) return false;
            is_empty_ = (status_of(lent_).load(std::memory_order_acquire) & TP_STATUS_USER) == 0;  // it is the kernel's
            if (is_empty_) return false;
            const tpacket_hdr_v1& header = block(lent_);
            n_left_ = header.num_pkts;
            next_packet_ = block_begin(lent_) + header.offset_to_first_pkt;
            if (n_left_ > 0) return true;  // otherwise it timed out empty
        }
    }

    void read(const std::byte* packet, const tpacket3_hdr& header) noexcept {
        UdpFrame frame{};
        if (parse_frame({packet + header.tp_mac, header.tp_snaplen}, header.tp_len, frame) != FrameVerdict::udp) {
            ++n_not_whole_;
            return;
        }
        PacketOffload offload;
        std::memcpy(&offload, packet + header.tp_mac - sizeof offload, sizeof offload);
        const std::size_t segment_bytes = offload.gso_type == gso_udp ? offload.gso_bytes : 0;
        const bool is_super = is_super_packet(segment_bytes, frame.payload.size());
        n_super_packets_ += is_super ? 1 : 0;
        open_ = Message{.rest = frame.payload,
                        .segment_bytes = is_super ? segment_bytes : frame.payload.size(),
                        .stream = stream_,
                        .cut = false,
                        .kernel_ns = Nanoseconds{header.tp_sec} * 1'000'000'000 + header.tp_nsec,
                        .source = frame.source};
    }

    void ask() const noexcept {
        tpacket_stats_v3 told{};
        socklen_t length = sizeof told;
        if (getsockopt(socket_.number(), SOL_PACKET, PACKET_STATISTICS, &told, &length) != 0) return;
        n_no_room_ += told.tp_drops;
        n_placed_ += told.tp_packets - told.tp_drops;
    }

    PortGuard guard_;
    Descriptor socket_;
    SharedMapping memory_;
    std::uint32_t n_blocks_;
    std::uint16_t stream_;
    std::uint64_t given_back_ = 0, lent_ = 0;
    std::uint32_t n_left_ = 0;                ///< packets of the block that is being read
    const std::byte* next_packet_ = nullptr;  ///< in the block that is being read; null when none is
    bool is_empty_ = false;                   ///< the last look ended at a block of the kernel's
    std::optional<Message> open_;             ///< of which datagrams are still to be lent; it keeps its block
    std::uint64_t n_read_ = 0, n_not_whole_ = 0, n_super_packets_ = 0;
    mutable std::uint64_t n_no_room_ = 0, n_placed_ = 0;
};

PacketRingBackend::PacketRingBackend(const PacketRingBackendConfig& config)
    : config_(config), interface_(find_interface(config.interface)), epoll_(make_epoll()) {
    if (config.ports.empty() || config.ports.size() > 256)
        throw ConfigError("receive.ports", "1 to 256 ports by packet rings", std::to_string(config.ports.size()),
                          "Name one port per stream; many ports are better taken by sockets.");
    if (config.receive_buffer_bytes > largest_receive_buffer_bytes)
        throw ConfigError("receive.socket_buffer_bytes", "must be at most 1 GiB",
                          std::to_string(config.receive_buffer_bytes), "64 to 256 MiB suit most rates.");
    for (const std::uint16_t wanted_port : config.ports)
        rings_.push_back(
            std::make_unique<Ring>(config, wanted_port, static_cast<std::uint16_t>(rings_.size()), interface_));
    for (const auto& ring : rings_) watch(epoll_, ring->descriptor(), 0, EPOLLIN);
}

PacketRingBackend::~PacketRingBackend() = default;

std::size_t PacketRingBackend::receive(std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    const std::size_t n_rings = rings_.size();
    for (std::size_t i = 0; i < n_rings; ++i) {
        Ring& ring = *rings_[(first_turn_ + i) % n_rings];
        ring.give_back_lent();
        const std::size_t left = batch.size() - n_lent;
        const std::size_t share = std::min(left, std::max<std::size_t>(1, left / (n_rings - i)));
        if (ring.wanted) n_lent += ring.lend(batch.subspan(n_lent, share));
    }
    first_turn_ = (first_turn_ + 1) % n_rings;
    return n_lent;
}

void PacketRingBackend::set_wanted(std::uint16_t stream, bool wanted) noexcept {
    rings_[stream]->wanted = wanted;
}

bool PacketRingBackend::is_read(std::uint16_t stream) const noexcept {
    return rings_[stream]->is_read();
}

/// In a block that is not full, until its time is over: by one tick of the system's at most.
Nanoseconds PacketRingBackend::held_back_ns() const noexcept {
    return longest_tick_ns + block_time_ms * 1'000'000;
}

std::uint64_t PacketRingBackend::kernel_dropped(std::uint16_t stream) const noexcept {
    return rings_[stream]->n_dropped();
}

std::uint64_t PacketRingBackend::n_super_packets(std::uint16_t stream) const noexcept {
    return rings_[stream]->n_super_packets();
}

bool PacketRingBackend::has_more_coming() const noexcept {
    return std::any_of(rings_.begin(), rings_.end(), [](const auto& ring) { return ring->has_more_coming(); });
}

std::uint16_t PacketRingBackend::port(std::uint16_t stream) const noexcept {
    return rings_[stream]->port();
}

std::string PacketRingBackend::describe() const {
    return fmt::format("{} UDP port{} by packet rings (TPACKET_V3) on {}, {} kB each, super-packets (GRO) {}",
                       rings_.size(), rings_.size() == 1 ? "" : "s", interface_.name, rings_.front()->n_bytes() / 1000,
                       config_.gro ? "asked for" : "off");
}

}  // namespace anello::receive
