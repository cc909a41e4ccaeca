// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "Vnanet_io___024root.h"
#include "receive/nanet/nanet_abi.h"

/// A probe in the model, which needs no logic in the card: it reads how full the stores have been from Verilator's copy
/// of their pointers. A pointer renamed in the sources gives 0 of 0, which rtl/tests/test_in_the_chain.py detects.
namespace levels {

template <typename T, std::size_t n>
constexpr std::uint32_t places(const VlUnpacked<T, n>&) {
    return n;
}

inline void note(std::uint32_t n, std::uint32_t size, anello_nanet_level& level) {
    level.highest = std::max(level.highest, n);
    level.size = size;
}

#define PAYLOAD(name) root.nanet_io__DOT__receive__DOT__parser__DOT__payload_buffer__DOT__##name
template <typename Root>
void note_payloads(const Root& root, anello_nanet_levels& levels) {
    if constexpr (requires { PAYLOAD(words__DOT__ram), PAYLOAD(words__DOT__free_q); })
        note(places(PAYLOAD(words__DOT__ram)) - PAYLOAD(words__DOT__free_q), places(PAYLOAD(words__DOT__ram)),
             levels.payload_words);
    if constexpr (requires { PAYLOAD(sides__DOT__ram), PAYLOAD(sides__DOT__free_q); })
        note(places(PAYLOAD(sides__DOT__ram)) - PAYLOAD(sides__DOT__free_q), places(PAYLOAD(sides__DOT__ram)),
             levels.payload_frames);
}
#undef PAYLOAD

#define STORE(b, name) \
    root.nanet_io__DOT__merger__DOT__u_data__DOT__of_board__BRA__##b##__KET____DOT__u_store__DOT__##name
#define NOTE_STORE(b)                                                                                               \
    if constexpr (requires { STORE(b, item_ram), STORE(b, n_items_q), STORE(b, hits_ram), STORE(b, n_words_q); }) { \
        note(STORE(b, n_items_q), places(STORE(b, item_ram)), levels.store_items);                                  \
        note(STORE(b, n_words_q), places(STORE(b, hits_ram)), levels.store_words);                                  \
    }
/// Level of the fullest board.
template <typename Root>
void note_stores(const Root& root, anello_nanet_levels& levels) {
    NOTE_STORE(0)
    NOTE_STORE(1)
    NOTE_STORE(2)
    NOTE_STORE(3)
    NOTE_STORE(4)
    NOTE_STORE(5)
    NOTE_STORE(6)
    NOTE_STORE(7)
}
#undef NOTE_STORE
#undef STORE

#define PACK(name) root.nanet_io__DOT__merger__DOT__u_pack__DOT__##name
template <typename Root>
void note_merged(const Root& root, anello_nanet_levels& levels) {
    if constexpr (requires { PACK(words), PACK(in_q), PACK(out_q); }) {
        constexpr std::uint32_t one_more_bit = 2;  // pointers have one more bit, so that full and empty differ
        const std::uint32_t size = places(PACK(words));
        note((std::uint32_t{PACK(in_q)} - PACK(out_q)) & (one_more_bit * size - 1), size, levels.merged_words);
    }
}
#undef PACK

inline void note_all(const Vnanet_io___024root& root, anello_nanet_levels& levels) {
    note_payloads(root, levels);
    note_stores(root, levels);
    note_merged(root, levels);
}

}  // namespace levels
