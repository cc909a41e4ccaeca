// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace anello::wire {

/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78, start and end inverted), as in iSCSI, SCTP and the SSE4.2
/// instruction. crc32c("123456789") is 0xe3069283. Pass the result so far to continue over more bytes.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc_so_far = 0) noexcept;

/// The same by table, for processors without the instruction. Tests compare the two.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t crc_so_far = 0) noexcept;

/// Joins the checksums of two stretches of bytes without reading them again. It is made for one length of the second
/// stretch: a checksum is linear, so the bytes after a stretch multiply its part by a matrix that depends only on their
/// number.
class Crc32cJoin {
  public:
    using Table = std::array<std::array<std::uint32_t, 256>, 4>;  ///< the matrix, applied byte by byte

    explicit Crc32cJoin(std::size_t second_bytes) noexcept;

    // Hot path: no allocation, no lock, no log, no throw.
    std::uint32_t operator()(std::uint32_t crc_of_first, std::uint32_t crc_of_second) const noexcept {
        return multiply(table_, crc_of_first) ^ crc_of_second;
    }
    static std::uint32_t multiply(const Table& table, std::uint32_t crc) noexcept {
        return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
    }

  private:
    Table table_;
};

}  // namespace anello::wire
