// SPDX-License-Identifier: Apache-2.0
#include "exchange/messages/messages.hpp"

#include "wire/bytes.hpp"

namespace anello::exchange {
namespace {

using wire::load_le;
using wire::store_le;

constexpr std::uint32_t magic = 0x31435845;  // "EXC1" in the order of bytes on the network
constexpr std::uint8_t version = 2;
constexpr auto last_type = static_cast<std::uint8_t>(MessageType::again);

}  // namespace

void write(const MessageHeader& header, std::array<std::byte, message_header_bytes>& bytes) noexcept {
    std::byte* at = bytes.data();
    store_le(at, magic);
    at[4] = std::byte{version};
    at[5] = static_cast<std::byte>(header.type);
    store_le(at + 6, header.from);
    store_le(at + 8, header.sequence);
    store_le(at + 12, header.acknowledged);
    store_le(at + 16, header.mep);
    store_le(at + 24, header.use);
    store_le(at + 28, header.n_entries);
    store_le(at + 32, header.slot);
    store_le(at + 34, std::uint16_t{0});
    store_le(at + 36, std::uint32_t{0});
}

bool read(std::span<const std::byte> bytes, MessageHeader& header) noexcept {
    if (bytes.size() != message_header_bytes) return false;
    const std::byte* at = bytes.data();
    const auto type = static_cast<std::uint8_t>(at[5]);
    if (load_le<std::uint32_t>(at) != magic || at[4] != std::byte{version} || type == 0 || type > last_type)
        return false;
    header = {.type = static_cast<MessageType>(type),
              .from = load_le<std::uint16_t>(at + 6),
              .sequence = load_le<std::uint32_t>(at + 8),
              .acknowledged = load_le<std::uint32_t>(at + 12),
              .n_entries = load_le<std::uint32_t>(at + 28),
              .mep = load_le<std::uint64_t>(at + 16),
              .use = load_le<std::uint32_t>(at + 24),
              .slot = load_le<std::uint16_t>(at + 32)};
    return true;
}

void write(const Assignment& entry, std::byte* to) noexcept {
    store_le(to, entry.mep);
    store_le(to + 8, entry.use);
    store_le(to + 12, entry.slot);
    store_le(to + 14, entry.builder);
}

void write(const Credit& entry, std::byte* to) noexcept {
    store_le(to, entry.mep);
    store_le(to + 8, entry.use);
    store_le(to + 12, entry.slot);
    store_le(to + 14, entry.n_missing);
}

void write(const NodeEntry& entry, std::byte* to) noexcept {
    store_le(to, entry.first_mep);
    store_le(to + 8, entry.node);
    store_le(to + 10, static_cast<std::uint16_t>((entry.live ? 1 : 0) | (entry.is_standby ? 2 : 0)));
    store_le(to + 12, entry.life);
}

void write(const Outcome& entry, std::byte* to) noexcept {
    store_le(to, entry.mep);
    store_le(to + 8, entry.builder);
    store_le(to + 10, entry.slot);
    store_le(to + 12, entry.n_missing);
    store_le(to + 14, std::uint16_t{0});
}

void write(const Totals& entry, std::byte* to) noexcept {
    store_le(to, entry.n_complete);
    store_le(to + 8, entry.n_incomplete);
}

void read(const std::byte* from, Assignment& entry) noexcept {
    entry = {.mep = load_le<std::uint64_t>(from),
             .use = load_le<std::uint32_t>(from + 8),
             .slot = load_le<std::uint16_t>(from + 12),
             .builder = load_le<std::uint16_t>(from + 14)};
}

void read(const std::byte* from, Credit& entry) noexcept {
    entry = {.mep = load_le<std::uint64_t>(from),
             .use = load_le<std::uint32_t>(from + 8),
             .slot = load_le<std::uint16_t>(from + 12),
             .n_missing = load_le<std::uint16_t>(from + 14)};
}

void read(const std::byte* from, NodeEntry& entry) noexcept {
    const auto flags = load_le<std::uint16_t>(from + 10);
    entry = {.node = load_le<std::uint16_t>(from + 8),
             .live = (flags & 1) != 0,
             .first_mep = load_le<std::uint64_t>(from),
             .life = load_le<std::uint32_t>(from + 12),
             .is_standby = (flags & 2) != 0};
}

void read(const std::byte* from, Outcome& entry) noexcept {
    entry = {.mep = load_le<std::uint64_t>(from),
             .builder = load_le<std::uint16_t>(from + 8),
             .slot = load_le<std::uint16_t>(from + 10),
             .n_missing = load_le<std::uint16_t>(from + 12)};
}

void read(const std::byte* from, Totals& entry) noexcept {
    entry = {.n_complete = load_le<std::uint64_t>(from), .n_incomplete = load_le<std::uint64_t>(from + 8)};
}

}  // namespace anello::exchange
