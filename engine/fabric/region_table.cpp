// SPDX-License-Identifier: Apache-2.0
#include "fabric/region_table.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {

constexpr std::uint32_t key_magic = 0x4b464e41;  // "ANFK"

struct Key {
    std::uint32_t magic;
    std::uint32_t index;
    std::uint64_t size_bytes;
};
static_assert(sizeof(Key) == 16);

}  // namespace

Region RegionTable::add(std::span<std::byte> memory) {
    if (memory.empty()) throw ConfigError("region", "must not be empty", "0 bytes", "Register the whole buffer");
    regions_.push_back(memory);
    return {static_cast<std::uint32_t>(regions_.size() - 1), memory.size()};
}

void RegionTable::remove(Region region) noexcept {
    if (region.index < regions_.size()) regions_[region.index] = {};
}

std::vector<std::byte> RegionTable::key(Region region) const {
    if (region.index >= regions_.size() || regions_[region.index].empty())
        throw ConfigError("region", "must be registered", fmt::format("region {}", region.index),
                          "Ask for its key before deregister()");
    const Key key{key_magic, region.index, regions_[region.index].size()};
    std::vector<std::byte> bytes(sizeof key);
    std::memcpy(bytes.data(), &key, sizeof key);
    return bytes;
}

std::byte* RegionTable::find(std::uint32_t index, std::uint64_t offset, std::uint64_t n_bytes) const noexcept {
    if (index >= regions_.size()) return nullptr;
    const std::span<std::byte> region = regions_[index];
    if (region.empty() || offset > region.size() || n_bytes > region.size() - offset) return nullptr;
    return region.data() + offset;
}

RemoteRegion decode_key(Peer peer, std::span<const std::byte> key) {
    Key decoded{};
    if (key.size() == sizeof decoded) std::memcpy(&decoded, key.data(), sizeof decoded);
    if (decoded.magic != key_magic)
        throw ConfigError("key", "must be what the peer's key() gave", fmt::format("{} bytes", key.size()),
                          "All processes of a farm must use the same transport and version");
    return {peer, decoded.index, decoded.size_bytes};
}

}  // namespace anello::fabric
