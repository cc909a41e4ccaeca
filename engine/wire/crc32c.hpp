// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace anello::wire {

/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, start and end inverted): what iSCSI, SCTP and the SSE4.2
/// instruction compute. crc32c("123456789") is 0xe3069283. Pass the result so far to continue over more bytes.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc_so_far = 0) noexcept;

/// The same by table, for processors without the instruction; the tests compare the two.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t crc_so_far = 0) noexcept;

}  // namespace anello::wire
