// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/source/source_config.hpp"
#include "wire/crc32c.hpp"

namespace anello::camera {

/// The datagrams of distinct events, for the boards of one process: waveforms are encoded once, with their checksum,
/// and a
/// fragment is sent in place, with a new header. A pattern depends on the event number and is
/// written when it is sent, so there a few events suffice.
class CameraPool {
  public:
    explicit CameraPool(const CameraSourceConfig& config);  ///< Throws ConfigError.

    std::uint32_t n_events() const noexcept { return n_events_; }
    std::span<const CameraTruth> truth() const noexcept { return truth_; }
    std::size_t n_bytes() const noexcept { return bytes_.size(); }

    // Hot path: no allocation, no lock, no log, no throw.
    /// With room for a header in front of its payload. Belongs to the one thread that sends.
    std::span<std::byte> datagram(std::uint32_t event, std::uint32_t stream) noexcept {
        return {bytes_.data() + (std::size_t{event} * n_streams_ + stream) * stride_, datagram_bytes_};
    }
    /// Of the waveforms: what follows them, first cells, is the sender's.
    std::uint32_t payload_crc(std::uint32_t event, std::uint32_t stream) const noexcept {
        return payload_crc_[std::size_t{event} * n_streams_ + stream];
    }
    bool has_shower(std::uint32_t event) const noexcept { return truth_[event].has_shower(); }
    /// 0 where there is a pattern.
    std::uint8_t trigger_tag(std::uint32_t event) const noexcept { return truth_[event].trigger_tag; }

  private:
    void simulate(const CameraSourceConfig& config);

    std::uint32_t n_events_, n_streams_;
    std::size_t datagram_bytes_, stride_;
    std::vector<std::byte> bytes_;            // [event][stream], from stride to stride
    std::vector<std::uint32_t> payload_crc_;  // [event][stream]
    std::vector<CameraTruth> truth_;          // [event]
};

}  // namespace anello::camera
