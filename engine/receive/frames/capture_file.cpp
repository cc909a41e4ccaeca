// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/capture_file.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <utility>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

pcap* open(const std::string& path) {
    char error[PCAP_ERRBUF_SIZE] = {};
    pcap* const file = pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
    if (file == nullptr)
        throw ConfigError("receive.pcap_file", "must be a readable capture file", path,
                          fmt::format("The system says: {}.", error));
    if (pcap_datalink(file) == DLT_EN10MB) return file;
    const int link_type = pcap_datalink(file);
    const char* const name = pcap_datalink_val_to_name(link_type);
    pcap_close(file);
    throw ConfigError("receive.pcap_file", "must have link type EN10MB (Ethernet)",
                      fmt::format("{}: {}", path, name == nullptr ? std::to_string(link_type) : name),
                      "Capture on one interface, not on `any`.");
}

/// A file may contain any seconds; times outside the range of nanoseconds are clamped.
Nanoseconds time_of(const timeval& stamp) noexcept {
    constexpr std::int64_t latest_s = 9'000'000'000;  // the year 2255
    const std::int64_t seconds = std::clamp<std::int64_t>(stamp.tv_sec, 0, latest_s);
    return seconds * 1'000'000'000 + stamp.tv_usec;  // the file is opened for nanoseconds
}

}  // namespace

void CaptureFile::Close::operator()(pcap* file) const noexcept {
    pcap_close(file);
}

CaptureFile::CaptureFile(const std::string& path) : path_(path), file_(open(path)) {}

bool CaptureFile::next(CapturedFrame& frame) noexcept {
    pcap_pkthdr* header = nullptr;
    const unsigned char* bytes = nullptr;
    const int result = at_end_ ? PCAP_ERROR_BREAK : pcap_next_ex(file_.get(), &header, &bytes);
    if (result == 1) {
        frame = {{reinterpret_cast<const std::byte*>(bytes), header->caplen},
                 std::max(header->len, header->caplen),  // a file may state a length below what it holds
                 time_of(header->ts)};
        return true;
    }
    at_end_ = true;
    broken_ |= result == PCAP_ERROR;
    return false;
}

void CaptureFile::rewind() {
    file_.reset(open(path_));
    at_end_ = broken_ = false;
}

std::string CaptureFile::read_error() const {
    return broken_ ? std::string(pcap_geterr(file_.get())) : std::string();
}

CapturePace::CapturePace(double speed, const Clock& clock) : speed_(speed), clock_(clock) {
    if (!(speed >= 0.0 && speed <= fastest_capture))
        throw ConfigError("receive.pcap_speed", "must be 0 (as fast as possible) to 1000", std::to_string(speed),
                          "1 replays as captured.");
}

bool CapturePace::is_due(Nanoseconds captured_ns) noexcept {
    if (!has_time()) return true;
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (!has_begun_) {
        has_begun_ = true;
        begun_ns_ = now_ns;
        first_captured_ns_ = last_captured_ns_ = captured_ns;
    }
    const Nanoseconds pause_ns = captured_ns - std::exchange(last_captured_ns_, captured_ns);
    if (pause_ns > longest_pause_ns) {  // the clock was set, or the first stamp is 0
        first_captured_ns_ += pause_ns;
        ++n_pauses_left_out_;
    }
    const auto since_first_ns = static_cast<double>(captured_ns - first_captured_ns_);
    return static_cast<double>(now_ns - begun_ns_) * speed_ >= since_first_ns;
}

std::string CapturePace::words() const {
    return has_time() ? fmt::format("at {} x the captured speed", speed_) : std::string("as fast as possible");
}

std::vector<std::int32_t> streams_of_ports(const std::vector<std::uint16_t>& ports) {
    if (ports.empty() || ports.size() > 65535)
        throw ConfigError("receive.ports", "1 to 65535 ports", std::to_string(ports.size()),
                          "Name one UDP destination port per stream.");
    std::vector<std::int32_t> stream_of_port(65536, -1);
    for (std::size_t i = 0; i < ports.size(); ++i) {
        if (stream_of_port[ports[i]] >= 0)
            throw ConfigError("receive.ports", "must all be different", std::to_string(ports[i]) + " twice",
                              "A stream of a capture is identified by its port.");
        stream_of_port[ports[i]] = static_cast<std::int32_t>(i);
    }
    return stream_of_port;
}

}  // namespace anello::receive
