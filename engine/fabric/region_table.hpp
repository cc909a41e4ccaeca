// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"

namespace anello::fabric {

/// The memory that a fabric registered. It never gives an index twice, so that the key of a deregistered region finds
/// nothing.
class RegionTable {
  public:
    Region add(std::span<std::byte> memory);  ///< Throws ConfigError when it is empty.
    void remove(Region region) noexcept;
    /// Returns the key for attach() of peers. Throws ConfigError if the region is not registered.
    std::vector<std::byte> key(Region region) const;
    /// Address of `offset` in a region, null unless `n_bytes` fit there. A peer sent the numbers: they may have any
    /// value.
    std::byte* find(std::uint32_t index, std::uint64_t offset, std::uint64_t n_bytes) const noexcept;

  private:
    std::vector<std::span<std::byte>> regions_;
};

/// Throws ConfigError if these are not the bytes that key() returned.
RemoteRegion decode_key(Peer peer, std::span<const std::byte> key);

/// Whether `n_bytes` at `offset` lie within the region, according to its key.
constexpr bool lies_in(const RemoteRegion& region, std::size_t offset, std::size_t n_bytes) noexcept {
    return offset <= region.size_bytes && n_bytes <= region.size_bytes - offset;
}

}  // namespace anello::fabric
