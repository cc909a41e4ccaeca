// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/message.hpp"
#include "receive/frames/capture_counters.hpp"
#include "receive/frames/capture_file.hpp"
#include "receive/frames/ethernet_frame.hpp"

namespace anello::receive {

struct PcapBackendConfig {
    std::string path;                          ///< pcap or pcapng, link type Ethernet
    std::vector<std::uint16_t> ports;          ///< UDP destination port of each stream, all different
    double speed = 1.0;                        ///< 1 = as captured, 10 = ten times as fast, 0 = as fast as possible
    DatagramLength datagram_length = nullptr;  ///< of the format in the file; null: super-packets are refused
    bool refuses_uncut = true;    ///< false: super-packets that cannot be split are lent whole, for inspection
    bool capture_stamps = false;  ///< lend the time of capture as the receive stamp
};

/// Replays a capture file as if it came from the network. Super-packets, which a capture holds if segmentation offload
/// was on, are split by the length in each datagram's header; a file with one that cannot be split is refused.
/// Frames that are no datagram for a stream are skipped, each counted by its cause. Receive stamps are 0 unless
/// requested: those of the capture belong to another time.
class PcapBackend final : public Backend {
  public:
    /// Counters are added to `page`, where there is one, as "receive.capture". Throws ConfigError.
    PcapBackend(const PcapBackendConfig& config, const Clock& clock, CounterPage* page = nullptr);

    std::size_t n_streams() const noexcept override { return config_.ports.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return config_.ports[stream]; }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    /// The frames of a file have one order: while the next one's stream is not wanted, none is lent.
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { wanted_[stream] = wanted ? 1 : 0; }
    /// A file keeps to its own time. As fast as possible there is none: nothing has come before it is read.
    bool is_read(std::uint16_t stream) const noexcept override {
        return wanted_[stream] != 0 && (!pace_.has_time() || !is_behind_);
    }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return 0; }
    bool finished() const noexcept override { return file_.at_end() && !has_frame_; }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return n_super_packets_[stream]; }
    std::string describe() const override;
    std::string trouble() const override;

    /// Readable by any thread after the replay, by the receiving one during it.
    std::uint64_t n_frames(FrameVerdict verdict) const noexcept { return n_frames_[static_cast<std::size_t>(verdict)]; }
    std::uint64_t n_other_port() const noexcept { return n_other_port_; }
    /// Why reading ended before the end of the file; empty when it did not.
    std::string read_error() const { return file_.read_error(); }

  private:
    bool find_datagram() noexcept;
    bool read_frame() noexcept;
    bool may_be_ours() const noexcept {
        return frame_.destination_port == 0 || stream_of_port_[frame_.destination_port] >= 0;
    }
    void show() noexcept;
    void look_through();
    void refuse_uncut_super_packets();
    std::span<const std::byte> keep(std::span<const std::byte> payload) noexcept;

    PcapBackendConfig config_;
    std::vector<std::int32_t> stream_of_port_;
    CapturePace pace_;
    CaptureFile file_;
    std::vector<std::uint8_t> wanted_;   ///< by stream
    std::unique_ptr<std::byte[]> lent_;  ///< copies of the lent datagrams: the library reuses its own buffer
    std::size_t lent_bytes_ = 0;
    std::vector<std::uint64_t> n_super_packets_;  ///< by stream

    std::size_t segment_bytes_ = 0;  ///< of frame_, which may have several datagrams
    UdpFrame frame_{};               ///< read and not yet lent, when has_frame_
    bool has_frame_ = false;
    Nanoseconds captured_ns_ = 0;
    bool is_behind_ = false;  ///< the last batch was full: more may be due
    std::array<std::uint64_t, static_cast<std::size_t>(FrameVerdict::count)> n_frames_{};
    std::uint64_t n_other_port_ = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(FrameVerdict::count)> n_not_used_{};  ///< that may be ours
    std::optional<Counters<CaptureCounter>> counters_{};
    std::atomic<bool> is_broken_{false};  ///< reading ended before the end of the file
};

}  // namespace anello::receive
