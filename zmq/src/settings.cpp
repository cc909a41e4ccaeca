// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lent_memory.hpp"
#include "stream/stream_config.hpp"

namespace anello::zeromq {
namespace {

/// No caller could catch an exception here, and a wrong environment variable must not end a program: this function
/// prints a warning and keeps the default.
void read_bytes(const char* name, const char* rule, bool (*holds)(std::size_t), std::size_t& value) noexcept {
    const char* const text = std::getenv(name);
    if (text == nullptr) return;
    const char* const end = text + std::strlen(text);
    std::size_t given = 0;
    const auto [stopped, error] = std::from_chars(text, end, given);
    if (error == std::errc{} && stopped == end && holds(given))
        value = given;
    else
        std::fprintf(stderr, "anello: %s: must be %s (given: %s). %zu is used\n", name, rule, text, value);
}

bool is_off(const char* name) noexcept {
    const char* const text = std::getenv(name);
    return text != nullptr && std::strcmp(text, "0") == 0;
}

Settings read() noexcept {
    Settings settings;
    settings.ring = !is_off("ZMQ_ANELLO_RING");
    settings.copier = !is_off("ZMQ_ANELLO_COPIER");
    const auto is_ring = [](std::size_t n_bytes) {
        return std::has_single_bit(n_bytes) && n_bytes >= stream::smallest_ring_bytes &&
               n_bytes <= stream::largest_ring_bytes;
    };
    const auto is_lent = [](std::size_t n_bytes) {
        return n_bytes <= LentMemory::largest_bytes && n_bytes % LentMemory::cell_bytes == 0;
    };
    const auto any = [](std::size_t) { return true; };
    read_bytes("ZMQ_ANELLO_RING_BYTES", "a power of two from 65536 to 4294967296", is_ring, settings.ring_bytes);
    read_bytes("ZMQ_ANELLO_ALL_RINGS_BYTES", "a number of bytes", any, settings.all_rings_bytes);
    read_bytes("ZMQ_ANELLO_LENT_BYTES", "a multiple of 16384 up to 1073741824", is_lent, settings.lent_bytes);
    read_bytes("ZMQ_ANELLO_POOL_BYTES", "a number of bytes", any, settings.pool_bytes);
    return settings;
}

}  // namespace

const Settings& settings() noexcept {
    static const Settings instance = read();
    return instance;
}

}  // namespace anello::zeromq
