// SPDX-License-Identifier: Apache-2.0
// The messages of fabrics over UCX, without UCX's own bytes: headers, addresses and keys of peers are taken apart
// within their length, or refused with a reason; what is taken can be written again.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/errors.hpp"
#include "fabric/fabric_config.hpp"
#ifdef ANELLO_UCX
#include "fabric/ucx/ucx_wire.hpp"
#endif

using namespace anello;
using namespace anello::fabric;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

#ifdef ANELLO_UCX
void check_header(std::span<const std::byte> bytes) {
    UcxHeader header{};
    std::span<const std::byte> body;
    if (!parse(bytes, header, body)) return;
    require(body.size() == header.body_bytes && sizeof(UcxHeader) + body.size() <= bytes.size());
    require(body.empty() || body.data() + body.size() <= bytes.data() + bytes.size());
}

/// Wraps any bytes as a peer does: the checksum is right, as the receiver would not read what follows a wrong one.
std::vector<std::byte> wrapped(std::uint32_t magic, std::span<const std::byte> inner) {
    std::uint64_t sum = 0xcbf29ce484222325U;
    for (const std::byte byte : inner) sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    const auto n_bytes = static_cast<std::uint32_t>(inner.size());
    std::vector<std::byte> bytes(16 + inner.size());
    std::memcpy(bytes.data(), &magic, sizeof magic);
    std::memcpy(bytes.data() + 4, &n_bytes, sizeof n_bytes);
    std::memcpy(bytes.data() + 8, &sum, sizeof sum);
    std::ranges::copy(inner, bytes.begin() + 16);
    return bytes;
}

void check_address(std::span<const std::byte> bytes) {
    try {
        const UcxAddress address = decode_ucx_address(bytes, 1, FabricConfig{});
        require(address.worker.size() <= bytes.size());
    } catch (const ConfigError&) {  // refused with a reason
    }
}

void check_key(std::span<const std::byte> bytes) {
    try {
        require(decode_ucx_key(bytes, 0).remote_key.size() <= bytes.size());
    } catch (const ConfigError&) {  // refused with a reason
    }
}

void check_round_trip(const std::vector<std::byte>& bytes) {
    const UcxKey key{.farm_id = 7, .incarnation = 1, .address = 2, .size_bytes = 3, .remote_key = bytes};
    require(decode_ucx_key(encode(key), 7).remote_key == bytes);
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput([[maybe_unused]] const std::uint8_t* data, [[maybe_unused]] std::size_t size) {
#ifdef ANELLO_UCX
    const auto* begin = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> bytes(begin, begin + size);
    check_header(bytes);
    constexpr std::uint32_t address_magic = 0x55464e41, key_magic = 0x52464e41;
    check_address(bytes);
    check_address(wrapped(address_magic, bytes));
    check_key(bytes);
    check_key(wrapped(key_magic, bytes));
    if (!bytes.empty()) check_round_trip(bytes);
#endif
    return 0;
}
