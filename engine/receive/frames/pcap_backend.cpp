// SPDX-License-Identifier: Apache-2.0
#include "receive/frames/pcap_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t lent_bytes_at_most = std::size_t{4} << 20;
constexpr std::size_t longest_payload_bytes = 9216;  ///< the longest frames that Ethernet cards are made for

}  // namespace

PcapBackend::PcapBackend(const PcapBackendConfig& config, const Clock& clock, CounterPage* page)
    : config_(config), stream_of_port_(streams_of_ports(config.ports)), pace_(config.speed, clock), file_(config.path) {
    wanted_.assign(config.ports.size(), 1);
    n_super_packets_.assign(config.ports.size(), 0);
    lent_ = std::make_unique<std::byte[]>(lent_bytes_at_most);
    if (config.refuses_uncut) look_through();
    if (page != nullptr) counters_ = page->add_block<CaptureCounter>("receive.capture");
}

/// Reads the file once to find frames that must be refused, then starts again.
void PcapBackend::look_through() {
    refuse_uncut_super_packets();
    file_.rewind();
    n_frames_ = {};
    n_other_port_ = 0;
    n_not_used_ = {};
    n_super_packets_.assign(config_.ports.size(), 0);
    has_frame_ = false;
}

/// A frame too long for Ethernet has several datagrams that the sender's system would have split, or the receiver's has
/// joined. Without splitting, its start alone would be malformed, and the rest silently lost.
void PcapBackend::refuse_uncut_super_packets() {
    for (std::uint64_t n_datagrams = 1; find_datagram(); ++n_datagrams, has_frame_ = false) {
        const std::size_t n_bytes = frame_.payload.size();
        const bool is_one = config_.datagram_length != nullptr && config_.datagram_length(frame_.payload) == n_bytes;
        if (n_bytes <= longest_payload_bytes || segment_bytes_ < n_bytes || is_one) continue;
        throw ConfigError("receive.pcap_file", "must contain datagrams as they were on the wire",
                          fmt::format("{}: datagram {} to port {} has {} bytes: it contains several datagrams, and "
                                      "their headers do not show where to split them",
                                      config_.path, n_datagrams, frame_.destination_port, n_bytes),
                          "Capture with segmentation offload off (`ethtool -K INTERFACE gso off gro off tso off`), or "
                          "on the receiving side of the wire.");
    }
}

std::size_t PcapBackend::receive(std::span<Datagram> batch) noexcept {
    std::size_t n_lent = 0;
    lent_bytes_ = 0;
    is_behind_ = false;
    while (n_lent < batch.size() && find_datagram() && pace_.is_due(captured_ns_)) {
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
    show();
    return n_lent;
}

/// Reads up to the next datagram for a stream; false at the end of the file.
bool PcapBackend::find_datagram() noexcept {
    while (!has_frame_ && read_frame()) {
        has_frame_ = stream_of_port_[frame_.destination_port] >= 0;
        n_other_port_ += has_frame_ ? 0 : 1;
        if (!has_frame_) continue;
        segment_bytes_ = segment_bytes_of(frame_.payload, config_.datagram_length);
        if (is_super_packet(segment_bytes_, frame_.payload.size()))
            ++n_super_packets_[static_cast<std::size_t>(stream_of_port_[frame_.destination_port])];
    }
    return has_frame_;
}

/// Skips frames without a UDP datagram; false at the end of the file.
bool PcapBackend::read_frame() noexcept {
    CapturedFrame next;
    while (file_.next(next)) {
        const FrameVerdict verdict = parse_frame(next.captured, next.frame_bytes, frame_);
        ++n_frames_[static_cast<std::size_t>(verdict)];
        captured_ns_ = next.captured_ns;
        if (verdict == FrameVerdict::udp) return true;
        n_not_used_[static_cast<std::size_t>(verdict)] += may_be_ours() ? 1 : 0;
    }
    return false;
}

std::span<const std::byte> PcapBackend::keep(std::span<const std::byte> payload) noexcept {
    std::byte* const at = lent_.get() + lent_bytes_;
    if (!payload.empty()) std::memcpy(at, payload.data(), payload.size());
    lent_bytes_ += payload.size();
    return {at, payload.size()};
}

void PcapBackend::show() noexcept {
    if (!counters_) return;
    const auto not_used = [this](FrameVerdict verdict) { return n_not_used_[static_cast<std::size_t>(verdict)]; };
    counters_->set(CaptureCounter::frames, std::accumulate(n_frames_.begin(), n_frames_.end(), std::uint64_t{0}));
    counters_->set(CaptureCounter::ip6, not_used(FrameVerdict::udp_ip6));
    counters_->set(CaptureCounter::ip_fragments, not_used(FrameVerdict::ip_fragment));
    counters_->set(CaptureCounter::cut_short, not_used(FrameVerdict::cut_short));
    counters_->set(CaptureCounter::malformed, not_used(FrameVerdict::malformed));
    counters_->set(CaptureCounter::pauses_left_out, pace_.n_pauses_left_out());
    if (!file_.is_broken()) return;
    counters_->set(CaptureCounter::read_errors, 1);
    is_broken_.store(true, std::memory_order_release);  // pairs with trouble(): read_error() is valid from now on
}

std::string PcapBackend::trouble() const {
    if (!is_broken_.load(std::memory_order_acquire)) return {};  // pairs with show()
    return fmt::format("{} could not be read to its end: {}", config_.path, read_error());
}

std::string PcapBackend::describe() const {
    return fmt::format("capture file {}, {} UDP ports, {}", config_.path, config_.ports.size(), pace_.words());
}

}  // namespace anello::receive
