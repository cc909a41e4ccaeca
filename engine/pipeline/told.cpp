// SPDX-License-Identifier: Apache-2.0
#include "pipeline/told.hpp"

#include <fmt/format.h>

namespace anello::pipeline {

void SilenceNotice::look(std::uint32_t board, bool is_silent, std::uint64_t n_silences, Nanoseconds timeout_ns,
                         Notices& notices) {
    const bool was_silent = std::exchange(is_silent_, is_silent);
    const bool is_counted = std::exchange(n_silences_, n_silences) == n_silences;
    if (is_silent == was_silent && is_counted) return;
    if (is_silent)
        notices.push_back(
            fmt::format("board {} is silent: nothing came for {} ms while others waited; events are built without it",
                        board, timeout_ns / 1'000'000));
    else
        notices.push_back(
            {fmt::format("board {} was silent and sends again ({} times so far)", board, n_silences), Severity::info});
}

const char* name_of(events::BoardState state) noexcept {
    constexpr const char* names[]{"live", "silent", "ended"};
    return names[static_cast<std::size_t>(state)];
}

std::string memory_words(const memory::PersistentBuffers& buffers) {
    if (buffers.kind_note().empty()) return memory::name_of(buffers.kind());
    return fmt::format("{}: {}", memory::name_of(buffers.kind()), buffers.kind_note());
}

}  // namespace anello::pipeline
