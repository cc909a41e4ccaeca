// SPDX-License-Identifier: Apache-2.0
#include "core/counters/event_slot.hpp"

#include <algorithm>
#include <cstring>

namespace anello {
namespace {

constexpr int n_tries = 16;  // a write takes microseconds and comes ten times a second

using Words = std::span<std::atomic<std::uint64_t>>;
using ReadWords = std::span<const std::atomic<std::uint64_t>>;

void store(std::span<const std::byte> bytes, Words words) noexcept {
    for (std::size_t i = 0; i * sizeof(std::uint64_t) < bytes.size(); ++i) {
        const auto part = bytes.subspan(i * sizeof(std::uint64_t));
        std::uint64_t word = 0;
        std::memcpy(&word, part.data(), std::min(part.size(), sizeof word));
        words[i].store(word, std::memory_order_release);  // pairs with load()
    }
}

void load(ReadWords words, std::span<std::byte> bytes) noexcept {
    for (std::size_t i = 0; i * sizeof(std::uint64_t) < bytes.size(); ++i) {
        const auto part = bytes.subspan(i * sizeof(std::uint64_t));
        const std::uint64_t word = words[i].load(std::memory_order_acquire);  // pairs with store()
        std::memcpy(part.data(), &word, std::min(part.size(), sizeof word));
    }
}

}  // namespace

// A reader that sees any word of this event also sees n_writes_ odd or changed, because words are released and acquired
// in order. This costs nothing here and needs no fence, which the thread sanitizer does not support.
void EventSlot::put(std::string_view kind, Nanoseconds wall_ns, std::span<const std::byte> payload) noexcept {
    if (payload.size() > max_bytes) return;
    const std::uint64_t n_writes = n_writes_.load(std::memory_order_relaxed);
    n_writes_.store(n_writes + 1, std::memory_order_relaxed);
    std::array<char, max_kind + 1> word{};
    kind.substr(0, max_kind).copy(word.data(), max_kind);
    store(std::as_bytes(std::span(word)), kind_);
    wall_ns_.store(wall_ns, std::memory_order_release);
    n_bytes_.store(payload.size(), std::memory_order_release);
    store(payload, words_);
    n_writes_.store(n_writes + 2, std::memory_order_release);
}

std::optional<EventSlot::Event> EventSlot::take() const {
    for (int i = 0; i < n_tries; ++i) {
        const std::uint64_t before = n_writes_.load(std::memory_order_acquire);  // pairs with the release in put()
        const std::uint64_t n_bytes = n_bytes_.load(std::memory_order_acquire);
        if (before == 0 || n_bytes > max_bytes) return std::nullopt;
        std::array<char, max_kind + 1> word{};
        load(kind_, std::as_writable_bytes(std::span(word)));
        Event event{.kind = {}, .wall_ns = wall_ns_.load(std::memory_order_acquire), .payload = {}};
        event.kind.assign(word.data(), strnlen(word.data(), max_kind));
        event.payload.resize(n_bytes);
        load(words_, event.payload);
        if (before % 2 == 0 && n_writes_.load(std::memory_order_relaxed) == before) return event;
    }
    return std::nullopt;
}

}  // namespace anello
