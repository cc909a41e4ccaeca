// SPDX-License-Identifier: Apache-2.0
#include "receive/pcap_backend.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t lent_bytes_at_most = std::size_t{4} << 20;
constexpr std::size_t longest_payload_bytes = 9216;  ///< the longest frames that Ethernet cards are made for

void validate(const PcapBackendConfig& config) {
    if (config.ports.empty() || config.ports.size() > 65535)
        throw ConfigError("receive.ports", "1 to 65535 ports", std::to_string(config.ports.size()),
                          "Name one UDP destination port per stream.");
    if (!(config.speed >= 0.0 && config.speed <= 1e9))
        throw ConfigError("receive.pcap_speed", "must be 0 (as fast as possible) to 1e9", std::to_string(config.speed),
                          "1 replays as captured.");
}

pcap* open(const std::string& path) {
    char error[PCAP_ERRBUF_SIZE] = {};
    pcap* const file = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
    if (file == nullptr)
        throw ConfigError("receive.pcap_path", "must be a readable capture file", path,
                          fmt::format("The system says: {}.", error));
    if (pcap_datalink(file) == DLT_EN10MB) return file;
    const int link_type = pcap_datalink(file);
    const char* const name = pcap_datalink_val_to_name(link_type);
    pcap_close(file);
    throw ConfigError("receive.pcap_path", "must have link type EN10MB (Ethernet)",
                      fmt::format("{}: {}", path, name == nullptr ? std::to_string(link_type) : name),
                      "Capture on one interface, not on `any`.");
}

std::vector<std::int32_t> map_ports(const std::vector<std::uint16_t>& ports) {
    std::vector<std::int32_t> stream_of_port(65536, -1);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (stream_of_port[ports[i]] >= 0)
            throw ConfigError("receive.ports", "must all be different", std::to_string(ports[i]) + " twice",
                              "The port tells the streams of a capture apart.");
        stream_of_port[ports[i]] = static_cast<std::int32_t>(i);
    }
    return stream_of_port;
}

}  // namespace

PcapBackend::PcapBackend(const PcapBackendConfig& config, const Clock& clock)
    : config_(config), clock_(clock), file_(nullptr) {
    validate(config);
    stream_of_port_ = map_ports(config.ports);
    wanted_.assign(config.ports.size(), 1);
    n_super_packets_.assign(config.ports.size(), 0);
    lent_ = std::make_unique<std::byte[]>(lent_bytes_at_most);
    file_ = open(config.path);
    if (config.refuses_uncut) look_through();
}

/// Reads the file once for what must be refused, and begins again.
void PcapBackend::look_through() {
    try {
        refuse_uncut_super_packets();
    } catch (...) {
        pcap_close(file_);
        throw;
    }
    pcap_close(file_);
    file_ = open(config_.path);
    n_frames_ = {};
    n_other_port_ = 0;
    n_super_packets_.assign(config_.ports.size(), 0);
    has_frame_ = at_end_ = broken_ = false;
}

/// A frame too long for Ethernet holds several datagrams, which the sender's system would have split, or the receiver's
/// has joined: its beginning alone would be malformed, and the rest silently lost.
void PcapBackend::refuse_uncut_super_packets() {
    for (std::uint64_t n_datagrams = 1; find_datagram(); ++n_datagrams, has_frame_ = false) {
        const std::size_t n_bytes = frame_.payload.size();
        const bool is_one = config_.datagram_length != nullptr && config_.datagram_length(frame_.payload) == n_bytes;
        if (n_bytes <= longest_payload_bytes || segment_bytes_ < n_bytes || is_one) continue;
        throw ConfigError("receive.pcap_file", "must hold datagrams as they were on the wire",
                          fmt::format("{}: datagram {} to port {} has {} bytes, which is several in one, and their "
                                      "headers do not say where to cut",
                                      config_.path, n_datagrams, frame_.destination_port, n_bytes),
                          "Capture with segmentation offload off (`ethtool -K INTERFACE gso off gro off tso off`), or "
                          "on the receiving side of the wire.");
    }
}

