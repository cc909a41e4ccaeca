// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "wire/verdict.hpp"

/// Datagrams for the card's merger, and its events, without the model.
namespace card {

inline constexpr std::uint32_t n_boards = DATA_BOARDS;
inline constexpr unsigned bad_frame = 13;  ///< the first number after wire::Verdict

struct Datagram {
    std::uint32_t board = 0;  ///< its stream
    std::vector<std::byte> bytes;
    bool is_bad = false;             ///< tuser of its last beat
    std::uint32_t pause_cycles = 0;  ///< cycles without data before its first beat
    std::uint64_t stamp = 0;         ///< cycle of its first beat, set when it has been sent
};

struct Event {
    std::uint64_t key = 0;
    std::uint8_t fine = 0, flags = 0;
    std::uint32_t missing = 0;
    std::vector<std::uint16_t> hit_id;
    std::vector<std::int16_t> hit_time_fine;
    bool operator==(const Event&) const = default;
};

struct Counts {
    std::array<std::uint64_t, 16> verdicts{};
    std::uint64_t dropped = 0, complete = 0, incomplete = 0, rejected = 0, merged = 0, bursts = 0;
    std::array<std::uint64_t, n_boards> late{}, duplicate{}, ahead{}, missing{}, silenced{};
};

struct Config {
    unsigned window = 1;
    std::uint64_t far_fine = 1'000'000;
    std::uint32_t timeout_cycles = 100'000;
    bool keep_incomplete = true, drop_when_full = false;
    std::uint32_t mask = (1U << n_boards) - 1;
    std::uint32_t stream_to_id = 100;  ///< board b has the source id 100 + b and the stream b
    unsigned n_channels = 488;
    double input_gaps = 0, output_stalls = 0;  ///< shares of cycles
    std::uint32_t channels_per_board = 488;
};

/// Reads one merged event of a record: hit ids of the whole detector and times relative to the event's, as in software.
/// Returns its number of words; an end of burst has flag 128.
inline std::size_t read_event(std::span<const std::uint64_t> words, std::uint32_t channels_per_board, Event& event) {
    const std::size_t n_head = 1 + 2 * ((n_boards + 3) / 4);
    std::size_t at = n_head;
    const auto word = [&](std::size_t i) {
        if (i < words.size()) return words[i];
        std::fprintf(stderr, "a record of %zu words ends inside an event\n", words.size());
        std::exit(1);
    };
    event = {};
    event.key = word(0);
    event.fine = static_cast<std::uint8_t>(word(1) >> 32);
    event.flags = static_cast<std::uint8_t>(word(1) >> 40);
    event.missing = static_cast<std::uint8_t>(word(1) >> 48);
    if ((event.flags & 128) != 0) return n_head;
    for (std::uint32_t b = 0; b < n_boards; ++b) {
        const unsigned n = (word(1 + 2 * (b / 4)) >> (8 * (b % 4))) & 0xff;
        const int offset = static_cast<int>((word(2 + 2 * (b / 4)) >> (16 * (b % 4))) & 0xffff);
        for (unsigned i = 0; i < n; ++i) {
            const auto hit = static_cast<std::uint16_t>(word(at + i / 4) >> (16 * (i % 4)));
            event.hit_id.push_back(static_cast<std::uint16_t>((hit & 511) + b * channels_per_board));
            const int time = (static_cast<std::int16_t>(hit) >> 9) * 4 + offset;
            event.hit_time_fine.push_back(static_cast<std::int16_t>(std::min(time, 32767)));
        }
        at += (n + 3) / 4;
    }
    return at;
}

}  // namespace card
