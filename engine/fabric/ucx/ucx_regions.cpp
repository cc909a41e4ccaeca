// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_regions.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "core/errors.hpp"
#include "fabric/ucx/ucx_log.hpp"

namespace anello::fabric {

UcxRegions::~UcxRegions() {
    const QuietUcx quiet;
    for (std::uint32_t index = 0; index < regions_.size(); ++index) remove({index, 0});
}

Region UcxRegions::add(std::span<std::byte> memory) {
    const QuietUcx quiet;
    if (memory.empty()) throw ConfigError("region", "must not be empty", "0 bytes", "Register the whole buffer");
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = memory.data();
    params.length = memory.size();
    ucp_mem_h handle = nullptr;
    if (const ucs_status_t status = ucp_mem_map(context_, &params, &handle); status != UCS_OK)
        throw SystemError(fmt::format("UCX cannot register {} bytes: {}", memory.size(), ucs_status_string(status)),
                          ENOMEM, "Raise the limit of locked memory: `ulimit -l`");
    regions_.push_back({memory, handle});
    return {static_cast<std::uint32_t>(regions_.size() - 1), memory.size()};
}

void UcxRegions::remove(Region region) noexcept {
    if (region.index >= regions_.size() || regions_[region.index].handle == nullptr) return;
    const QuietUcx quiet;
    ucp_mem_unmap(context_, std::exchange(regions_[region.index].handle, nullptr));
}

UcxKey UcxRegions::key(Region region) const {
    if (region.index >= regions_.size() || regions_[region.index].handle == nullptr)
        throw ConfigError("region", "must be registered", fmt::format("region {}", region.index),
                          "Ask for its key before deregister()");
    const QuietUcx quiet;
    const Mapped& mapped = regions_[region.index];
    void* packed = nullptr;
    std::size_t n_bytes = 0;
    if (const ucs_status_t status = ucp_rkey_pack(context_, mapped.handle, &packed, &n_bytes); status != UCS_OK)
        throw SystemError(fmt::format("UCX gives no key to a region: {}", ucs_status_string(status)), EIO,
                          "Name other transports in fabric.ucx_tls");
    const auto* begin = static_cast<const std::byte*>(packed);
    UcxKey key{.address = reinterpret_cast<std::uintptr_t>(mapped.memory.data()),
               .size_bytes = mapped.memory.size(),
               .remote_key = {begin, begin + n_bytes}};
    ucp_rkey_buffer_release(packed);
    return key;
}

UcxRemotes::~UcxRemotes() {
    for (const UcxRemote& remote : remotes_)
        if (remote.key != nullptr) ucp_rkey_destroy(remote.key);
}

std::uint32_t UcxRemotes::add(const UcxRemote& remote) {
    remotes_.push_back(remote);
    return static_cast<std::uint32_t>(remotes_.size() - 1);
}

const UcxRemote* UcxRemotes::find(const RemoteRegion& region, std::uint64_t link) const noexcept {
    if (region.index >= remotes_.size()) return nullptr;
    const UcxRemote& remote = remotes_[region.index];
    return remote.peer == region.peer && remote.link == link && remote.key != nullptr ? &remote : nullptr;
}

void UcxRemotes::forget(std::uint64_t link) noexcept {
    for (UcxRemote& remote : remotes_)
        if (remote.link == link && remote.key != nullptr) ucp_rkey_destroy(std::exchange(remote.key, nullptr));
}

}  // namespace anello::fabric
