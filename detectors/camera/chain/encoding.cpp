// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/encoding.hpp"

#include <bit>

namespace anello::camera {
namespace {

// Buffers of a lane in addition to those that wait after it: one being encoded or waiting for room, one at the sender.
constexpr std::size_t n_buffers = KeptEvents::most_behind_lane + 2;
static_assert(std::has_single_bit(KeptEvents::most_behind_lane),
              "else the ring has room for more than there are buffers");

}  // namespace

CameraEncoding::Lane::Lane(const EncodingConfig& config, const CameraShape& shape)
    : encoder(config, shape), buffers(n_buffers, std::vector<std::byte>(encoder.max_bytes())) {}

CameraEncoding::CameraEncoding(const EncodingConfig& config, CompressionChoices& choices, KeptEvents& kept,
                               const CameraShape& shape)
    : choices_(choices), kept_(kept) {
    const std::uint32_t n_lanes = n_threads_of(config.compression.n_threads);
    for (std::uint32_t lane = 0; lane < n_lanes; ++lane) lanes_.emplace_back(config, shape);
}

pipeline::Stage CameraEncoding::stage() {
    return {.name = "compress",
            .n_lanes = static_cast<std::uint32_t>(lanes_.size()),
            .do_work = [this](std::uint32_t lane) { return do_work(lane); },
            .has_input = [this](std::uint32_t) { return kept_.has_given(); },
            .longest_wait_ns = [this](std::uint32_t lane) { return longest_wait_ns(lane); }};
}

/// The sender does not report when it has room, so the lane must look again soon.
Nanoseconds CameraEncoding::longest_wait_ns(std::uint32_t lane) const noexcept {
    return lanes_[lane].made != nullptr ? usual_wait_ns : longest_idle_ns;
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t CameraEncoding::do_work(std::uint32_t number) noexcept {
    Lane& lane = lanes_[number];
    if (!try_hand_on(number)) return 0;
    lane.made = kept_.try_take_in(number);
    if (lane.made == nullptr) return 0;
    const bool tries = number == 0;
    lane.made->encoded = lane.encoder.encode(choices_, tries, lane.made->event, lane.buffers[lane.next]);
    lane.next = (lane.next + 1) % n_buffers;
    try_hand_on(number);
    return 1;
}

bool CameraEncoding::try_hand_on(std::uint32_t number) noexcept {
    Lane& lane = lanes_[number];
    if (lane.made != nullptr && kept_.try_hand_on(number, *lane.made)) lane.made = nullptr;
    return lane.made == nullptr;
}

}  // namespace anello::camera
