// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace anello {

/// The words for an enum's values in configurations and messages, in the order of the values, which start at 0.
/// Specialised next to the enum.
template <typename Enum>
inline constexpr std::array<const char*, 0> words_of{};

/// "a", "a or b", "a, b or c".
std::string listed(std::span<const char* const> words);
/// The position of `word` in the list. Throws ConfigError that names the key.
std::size_t place_of(std::string_view word, std::span<const char* const> words, const std::string& key);

template <typename Enum>
Enum parse_word(std::string_view word, const std::string& key) {
    return static_cast<Enum>(place_of(word, words_of<Enum>, key));
}

template <typename Enum>
constexpr const char* word_of(Enum value) noexcept {
    return words_of<Enum>[static_cast<std::size_t>(value)];
}

template <typename Config>
struct Keys;  // core/keys.hpp

}  // namespace anello
