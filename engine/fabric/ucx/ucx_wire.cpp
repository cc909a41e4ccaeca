// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_wire.hpp"

#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "fabric/peer_address.hpp"

namespace anello::fabric {
namespace {

constexpr std::uint32_t ucx_address_magic = 0x55464e41, ucx_key_magic = 0x52464e41;  // "ANFU", "ANFR"

/// UCX reads its own bytes without checking their number, so we wrap them with their length and a checksum.
struct Wrapped {
    std::uint32_t magic;
    std::uint32_t n_bytes;
    std::uint64_t checksum;
};

struct KeyHead {
    std::uint64_t farm_id, incarnation, address, size_bytes;
};

/// FNV-1a: protects against damage, not against malice.
std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t sum = 0xcbf29ce484222325U;
    for (const std::byte byte : bytes) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    return sum;
}

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
}

std::vector<std::byte> wrap(std::uint32_t magic, std::span<const std::byte> head, std::span<const std::byte> body) {
    std::vector<std::byte> inner(head.begin(), head.end());
    inner.insert(inner.end(), body.begin(), body.end());
    std::vector<std::byte> bytes;
    append(bytes, Wrapped{magic, static_cast<std::uint32_t>(inner.size()), checksum(inner)});
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
}

/// The bytes that were given to wrap(); there must be more than `head_bytes`.
std::span<const std::byte> unwrap(const char* field, std::uint32_t magic, std::span<const std::byte> bytes,
                                  std::size_t head_bytes) {
    Wrapped wrapped{};
    if (bytes.size() > sizeof wrapped + head_bytes) std::memcpy(&wrapped, bytes.data(), sizeof wrapped);
    const bool fits = wrapped.magic == magic && wrapped.n_bytes == bytes.size() - sizeof wrapped;
    if (!fits || checksum(bytes.subspan(sizeof wrapped)) != wrapped.checksum)
        throw ConfigError(field, "must be what a peer's UCX fabric gave, undamaged",
                          fmt::format("{} bytes", bytes.size()),
                          "All processes of a farm must use the same transport and version");
    return bytes.subspan(sizeof wrapped);
}

std::string to_text(std::uint64_t version) {
    return fmt::format("{}.{}", version >> 32, version & UINT32_MAX);
}

}  // namespace

std::uint64_t ucx_version() noexcept {
    unsigned major = 0, minor = 0, release = 0;
    ucp_get_version(&major, &minor, &release);
    return std::uint64_t{major} << 32 | minor;
}

bool parse(std::span<const std::byte> bytes, UcxHeader& header, std::span<const std::byte>& body) noexcept {
    if (bytes.size() < sizeof header || bytes.size() > max_ucx_header_bytes) return false;
    std::memcpy(&header, bytes.data(), sizeof header);
    body = bytes.subspan(sizeof header);
    if (header.body_bytes != body.size()) return false;
    switch (header.kind) {
        case UcxKind::hello:
            return body.size() == sizeof(UcxHello);
        case UcxKind::signal:
            return body.size() == sizeof(std::uint64_t);
        case UcxKind::message:
        case UcxKind::word:
            return true;
        case UcxKind::acknowledge:
        case UcxKind::heartbeat:
        case UcxKind::bye:
            return body.empty();
    }
    return false;
}

std::uint64_t host_number() noexcept {
    std::uint64_t number = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&number](std::span<const char> bytes) {
        for (const char byte : bytes) number = (number ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    };
    std::array<char, 64> text{};
    if (std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "r"); file != nullptr) {
        add(std::span(text).first(std::fread(text.data(), 1, text.size(), file)));
        std::fclose(file);
    }
    for (const char* const name :
         {"/proc/self/ns/net", "/proc/self/ns/ipc", "/proc/self/ns/pid", "/proc/self/ns/user"}) {
        const ssize_t n_bytes = readlink(name, text.data(), text.size());
        if (n_bytes > 0) add(std::span(text).first(static_cast<std::size_t>(n_bytes)));
    }
    return number;
}

std::vector<std::byte> encode(const UcxAddress& address, const FabricConfig& config) {
    std::vector<std::byte> body;
    append(body, address.ucx_version);
    append(body, address.host);
    append(body, static_cast<std::uint64_t>(address.listening.size()));
    for (const SocketName& name : address.listening) append(body, name);
    body.insert(body.end(), address.worker.begin(), address.worker.end());
    return wrap(ucx_address_magic, encode(make_address(config, address.incarnation)), body);
}

UcxAddress decode_ucx_address(std::span<const std::byte> bytes, Peer peer, const FabricConfig& config) {
    const std::size_t head_bytes = encode(PeerAddress{}).size();
    const auto inner = unwrap("address", ucx_address_magic, bytes, head_bytes);
    const PeerAddress head = decode_address(inner.first(head_bytes), peer, config);
    auto rest = inner.subspan(head_bytes);
    struct {
        std::uint64_t ucx_version, host, n_names;
    } fixed{};
    if (rest.size() >= sizeof fixed) std::memcpy(&fixed, rest.data(), sizeof fixed);
    const auto [version, host, n_names] = fixed;
    if (rest.size() < sizeof fixed || n_names >= (rest.size() - sizeof fixed) / sizeof(SocketName))
        throw ConfigError("address", "must be what the peer's address() gave", fmt::format("{} bytes", bytes.size()),
                          "All processes of a farm must run the same version");
    if (version != ucx_version())
        throw ConfigError("address", fmt::format("must be of a process with UCX {}", to_text(ucx_version())),
                          to_text(version), "Install the same UCX on all machines of the farm");
    rest = rest.subspan(sizeof fixed);
    std::vector<SocketName> listening(n_names);
    if (n_names > 0) std::memcpy(listening.data(), rest.data(), n_names * sizeof(SocketName));
    rest = rest.subspan(n_names * sizeof(SocketName));
    return {head.incarnation, host, std::move(listening), {rest.begin(), rest.end()}, version};
}

std::vector<std::byte> encode(const UcxKey& key) {
    const KeyHead head{key.farm_id, key.incarnation, key.address, key.size_bytes};
    return wrap(ucx_key_magic, std::as_bytes(std::span(&head, 1)), key.remote_key);
}

UcxKey decode_ucx_key(std::span<const std::byte> bytes, std::uint64_t farm_id) {
    const auto inner = unwrap("key", ucx_key_magic, bytes, sizeof(KeyHead));
    KeyHead head{};
    std::memcpy(&head, inner.data(), sizeof head);
    if (head.farm_id != farm_id)
        throw ConfigError("key", fmt::format("must be of farm {:#x}", farm_id), fmt::format("{:#x}", head.farm_id),
                          "Give each run its own farm_id");
    const auto remote_key = inner.subspan(sizeof head);
    return {head.farm_id, head.incarnation, head.address, head.size_bytes, {remote_key.begin(), remote_key.end()}};
}

}  // namespace anello::fabric
