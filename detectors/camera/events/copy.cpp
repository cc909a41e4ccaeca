// SPDX-License-Identifier: Apache-2.0
#include "camera/events/copy.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace anello::camera {
namespace {

constexpr std::size_t line_bytes = 64;

#if defined(__x86_64__)

struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
};

/// Fills up the last, partial cache line: the processor would first read a line written in part from memory.
Line last_line(std::span<const std::byte> rest) noexcept {
    Line line{};
    std::memcpy(line.bytes, rest.data(), rest.size());
    return line;
}

inline void stream_line_sse2(std::byte* to, const std::byte* from) noexcept {
    auto* const at = reinterpret_cast<__m128i*>(to);
    const auto* const source = reinterpret_cast<const __m128i*>(from);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(at, a);
    _mm_stream_si128(at + 1, b);
    _mm_stream_si128(at + 2, c);
    _mm_stream_si128(at + 3, d);
}

void copy_sse2(std::byte* to, std::span<const std::byte> from) noexcept {
    for (; from.size() >= line_bytes; from = from.subspan(line_bytes), to += line_bytes)
        stream_line_sse2(to, from.data());
    if (!from.empty()) stream_line_sse2(to, last_line(from).bytes);
}

// GCC does not see that the unused lanes of its own intrinsics are never read.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
__attribute__((target("avx512f"))) void copy_avx512(std::byte* to, std::span<const std::byte> from) noexcept {
    for (; from.size() >= line_bytes; from = from.subspan(line_bytes), to += line_bytes)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from.data()));
    if (!from.empty()) _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(last_line(from).bytes));
}
#pragma GCC diagnostic pop

#endif

#if !defined(__x86_64__)
void copy_with_zeros(std::byte* to, std::span<const std::byte> from) noexcept {
    std::memcpy(to, from.data(), from.size());
    std::memset(to + from.size(), 0, (line_bytes - from.size() % line_bytes) % line_bytes);
}
#endif

}  // namespace

void copy_plainly(std::byte* to, std::span<const std::byte> from) noexcept {
    std::memcpy(to, from.data(), from.size());
}

#if defined(__x86_64__)

CopyFunction copy_past_cache_sse2() noexcept {
    return copy_sse2;
}

CopyFunction copy_past_cache_avx512() noexcept {
    return __builtin_cpu_supports("avx512f") ? copy_avx512 : nullptr;
}

CopyFunction choose_copy_past_cache() noexcept {
    return copy_past_cache_avx512() != nullptr ? copy_avx512 : copy_sse2;
}

void finish_copies_past_cache() noexcept {
    _mm_sfence();
}

#else

CopyFunction copy_past_cache_sse2() noexcept {
    return nullptr;
}

CopyFunction copy_past_cache_avx512() noexcept {
    return nullptr;
}

CopyFunction choose_copy_past_cache() noexcept {
    return copy_with_zeros;
}

void finish_copies_past_cache() noexcept {}

#endif

}  // namespace anello::camera
