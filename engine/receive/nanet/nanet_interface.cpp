// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_interface.hpp"

#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/errors.hpp"
#include "receive/frames/capture_file.hpp"
#include "receive/frames/ethernet_frame.hpp"
#include "wire/bytes.hpp"

namespace anello::receive {
namespace {

/// The header that the system puts before each frame (PACKET_VNET_HDR); linux/virtio_net.h cannot be compiled as C++.
struct FrameOffload {
    std::uint8_t flags, gso_type;
    std::uint16_t header_bytes, gso_bytes, checksum_at, checksum_offset;
};
constexpr std::uint8_t needs_checksum = 1;
constexpr std::size_t most_control_bytes = CMSG_SPACE(sizeof(timespec));

[[noreturn]] void fail_to_tap(const std::string& action, int error_number) {
    const bool is_forbidden = error_number == EPERM || error_number == EACCES;
    throw SystemError(action, error_number,
                      std::string(is_forbidden ? "Run as root, or give the program CAP_NET_RAW, or leave " : "Leave ") +
                          "receive.nanet_interface empty: then the card gets the datagrams of sockets.");
}

template <typename T>
bool try_set_tap(int socket, int level, int option, const T& value) noexcept {
    return setsockopt(socket, level, option, &value, sizeof value) == 0;
}

std::uint16_t ones_sum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t total = 0;
    for (; bytes.size() >= 2; bytes = bytes.subspan(2)) total += wire::load_be<std::uint16_t>(bytes.data());
    if (!bytes.empty()) total += static_cast<std::uint64_t>(bytes[0]) << 8;
    while (total > 0xffff) total = (total & 0xffff) + (total >> 16);
    return static_cast<std::uint16_t>(total);
}

/// Computes the checksum like the sender's network card would: the field holds the sum of the addresses, which must be
/// included. A result of 0 would mean that there is no checksum.
void fill_checksum(std::span<std::byte> frame, const FrameOffload& offload) noexcept {
    const std::size_t at = std::size_t{offload.checksum_at} + offload.checksum_offset;
    if (offload.checksum_at >= frame.size() || at + 2 > frame.size()) return;
    const auto sum = static_cast<std::uint16_t>(~ones_sum(frame.subspan(offload.checksum_at)));
    const std::uint16_t found = sum == 0 ? 0xffff : sum;
    frame[at] = static_cast<std::byte>(found >> 8);
    frame[at + 1] = static_cast<std::byte>(found);
}

Nanoseconds stamp_of(msghdr& message) noexcept {
    for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr; note = CMSG_NXTHDR(&message, note)) {
        if (note->cmsg_level != SOL_SOCKET || note->cmsg_type != SO_TIMESTAMPNS) continue;
        timespec time{};
        std::memcpy(&time, CMSG_DATA(note), sizeof time);
        return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
    }
    return 0;
}

}  // namespace

/// Where recvmmsg writes, in addition to the slots.
struct InterfaceNanetFrames::Batch {
    std::array<mmsghdr, most_at_once> headers{};
    std::array<std::array<iovec, 2>, most_at_once> parts{};
    std::array<FrameOffload, most_at_once> offloads{};
    alignas(cmsghdr) std::array<std::array<std::byte, most_control_bytes>, most_at_once> controls{};
};

InterfaceNanetFrames::InterfaceNanetFrames(const InterfaceNanetConfig& config)
    : interface_(find_interface(config.interface, "receive.nanet_interface")), batch_(std::make_unique<Batch>()) {
    std::vector<std::uint16_t> ports;
    for (const std::uint16_t wanted : config.ports) {
        guards_.emplace_back(config.address, wanted, false);
        ports.push_back(guards_.back().port());
    }
    stream_of_port_ = streams_of_ports(ports);
    wanted_.assign(ports.size(), 1);
    open(config);
    learn_address();
    for (std::size_t i = 0; i < most_at_once; ++i) {
        batch_->parts[i] = {iovec{&batch_->offloads[i], sizeof(FrameOffload)}, iovec{slot(i).data(), slot(i).size()}};
        batch_->headers[i].msg_hdr.msg_iov = batch_->parts[i].data();
        batch_->headers[i].msg_hdr.msg_iovlen = batch_->parts[i].size();
    }
}

