// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/words.hpp"

/// A configuration key is declared once, in the table of its section (*_config.cpp): name, struct member, bounds and
/// meaning. Its type and default are the struct's own. Reading, checking, error texts, Python's sections, the reference
/// page and the types for mypy are all made from these tables. Used at set-up only.
namespace anello {

inline constexpr std::int64_t ns_per_us = 1'000, ns_per_ms = 1'000'000;

/// A value as it is written in a configuration file.
using KeyValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                              std::vector<std::string>>;

/// The allowed values; for a list, of each entry. Both bounds are allowed, NaN is not.
struct Limits {
    double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
    std::size_t least_entries = 0,
                most_entries = std::numeric_limits<std::size_t>::max();  ///< entries of a list, or letters of a text
    bool power_of_two = false;

    constexpr Limits entries(std::size_t fewest, std::size_t greatest) const {
        return {least, most, fewest, greatest, power_of_two};
    }
    constexpr Limits powers_of_two() const { return {least, most, least_entries, most_entries, true}; }
};
inline constexpr Limits share{0, 1};
inline constexpr Limits not_empty = Limits{}.entries(1, Limits{}.most_entries);

/// Everything known about a key without its struct.
struct KeyRule {
    const char* name;
    Limits limits;
    std::span<const char* const> words;  ///< of an enum: its values in order
    const char* meaning;
    std::span<const std::string_view> parts = {};  ///< words that each text of a list joins by "+"
    bool expert = false;  ///< a parameter of an algorithm, or the room in a buffer: shown on request
};

/// Throws ConfigError that names the section and the key.
void check_value(const std::string& section, const KeyRule& rule, const KeyValue& value, const KeyValue& otherwise);
/// The value as messages show it: texts in quotes, lists in brackets.
std::string show(const KeyValue& value);
/// The shortest decimal number that gives the same float: 4.7, not 4.69999981.
double shortest_double(float value);

namespace keys {

template <typename T>
concept HasEntries = requires(T& list) {
    std::begin(list);
};
template <typename T>
inline constexpr bool is_list = HasEntries<T> && !std::is_same_v<T, std::string>;

template <typename List>
using EntryOf = std::remove_cvref_t<decltype(*std::begin(std::declval<List&>()))>;

/// The type in which a KeyValue stores an entry of a list.
template <typename T>
using Entry = std::conditional_t<std::is_same_v<T, std::string>, std::string,
                                 std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>;

template <std::int64_t scale, typename T>
KeyValue value_of(const T& member) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
        return member;
    } else if constexpr (is_list<T>) {
        std::vector<Entry<EntryOf<T>>> list;
        for (const auto& entry : member) list.push_back(std::get<Entry<EntryOf<T>>>(value_of<scale>(entry)));
        return list;
    } else if constexpr (std::is_same_v<T, float>) {
        return shortest_double(member);
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<double>(member);
    } else if constexpr (scale != 1) {
        return static_cast<double>(member) / static_cast<double>(scale);
    } else {
        return static_cast<std::int64_t>(member);
    }
}

template <std::int64_t scale, typename T>
void put(const KeyValue& value, T& member) {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
        member = std::get<T>(value);
    } else if constexpr (is_list<T>) {
        const auto& list = std::get<std::vector<Entry<EntryOf<T>>>>(value);
        if constexpr (requires { member.resize(list.size()); }) member.resize(list.size());
        std::transform(list.begin(), list.end(), std::begin(member), [](const auto& entry) {
            EntryOf<T> result{};
            put<scale>(KeyValue(entry), result);
            return result;
        });
    } else if constexpr (std::is_floating_point_v<T>) {
        member = static_cast<T>(std::get<double>(value));
    } else if constexpr (scale != 1) {
        member = static_cast<T>(std::llround(std::get<double>(value) * static_cast<double>(scale)));
    } else {
        member = static_cast<T>(std::get<std::int64_t>(value));
    }
}

/// The type must not be narrower than the bounds.
template <typename T>
constexpr Limits within_type(Limits limits) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        limits.least = std::max(limits.least, static_cast<double>(std::numeric_limits<T>::min()));
        limits.most = std::min(limits.most, static_cast<double>(std::numeric_limits<T>::max()));
    } else if constexpr (is_list<T>) {
        return within_type<EntryOf<T>>(limits);
    }
    return limits;
}

}  // namespace keys

