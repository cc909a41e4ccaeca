// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.hpp"
#include "fabric/ucx/ucx_wire.hpp"

namespace anello::fabric {

/// Our memory that peers may write to and read from. It never gives an index twice. A GPU's memory is recognised if UCX
/// was built for that GPU.
class UcxRegions {
  public:
    explicit UcxRegions(ucp_context_h context) noexcept : context_(context) {}
    ~UcxRegions();
    UcxRegions(const UcxRegions&) = delete;
    UcxRegions& operator=(const UcxRegions&) = delete;

    Region add(std::span<std::byte> memory);  ///< Throws ConfigError, SystemError.
    void remove(Region region) noexcept;
    /// Throws ConfigError if the region is not registered.
    UcxKey key(Region region) const;

  private:
    struct Mapped {
        std::span<std::byte> memory;
        ucp_mem_h handle = nullptr;
    };

    ucp_context_h context_;
    std::vector<Mapped> regions_;
};

/// A peer's memory after attach(), valid for one connection.
struct UcxRemote {
    Peer peer;
    std::uint64_t link;  ///< number of the connection
    std::uint64_t address;
    std::size_t size_bytes;
    ucp_rkey_h key;
};

class UcxRemotes {
  public:
    UcxRemotes() = default;
    ~UcxRemotes();
    UcxRemotes(const UcxRemotes&) = delete;
    UcxRemotes& operator=(const UcxRemotes&) = delete;

    std::uint32_t add(const UcxRemote& remote);
    /// Null if there is none with this number, peer and connection.
    const UcxRemote* find(const RemoteRegion& region, std::uint64_t link) const noexcept;
    /// Called when UCX has finished with a connection.
    void forget(std::uint64_t link) noexcept;

  private:
    std::vector<UcxRemote> remotes_;
};

}  // namespace anello::fabric
