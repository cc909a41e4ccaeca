// SPDX-License-Identifier: Apache-2.0
#include "source/sinks/pcap_sink.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/errors.hpp"
#include "source/sinks/udp_sink.hpp"
#include "wire/bytes.hpp"

namespace anello::source {
namespace {

using wire::load_be;
using wire::store_be;

constexpr std::size_t ip_at = 14, udp_at = 34, max_payload_bytes = 65'507;

void store_ip_checksum(std::byte* ip) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < 20; i += 2) sum += load_be<std::uint16_t>(ip + i);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store_be(ip + 10, static_cast<std::uint16_t>(~sum));
}

}  // namespace

void PcapSink::Closer::operator()(pcap* handle) const noexcept {
    pcap_close(handle);
}
void PcapSink::Closer::operator()(pcap_dumper* dumper) const noexcept {
    pcap_dump_close(dumper);
}

PcapSink::FrameHeader PcapSink::make_header(const BoardEndpoint& endpoint, const sockaddr_in& address) {
    FrameHeader header{};
    std::byte* at = header.data();
    at[0] = at[6] = std::byte{2};  // locally administered addresses of the node and the board
    at[5] = std::byte{0xff};
    store_be(at + 10, static_cast<std::uint16_t>(endpoint.board + 1));
    store_be(at + 12, std::uint16_t{0x0800});
    at[ip_at] = std::byte{0x45};
    at[ip_at + 8] = std::byte{64};           // time to live
    at[ip_at + 9] = std::byte{IPPROTO_UDP};  // protocol
    store_be(at + ip_at + 12, 0x0a000001U + endpoint.board);
    store_be(at + ip_at + 16, static_cast<std::uint32_t>(ntohl(address.sin_addr.s_addr)));
    store_be(at + udp_at, static_cast<std::uint16_t>(50'000 + endpoint.board % 15'000));
    store_be(at + udp_at + 2, endpoint.port);
    return header;
}

PcapSink::PcapSink(const std::string& path, std::span<const BoardEndpoint> endpoints)
    : frame_(frame_header_bytes + max_payload_bytes) {
    for (const BoardEndpoint& endpoint : endpoints) headers_.push_back(make_header(endpoint, resolve(endpoint)));
    handle_.reset(
        pcap_open_dead_with_tstamp_precision(DLT_EN10MB, static_cast<int>(frame_.size()), PCAP_TSTAMP_PRECISION_NANO));
    if (!handle_) throw SystemError("cannot set up libpcap", ENOMEM, "Free memory");
    errno = 0;
    dumper_.reset(pcap_dump_open(handle_.get(), path.c_str()));
    if (!dumper_) throw SystemError("cannot write " + path, errno, "Choose a path that can be written");
}

void PcapSink::send(std::span<const OutgoingDatagram> datagrams, Nanoseconds now_ns, SendResult* results) noexcept {
    for (const OutgoingDatagram& datagram : datagrams)
        *results++ = write_frame(datagram, now_ns) ? SendResult::sent : SendResult::failed;
}

bool PcapSink::write_frame(const OutgoingDatagram& datagram, Nanoseconds now_ns) noexcept {
    const std::size_t n_bytes = datagram.bytes.size();
    if (n_bytes > max_payload_bytes) return false;
    std::byte* at = frame_.data();
    std::copy(headers_[datagram.stream].begin(), headers_[datagram.stream].end(), at);
    std::copy(datagram.bytes.begin(), datagram.bytes.end(), at + frame_header_bytes);
    store_be(at + ip_at + 2, static_cast<std::uint16_t>(n_bytes + 28));
    store_be(at + udp_at + 4, static_cast<std::uint16_t>(n_bytes + 8));
    store_ip_checksum(at + ip_at);
    pcap_pkthdr header{};
    header.ts.tv_sec = now_ns / 1'000'000'000;
    header.ts.tv_usec = now_ns % 1'000'000'000;  // nanoseconds, as the precision chosen above says
    header.caplen = header.len = static_cast<bpf_u_int32>(n_bytes + frame_header_bytes);
    pcap_dump(reinterpret_cast<u_char*>(dumper_.get()), &header, reinterpret_cast<const u_char*>(at));
    return std::ferror(pcap_dump_file(dumper_.get())) == 0;
}

bool PcapSink::flush() noexcept {
    return pcap_dump_flush(dumper_.get()) == 0;
}

}  // namespace anello::source
