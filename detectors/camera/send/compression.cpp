// SPDX-License-Identifier: Apache-2.0
#include "camera/send/compression.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <string>

#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

std::uint16_t sample_at(const std::byte* bytes, std::size_t index) noexcept {
    return wire::load_le<std::uint16_t>(bytes + 2 * index);
}

/// Transposes 8 x 8 bits, row r in byte r. It is its own inverse. (H. S. Warren, Hacker's Delight, 7-3.)
std::uint64_t transpose(std::uint64_t bits) noexcept {
    std::uint64_t swap = (bits ^ (bits >> 7)) & 0x00aa00aa00aa00aaU;
    bits ^= swap ^ (swap << 7);
    swap = (bits ^ (bits >> 14)) & 0x0000cccc0000ccccU;
    bits ^= swap ^ (swap << 14);
    swap = (bits ^ (bits >> 28)) & 0x00000000f0f0f0f0U;
    return bits ^ swap ^ (swap << 28);
}

void copy_tail(std::span<const std::byte> in, std::span<std::byte> out, std::size_t begin) noexcept {
    std::copy(in.begin() + static_cast<std::ptrdiff_t>(begin), in.end(),
              out.begin() + static_cast<std::ptrdiff_t>(begin));
}

void split_bytes(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    const std::size_t n = in.size() / 2;
    for (std::size_t i = 0; i < n; ++i) out[i] = in[2 * i];
    for (std::size_t i = 0; i < n; ++i) out[n + i] = in[2 * i + 1];
    copy_tail(in, out, 2 * n);
}

void join_bytes(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    const std::size_t n = in.size() / 2;
    for (std::size_t i = 0; i < n; ++i) {
        out[2 * i] = in[i];
        out[2 * i + 1] = in[n + i];
    }
    copy_tail(in, out, 2 * n);
}

#ifdef __SSE2__
/// Sixteen samples become two bytes in each plane. PERF NOTE: the processor gathers one bit of 16 bytes at once
/// (./dev bench compression, simulated/table/1/bit).
void split_two_groups(const std::byte* in, std::byte* out, std::size_t n_groups) noexcept {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 16));
    const __m128i low_byte = _mm_set1_epi16(0xff);
    __m128i low = _mm_packus_epi16(_mm_and_si128(first, low_byte), _mm_and_si128(second, low_byte));
    __m128i high = _mm_packus_epi16(_mm_srli_epi16(first, 8), _mm_srli_epi16(second, 8));
    for (std::size_t bit = 8; bit-- > 0;) {  // the highest bit of a byte, which no shift fills from another byte
        wire::store_le(out + bit * n_groups, static_cast<std::uint16_t>(_mm_movemask_epi8(low)));
        wire::store_le(out + (bit + 8) * n_groups, static_cast<std::uint16_t>(_mm_movemask_epi8(high)));
        low = _mm_slli_epi16(low, 1);
        high = _mm_slli_epi16(high, 1);
    }
}
#endif

#ifdef __SSE2__
/// Folded differences of eight samples to those before them. PERF NOTE: records take 4 to 21 % less time than with
/// samples one by one (./dev bench compression, simulated/1/byte/1).
void difference_of_eight(const std::byte* in, std::byte* out) noexcept {
    const __m128i samples = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in - 2));
    const __m128i step = _mm_sub_epi16(samples, before);
    const __m128i folded = _mm_xor_si128(_mm_add_epi16(step, step), _mm_srai_epi16(step, 15));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), folded);
}
#endif

/// Makes planes of n_groups bytes, each with one bit of each of eight samples; samples after the last whole group stay.
void split_bits(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    const std::size_t n_groups = in.size() / 16;
    std::size_t group = 0;
#ifdef __SSE2__
    for (; group + 2 <= n_groups; group += 2) split_two_groups(in.data() + 16 * group, out.data() + group, n_groups);
#endif
    for (; group < n_groups; ++group) {
        std::uint64_t low = 0, high = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            low |= std::to_integer<std::uint64_t>(in[16 * group + 2 * i]) << (8 * i);
            high |= std::to_integer<std::uint64_t>(in[16 * group + 2 * i + 1]) << (8 * i);
        }
        low = transpose(low);
        high = transpose(high);
        for (std::size_t bit = 0; bit < 8; ++bit) {
            out[bit * n_groups + group] = static_cast<std::byte>(low >> (8 * bit));
            out[(bit + 8) * n_groups + group] = static_cast<std::byte>(high >> (8 * bit));
        }
    }
    copy_tail(in, out, 16 * n_groups);
}

void join_bits(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    const std::size_t n_groups = in.size() / 16;
    for (std::size_t group = 0; group < n_groups; ++group) {
        std::uint64_t low = 0, high = 0;
        for (std::size_t bit = 0; bit < 8; ++bit) {
            low |= std::to_integer<std::uint64_t>(in[bit * n_groups + group]) << (8 * bit);
            high |= std::to_integer<std::uint64_t>(in[(bit + 8) * n_groups + group]) << (8 * bit);
        }
        low = transpose(low);
        high = transpose(high);
        for (std::size_t i = 0; i < 8; ++i) {
            out[16 * group + 2 * i] = static_cast<std::byte>(low >> (8 * i));
            out[16 * group + 2 * i + 1] = static_cast<std::byte>(high >> (8 * i));
        }
    }
    copy_tail(in, out, 16 * n_groups);
}

}  // namespace

void difference(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    const std::size_t n = in.size() / 2;
    const auto fold = [&](std::size_t i, std::uint16_t before) {
        const auto step = static_cast<std::int16_t>(sample_at(in.data(), i) - before);
        wire::store_le(out.data() + 2 * i, static_cast<std::uint16_t>((step * 2) ^ (step >> 15)));
    };
    if (n > 0) fold(0, 0);
    std::size_t i = 1;
#ifdef __SSE2__
    for (; i + 8 <= n; i += 8) difference_of_eight(in.data() + 2 * i, out.data() + 2 * i);
#endif
    for (; i < n; ++i) fold(i, sample_at(in.data(), i - 1));
    copy_tail(in, out, 2 * n);
}

void undo_difference(std::span<std::byte> bytes) noexcept {
    std::uint16_t sample = 0;
    for (std::size_t i = 0; i < bytes.size() / 2; ++i) {
        const std::uint16_t folded = sample_at(bytes.data(), i);
        sample = static_cast<std::uint16_t>(sample + ((folded >> 1) ^ -(folded & 1)));
        wire::store_le(bytes.data() + 2 * i, sample);
    }
}

void shuffle(Shuffle how, std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    if (how == Shuffle::byte) return split_bytes(in, out);
    if (how == Shuffle::bit) return split_bits(in, out);
    copy_tail(in, out, 0);
}

void undo_shuffle(Shuffle how, std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    if (how == Shuffle::byte) return join_bytes(in, out);
    if (how == Shuffle::bit) return join_bits(in, out);
    copy_tail(in, out, 0);
}

}  // namespace anello::camera
