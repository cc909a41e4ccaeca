// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/source/source_config.hpp"
#include "wire/crc32c.hpp"

namespace anello::camera {

/// The datagrams of distinct events for the boards of one process. Waveforms are made once, with their checksum, and
/// each fragment is sent from the pool with a new header.
/// A pattern depends on the event number and is written when it is sent,
/// so that a few events suffice.
class CameraPool {
  public:
    explicit CameraPool(const CameraSourceConfig& config);  ///< Throws ConfigError.

    std::uint32_t n_events() const noexcept { return n_events_; }
    std::span<const CameraTruth> truth() const noexcept { return truth_; }
    std::size_t n_bytes() const noexcept { return bytes_.size(); }

    // Hot path: no allocation, no lock, no log, no throw.
    /// Memory of a fragment: room for a header, then its payload. Only the thread that sends may use it.
    std::span<std::byte> datagram(std::uint32_t event, std::uint32_t stream) noexcept {
        return {bytes_.data() + (std::size_t{event} * n_streams_ + stream) * stride_, datagram_bytes_};
    }
    /// Bytes of the waveforms. The sender writes the first cells after them.
    std::uint32_t payload_crc(std::uint32_t event, std::uint32_t stream) const noexcept {
        return payload_crc_[std::size_t{event} * n_streams_ + stream];
    }
    bool has_shower(std::uint32_t event) const noexcept { return truth_[event].has_shower(); }
    /// Checksum of the waveforms; 0 for a pattern.
    std::uint8_t trigger_tag(std::uint32_t event) const noexcept { return truth_[event].trigger_tag; }

  private:
    void simulate(const CameraSourceConfig& config);

    std::uint32_t n_events_, n_streams_;
    std::size_t datagram_bytes_, stride_;
    std::vector<std::byte> bytes_;            // [event][stream], each of one stride
    std::vector<std::uint32_t> payload_crc_;  // [event][stream]
    std::vector<CameraTruth> truth_;          // [event]
};

}  // namespace anello::camera
