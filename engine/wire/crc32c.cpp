// SPDX-License-Identifier: Apache-2.0
#include "wire/crc32c.hpp"

#include <array>

#include "wire/bytes.hpp"

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace anello::wire {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
        table[byte] = crc;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t crc_so_far) noexcept {
    std::uint32_t crc = ~crc_so_far;
    for (const std::byte byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
    return ~crc;
}

#ifdef __SSE4_2__
// Hot path: no allocation, no lock, no log, no throw.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc_so_far) noexcept {
    std::uint64_t crc = static_cast<std::uint32_t>(~crc_so_far);
    const std::byte* at = bytes.data();
    std::size_t n_left = bytes.size();
    for (; n_left >= 8; n_left -= 8, at += 8) crc = _mm_crc32_u64(crc, load_le<std::uint64_t>(at));
    auto short_crc = static_cast<std::uint32_t>(crc);
    for (; n_left > 0; --n_left, ++at) short_crc = _mm_crc32_u8(short_crc, static_cast<unsigned char>(*at));
    return ~short_crc;
}
#else
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc_so_far) noexcept {
    return crc32c_by_table(bytes, crc_so_far);
}
#endif

namespace {

/// The register `crc` after n zero bytes. crc32c() inverts at both ends.
std::uint32_t after_zeros(std::uint32_t crc, std::size_t n_zeros) noexcept {
    constexpr std::array<std::byte, 256> zeros{};
    std::uint32_t so_far = ~crc;
    for (; n_zeros > zeros.size(); n_zeros -= zeros.size()) so_far = crc32c(zeros, so_far);
    return ~crc32c(std::span(zeros).first(n_zeros), so_far);
}

}  // namespace

Crc32cJoin::Crc32cJoin(std::size_t second_bytes) noexcept {
    for (std::size_t byte = 0; byte < table_.size(); ++byte) {
        std::array<std::uint32_t, 8> of_bit;
        for (std::size_t bit = 0; bit < of_bit.size(); ++bit)
            of_bit[bit] = after_zeros(std::uint32_t{1} << (8 * byte + bit), second_bytes);
        for (std::size_t value = 0; value < 256; ++value) {
            std::uint32_t sum = 0;
            for (std::size_t bit = 0; bit < of_bit.size(); ++bit)
                if ((value >> bit & 1) != 0) sum ^= of_bit[bit];
            table_[byte][value] = sum;
        }
    }
}

}  // namespace anello::wire
