// SPDX-License-Identifier: Apache-2.0
#include "build/camera_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace anello::build {
namespace {

constexpr std::size_t line_bytes = 64;

#if defined(__x86_64__)

struct alignas(line_bytes) Line {
    std::byte bytes[line_bytes];
};

/// The last, partial line, made whole: a line written in part would be read from memory first.
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

CopyFunction choose_far_copy(std::span<std::byte> memory, std::size_t datagram_bytes, const Clock& clock) {
    constexpr std::size_t source_bytes = std::size_t{128} << 10, at_most = std::size_t{16} << 20;
    const std::size_t n_slot = (datagram_bytes + line_bytes - 1) / line_bytes * line_bytes;
    const std::vector<std::byte> source(source_bytes + n_slot);
    const auto time_of = [&](CopyFunction copy) {
        const Nanoseconds begin_ns = clock.monotonic_ns();
        for (std::size_t at = 0; at + n_slot <= std::min(memory.size(), at_most); at += n_slot)
            copy(memory.data() + at, std::span(source).subspan(at % source_bytes, datagram_bytes));
        finish_copies_past_cache();
        return clock.monotonic_ns() - begin_ns;
    };
    const std::array<CopyFunction, 3> copies{copy_plainly, copy_ahead, choose_copy_past_cache()};
    std::array<Nanoseconds, copies.size()> best_ns;
    best_ns.fill(std::numeric_limits<Nanoseconds>::max());
    for (int round = 0; round < 3; ++round)  // the best of three: whatever disturbs makes it longer
        for (std::size_t i = 0; i < copies.size(); ++i) best_ns[i] = std::min(best_ns[i], time_of(copies[i]));
    const auto best = static_cast<std::size_t>(std::min_element(best_ns.begin(), best_ns.end()) - best_ns.begin());
    return best_ns[best] * 10 < best_ns[0] * 9 ? copies[best] : copies[0];
}

}  // namespace anello::build
