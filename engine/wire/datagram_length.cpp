// SPDX-License-Identifier: Apache-2.0
#include "wire/datagram_length.hpp"

#include <cstdint>

#include "wire/bytes.hpp"
#include "wire/camera.hpp"
#include "wire/mep.hpp"
#include "wire/mgp.hpp"

namespace anello::wire {
namespace {

constexpr std::size_t mgp_length_at = 6, mep_length_at = 4, camera_payload_at = 38;

bool begins_with(std::span<const std::byte> bytes, std::uint32_t magic, std::size_t header_bytes) noexcept {
    return bytes.size() >= header_bytes && load_le<std::uint32_t>(bytes.data()) == magic;
}

}  // namespace

std::size_t mgp_datagram_bytes(std::span<const std::byte> bytes) noexcept {
    if (!begins_with(bytes, mgp::magic, mgp::header_bytes)) return 0;
    return load_le<std::uint16_t>(bytes.data() + mgp_length_at);
}

std::size_t mep_datagram_bytes(std::span<const std::byte> bytes) noexcept {
    return bytes.size() < mep::header_bytes ? 0 : load_le<std::uint16_t>(bytes.data() + mep_length_at);
}

std::size_t camera_datagram_bytes(std::span<const std::byte> bytes) noexcept {
    if (!begins_with(bytes, camera::magic, camera::header_bytes)) return 0;
    return camera::header_bytes + load_le<std::uint16_t>(bytes.data() + camera_payload_at);
}

}  // namespace anello::wire
