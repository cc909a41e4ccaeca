// SPDX-License-Identifier: Apache-2.0
#include "receive/nanet/nanet_frames.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "receive/frames/ethernet_frame.hpp"

namespace anello::receive {

std::uint64_t NanetFrames::socket_dropped() const noexcept {
    std::uint64_t n_dropped = 0;
    for (std::uint16_t stream = 0; stream < n_streams(); ++stream) n_dropped += kernel_dropped(stream);
    return n_dropped;
}

UdpNanetFrames::UdpNanetFrames(const SocketBackendConfig& config)
    : sockets_(config), own_host_(ntohl(inet_addr(config.address.c_str()))), batch_(most_at_once) {}

std::size_t UdpNanetFrames::take(std::span<NanetFrame> frames) noexcept {
    const std::size_t n = sockets_.receive(std::span(batch_).first(std::min(frames.size(), most_at_once)));
    for (std::size_t i = 0; i < n; ++i) {
        const Datagram& datagram = batch_[i];
        const UdpRoute route{other_mac, card_mac, datagram.source, {own_host_, sockets_.port(datagram.stream)}};
        const std::size_t n_bytes = write_udp_frame(route, datagram.bytes, slot(i));
        frames[i] = {slot(i).first(n_bytes), datagram.stream, datagram.kernel_ns};
    }
    return n;
}

std::string UdpNanetFrames::describe() const {
    return fmt::format("each datagram in an Ethernet frame made here; {}", sockets_.describe());
}

CaptureNanetFrames::CaptureNanetFrames(const std::string& path, std::vector<std::uint16_t> ports, double speed,
                                       const Clock& clock)
    : path_(path),
      ports_(std::move(ports)),
      stream_of_port_(streams_of_ports(ports_)),
      pace_(speed, clock),
      file_(path),
      wanted_(ports_.size(), 1) {}

/// Takes no frame while the next one's stream is not wanted, because the file's order must be kept.
std::size_t CaptureNanetFrames::take(std::span<NanetFrame> frames) noexcept {
    const std::size_t most = std::min(frames.size(), most_at_once);
    std::size_t n = 0;
    for (; n < most && find_next() && pace_.is_due(next_.captured_ns); ++n) {
        if (next_stream_ >= 0 && wanted_[static_cast<std::size_t>(next_stream_)] == 0) break;
        frames[n] = keep(n);
        has_next_ = false;
    }
    is_behind_ = n == most;
    find_next();  // so that finished() is true with the last frame, not one call later
    return n;
}

bool CaptureNanetFrames::find_next() noexcept {
    if (has_next_) return true;
    has_next_ = file_.next(next_);
    if (!has_next_) return false;
    UdpFrame udp{};
    const bool is_udp = parse_frame(next_.captured, next_.frame_bytes, udp) == FrameVerdict::udp;
    next_stream_ = is_udp ? stream_of_port_[udp.destination_port] : -1;
    return true;
}

NanetFrame CaptureNanetFrames::keep(std::size_t i) noexcept {
    const std::size_t n_bytes = std::min(next_.captured.size(), slot_bytes);
    const std::span<std::byte> frame = slot(i).first(std::max(n_bytes, shortest_frame_bytes));
    if (n_bytes > 0) std::memcpy(frame.data(), next_.captured.data(), n_bytes);
    std::ranges::fill(frame.subspan(n_bytes), std::byte{0});
    return {frame, next_stream_, 0};
}

std::string CaptureNanetFrames::describe() const {
    return fmt::format("the frames of {}, {} UDP ports, {}", path_, ports_.size(), pace_.words());
}

}  // namespace anello::receive
