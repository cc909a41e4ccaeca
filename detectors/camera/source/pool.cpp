// SPDX-License-Identifier: Apache-2.0
#include "camera/source/pool.hpp"

#include <algorithm>

namespace anello::camera {
namespace {

constexpr std::uint32_t pattern_events = 4;

const CameraSourceConfig& validated(const CameraSourceConfig& config) {
    config.validate();
    return config;
}

}  // namespace

CameraPool::CameraPool(const CameraSourceConfig& config)
    : n_events_(validated(config).payload == CameraPayload::pattern ? std::min(config.pool_events, pattern_events)
                                                                    : config.pool_events),
      n_streams_(config.n_own_boards()),
      datagram_bytes_(wire::camera::header_bytes + config.fragment_payload_bytes()),
      stride_((datagram_bytes_ + 63) / 64 * 64),
      bytes_(std::size_t{n_events_} * n_streams_ * stride_),
      payload_crc_(std::size_t{n_events_} * n_streams_),
      truth_(n_events_) {
    if (config.payload == CameraPayload::waveforms) simulate(config);
}

void CameraPool::simulate(const CameraSourceConfig& config) {
    CameraSimulation simulation(config.simulation, config.shape, config.seed);
    for (std::uint32_t event = 0; event < n_events_; ++event) {
        truth_[event] = simulation.begin_event(event);
        for (std::uint32_t stream = 0; stream < n_streams_; ++stream) {
            const auto payload =
                datagram(event, stream).subspan(wire::camera::header_bytes, config.shape.payload_bytes());
            simulation.write_waveforms(config.first_board + stream, payload);
            payload_crc_[std::size_t{event} * n_streams_ + stream] = wire::crc32c(payload);
        }
    }
}

}  // namespace anello::camera
