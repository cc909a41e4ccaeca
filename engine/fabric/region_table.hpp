// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"

namespace anello::fabric {

/// The memory that a fabric registered. An index is never given twice, so that a key that outlived its region finds
/// nothing.
class RegionTable {
  public:
    Region add(std::span<std::byte> memory);  ///< Throws ConfigError when it is empty.
    void remove(Region region) noexcept;
    /// What peers attach by. Throws ConfigError where the region is not registered.
    std::vector<std::byte> key(Region region) const;
    /// `offset`..`offset + n_bytes` of a region, null where there is none; a peer's numbers, so anything may come.
    std::byte* find(std::uint32_t index, std::uint64_t offset, std::uint64_t n_bytes) const noexcept;

  private:
    std::vector<std::span<std::byte>> regions_;
};

/// Throws ConfigError where these are not the bytes that key() gave.
RemoteRegion decode_key(Peer peer, std::span<const std::byte> key);

/// Whether `n_bytes` at `offset` lie in the region, as far as its key tells.
constexpr bool lies_in(const RemoteRegion& region, std::size_t offset, std::size_t n_bytes) noexcept {
    return offset <= region.size_bytes && n_bytes <= region.size_bytes - offset;
}

}  // namespace anello::fabric