InterfaceNanetFrames::~InterfaceNanetFrames() = default;

/// Binds the socket before it accepts frames, because a packet socket would otherwise begin with frames of all
/// interfaces.
void InterfaceNanetFrames::open(const InterfaceNanetConfig& config) {
    socket_ = Descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int socket = socket_.number();
    if (socket < 0) fail_to_tap("cannot open a packet socket", errno);
    if (!try_set_tap(socket, SOL_PACKET, PACKET_VNET_HDR, 1)) fail_to_tap("cannot get descriptions of offloads", errno);
    if (!try_set_tap(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1))
        fail_to_tap("cannot exclude frames that this host sends", errno);
    try_set_tap(socket, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    const int n_bytes = static_cast<int>(std::min<std::size_t>(config.receive_buffer_bytes / 2, 0x3fff'ffff));
    if (!try_set_tap(socket, SOL_SOCKET, SO_RCVBUFFORCE, n_bytes)) try_set_tap(socket, SOL_SOCKET, SO_RCVBUF, n_bytes);
    sockaddr_ll where{};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(ETH_P_ALL);
    where.sll_ifindex = static_cast<int>(interface_.index);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
        fail_to_tap(fmt::format("cannot listen on interface {}", interface_.name), errno);
}

void InterfaceNanetFrames::learn_address() {
    sockaddr_ll here{};
    socklen_t length = sizeof here;
    if (getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&here), &length) != 0)
        fail_to_tap(fmt::format("cannot find the address of interface {}", interface_.name), errno);
    std::copy_n(here.sll_addr, mac_.size(), mac_.begin());
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t InterfaceNanetFrames::take(std::span<NanetFrame> frames) noexcept {
    is_empty_ = false;
    if (std::ranges::any_of(wanted_, [](std::uint8_t wanted) { return wanted == 0; })) return 0;
    const std::size_t most = std::min(frames.size(), most_at_once);
    for (std::size_t i = 0; i < most; ++i) {
        batch_->headers[i].msg_hdr.msg_control = batch_->controls[i].data();
        batch_->headers[i].msg_hdr.msg_controllen = most_control_bytes;
    }
    const int n_come =
        recvmmsg(socket_.number(), batch_->headers.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    is_empty_ = n_come < static_cast<int>(most);
    std::size_t n = 0;
    for (std::size_t i = 0; static_cast<int>(i) < n_come; ++i)
        if (keep(i, frames[n])) ++n;
    return n;
}

/// Returns false if the frame never was on a wire.
bool InterfaceNanetFrames::keep(std::size_t i, NanetFrame& frame) noexcept {
    mmsghdr& header = batch_->headers[i];
    const FrameOffload& offload = batch_->offloads[i];
    if (header.msg_len <= sizeof offload) return false;
    if (offload.gso_type != 0) {
        ++n_joined_;
        return false;
    }
    const std::size_t n_bytes = header.msg_len - sizeof offload;
    const std::span<std::byte> bytes = slot(i).first(std::max(n_bytes, shortest_frame_bytes));
    std::ranges::fill(bytes.subspan(n_bytes), std::byte{0});
    if ((offload.flags & needs_checksum) != 0) fill_checksum(bytes.first(n_bytes), offload);
    UdpFrame udp{};
    const bool is_udp = parse_frame(bytes, bytes.size(), udp) == FrameVerdict::udp;
    frame = {bytes, is_udp ? stream_of_port_[udp.destination_port] : -1, stamp_of(header.msg_hdr)};
    return true;
}

std::uint64_t InterfaceNanetFrames::socket_dropped() const noexcept {
    tpacket_stats statistics{};
    socklen_t length = sizeof statistics;
    if (getsockopt(socket_.number(), SOL_PACKET, PACKET_STATISTICS, &statistics, &length) == 0)
        n_dropped_ += statistics.tp_drops;
    return n_dropped_;
}

std::string InterfaceNanetFrames::describe() const {
    return fmt::format("the frames of interface {}, for {} UDP port{}", interface_.name, n_streams(),
                       n_streams() == 1 ? "" : "s");
}

}  // namespace anello::receive
