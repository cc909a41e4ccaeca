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
    DatagramLength datagram_length = nullptr;  ///< for the format in the file; null: super-packets are refused
    bool refuses_uncut = true;    ///< false: super-packets that cannot be split are lent whole, for inspection
    bool capture_stamps = false;  ///< lend the capture time as the receive stamp
};

/// Replays a capture file as if from the network. It splits super-packets, which a capture contains if segmentation
/// offload was on, by the length in each datagram's header, and refuses a file with one that cannot be split. Frames
/// without a datagram for a stream are skipped and counted by cause. Receive stamps are 0 unless requested, because
/// those of the capture are of another time.
class PcapBackend final : public Backend {
  public:
    /// Adds counters "receive.capture" to `page`, if there is one. Throws ConfigError.
    PcapBackend(const PcapBackendConfig& config, const Clock& clock, CounterPage* page = nullptr);

    std::size_t n_streams() const noexcept override { return config_.ports.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return config_.ports[stream]; }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    /// Frames keep the file's order: while the next frame's stream is not wanted, none is lent.
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { wanted_[stream] = wanted ? 1 : 0; }
    /// In a replay with speed, datagrams arrive when they are due. As fast as possible, nothing arrives before it is
    /// read.
    bool is_read(std::uint16_t stream) const noexcept override {
        return wanted_[stream] != 0 && (!pace_.has_time() || !is_behind_);
    }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return 0; }
    bool finished() const noexcept override { return file_.at_end() && !has_frame_; }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return n_super_packets_[stream]; }
    std::string describe() const override;
    std::string trouble() const override;

    /// Any thread after the replay, the receiving thread during it.
    std::uint64_t n_frames(FrameVerdict verdict) const noexcept { return n_frames_[static_cast<std::size_t>(verdict)]; }
    std::uint64_t n_other_port() const noexcept { return n_other_port_; }
    /// Why reading stopped before the end of the file; empty if it did not.
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
    std::vector<std::uint8_t> wanted_;   ///< of each stream
    std::unique_ptr<std::byte[]> lent_;  ///< copies of the lent datagrams, because the library reuses its buffer
    std::size_t lent_bytes_ = 0;
    std::vector<std::uint64_t> n_super_packets_;  ///< of each stream

    std::size_t segment_bytes_ = 0;  ///< of frame_, which may contain several datagrams
    UdpFrame frame_{};               ///< read and not yet lent, if has_frame_
    bool has_frame_ = false;
    Nanoseconds captured_ns_ = 0;
    bool is_behind_ = false;  ///< the last batch was full, so more datagrams may be due
    std::array<std::uint64_t, static_cast<std::size_t>(FrameVerdict::count)> n_frames_{};
    std::uint64_t n_other_port_ = 0;
    std::array<std::uint64_t, static_cast<std::size_t>(FrameVerdict::count)> n_not_used_{};  ///< which may be ours
    std::optional<Counters<CaptureCounter>> counters_{};
    std::atomic<bool> is_broken_{false};  ///< reading stopped before the end of the file
};

}  // namespace anello::receive