PcapBackend::~PcapBackend() {
    pcap_close(file_);
}

std::size_t PcapBackend::receive(std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    lent_bytes_ = 0;
    is_behind_ = false;
    while (n_lent < batch.size() && find_datagram() && is_due()) {
        is_behind_ = lent_bytes_ + frame_.payload.size() > lent_bytes_at_most;
        if (is_behind_) break;
        const auto stream = static_cast<std::uint16_t>(stream_of_port_[frame_.destination_port]);
        if (wanted_[stream] == 0) break;
        const std::size_t n_bytes = std::min(segment_bytes_, frame_.payload.size());
        batch[n_lent++] = {.bytes = keep(frame_.payload.first(n_bytes)),
                           .stream = stream,
                           .cut = false,
                           .kernel_ns = config_.capture_stamps ? captured_ns_ : 0,
                           .source = frame_.source};
        frame_.payload = frame_.payload.subspan(n_bytes);
        has_frame_ = !frame_.payload.empty();
    }
    is_behind_ |= n_lent == batch.size();
    if (!has_frame_) find_datagram();  // so that finished() is true with the last datagram, not one call later
    return n_lent;
}

/// Reads on to the next datagram for a stream; false at the end of the file.
bool PcapBackend::find_datagram() noexcept {
    while (!has_frame_ && !at_end_ && read_frame()) {
        has_frame_ = stream_of_port_[frame_.destination_port] >= 0;
        n_other_port_ += has_frame_ ? 0 : 1;
        if (!has_frame_) continue;
        segment_bytes_ = segment_bytes_of(frame_.payload, config_.datagram_length);
        if (is_super_packet(segment_bytes_, frame_.payload.size()))
            ++n_super_packets_[static_cast<std::size_t>(stream_of_port_[frame_.destination_port])];
    }
    return has_frame_;
}

/// False at the end of the file. Skips frames that are not UDP datagrams.
bool PcapBackend::read_frame() noexcept {
    pcap_pkthdr* header = nullptr;
    const unsigned char* bytes = nullptr;
    int result = 0;
    while ((result = pcap_next_ex(file_, &header, &bytes)) == 1) {
        const std::span captured(reinterpret_cast<const std::byte*>(bytes), header->caplen);
        const FrameVerdict verdict = parse_frame(captured, header->len, frame_);
        ++n_frames_[static_cast<std::size_t>(verdict)];
        captured_ns_ = Nanoseconds{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec;  // opened for nanoseconds
        if (verdict == FrameVerdict::udp) return true;
    }
    at_end_ = true;
    broken_ = result == PCAP_ERROR;
    return false;
}

bool PcapBackend::is_due() noexcept {
    if (config_.speed == 0.0) return true;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (!has_begun_) {
        has_begun_ = true;
        begun_ns_ = now_ns;
        first_captured_ns_ = captured_ns_;
    }
    const auto since_first_ns = static_cast<double>(captured_ns_ - first_captured_ns_);
    return static_cast<double>(now_ns - begun_ns_) * config_.speed >= since_first_ns;
}

std::span<const std::byte> PcapBackend::keep(std::span<const std::byte> payload) noexcept {
    std::byte* const at = lent_.get() + lent_bytes_;
    if (!payload.empty()) std::memcpy(at, payload.data(), payload.size());
    lent_bytes_ += payload.size();
    return {at, payload.size()};
}

std::string PcapBackend::describe() const {
    return fmt::format("capture file {}, {} UDP ports, {}", config_.path, config_.ports.size(),
                       config_.speed == 0.0 ? std::string("as fast as possible")
                                            : fmt::format("at {} x the captured speed", config_.speed));
}

std::string PcapBackend::read_error() const {
    return broken_ ? std::string(pcap_geterr(file_)) : std::string();
}

}  // namespace anello::receive
