// SPDX-License-Identifier: Apache-2.0
#include "wire/payload_pattern.hpp"

#include <algorithm>
#include <array>

#include "wire/bytes.hpp"

namespace anello::wire {
namespace {

constexpr std::size_t word_bytes = 8;

std::array<std::byte, word_bytes> bytes_of(std::uint64_t word) noexcept {
    std::array<std::byte, word_bytes> bytes;
    store_le(bytes.data(), word);
    return bytes;
}

}  // namespace

void write_pattern(std::span<std::byte> payload, std::uint16_t board, std::uint32_t event_number) noexcept {
    std::uint64_t word = pattern_start(board, event_number);
    std::byte* at = payload.data();
    std::size_t n_left = payload.size();
    for (; n_left >= word_bytes; n_left -= word_bytes, at += word_bytes, word += pattern_step) store_le(at, word);
    std::copy_n(bytes_of(word).begin(), n_left, at);
}

bool has_pattern(std::span<const std::byte> payload, std::uint16_t board, std::uint32_t event_number) noexcept {
    std::uint64_t word = pattern_start(board, event_number);
    std::uint64_t wrong = 0;
    const std::byte* at = payload.data();
    std::size_t n_left = payload.size();
    for (; n_left >= word_bytes; n_left -= word_bytes, at += word_bytes, word += pattern_step)
        wrong |= load_le<std::uint64_t>(at) ^ word;
    return wrong == 0 && std::equal(at, at + n_left, bytes_of(word).begin());
}

}  // namespace anello::wire