/// A path to a nested member: in<&A::b, &B::c> reads a.b.c.
template <auto... members>
struct MemberPath {
    constexpr auto& operator()(auto& config) const { return (config.*....*members); }
};
template <auto... members>
inline constexpr MemberPath<members...> in;

template <typename Config>
struct Key : KeyRule {
    KeyValue (*get)(const Config&);
    void (*set)(Config&, const KeyValue&);  ///< expects a value that check_value() accepted

    /// `access` is a pointer to the member, or a path to it (in). `scale` is the number of the struct's units in one of
    /// the key's, such as ns_per_ms; the key is then a number.
    template <auto access, std::int64_t scale = 1>
    static constexpr Key of(const char* name, Limits limits, const char* meaning) {
        using T = Member<access>;
        return {{name, scale == 1 ? keys::within_type<T>(limits) : limits, {}, meaning},
                [](const Config& config) { return keys::value_of<scale>(std::invoke(access, config)); },
                [](Config& config, const KeyValue& value) { keys::put<scale>(value, std::invoke(access, config)); }};
    }
    template <auto access, std::int64_t scale = 1>
    static constexpr Key of(const char* name, const char* meaning) {
        if constexpr (std::is_enum_v<Member<access>>)
            return of_words<access, words_of<Member<access>>>(name, meaning);
        else
            return of<access, scale>(name, Limits{}, meaning);
    }
    /// For an enum whose values have different words in this key than elsewhere.
    template <auto access, const auto& words>
    static constexpr Key of_words(const char* name, const char* meaning) {
        return {{name, {}, words, meaning},
                [](const Config& config) -> KeyValue {
                    return std::string(words[static_cast<std::size_t>(std::invoke(access, config))]);
                },
                [](Config& config, const KeyValue& value) {
                    std::invoke(access, config) =
                        static_cast<Member<access>>(place_of(std::get<std::string>(value), words, {}));
                }};
    }

    /// A list of texts, each of them words joined by "+". The code that reads the key knows which words go together.
    constexpr Key made_of(std::span<const std::string_view> these) const {
        Key key = *this;
        key.parts = these;
        return key;
    }
    constexpr Key for_experts() const {
        Key key = *this;
        key.expert = true;
        return key;
    }

  private:
    template <auto access>
    using Member = std::remove_cvref_t<std::invoke_result_t<decltype(access), Config&>>;
};

/// All keys of a table.
template <typename Config, std::size_t n>
constexpr std::array<Key<Config>, n> for_experts(std::array<Key<Config>, n> keys) {
    for (Key<Config>& key : keys) key.expert = true;
    return keys;
}

template <typename Config, std::size_t n, std::size_t m>
constexpr std::array<Key<Config>, n + m> joined(const std::array<Key<Config>, n>& first,
                                                const std::array<Key<Config>, m>& second) {
    return [&]<std::size_t... i, std::size_t... j>(std::index_sequence<i...>, std::index_sequence<j...>) {
        return std::array<Key<Config>, n + m>{first[i]..., second[j]...};
    }
    (std::make_index_sequence<n>{}, std::make_index_sequence<m>{});
}

/// The keys of one section that one struct holds.
template <typename Config>
struct Keys {
    const char* section;  ///< dotted, as in a configuration file
    const char* meaning;
    std::span<const Key<Config>> keys;

    /// Throws ConfigError.
    void check(const Config& config) const {
        const Config defaults{};
        for (const Key<Config>& key : keys) check_value(section, key, key.get(config), key.get(defaults));
    }
    /// `given` takes a key's rule and its default (which has its type) and returns the configured value, or none. Keys
    /// without a value keep their default. Throws ConfigError.
    void take(const std::function<std::optional<KeyValue>(const KeyRule&, const KeyValue&)>& given,
              Config& config) const {
        const Config defaults{};
        for (const Key<Config>& key : keys) {
            const KeyValue otherwise = key.get(defaults);
            const std::optional<KeyValue> value = given(key, otherwise);
            if (!value) continue;
            check_value(section, key, *value, otherwise);
            key.set(config, *value);
        }
    }
};

}  // namespace anello
