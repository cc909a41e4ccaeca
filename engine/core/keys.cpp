// SPDX-License-Identifier: Apache-2.0
#include "core/keys.hpp"

#include <fmt/format.h>

#include <bit>

#include "core/errors.hpp"

namespace anello {
namespace {

template <typename T>
std::string show_one(const T& value) {
    if constexpr (std::is_same_v<T, std::string>)
        return fmt::format("\"{}\"", value);
    else
        return fmt::format("{}", value);
}

/// The rule that a number breaks; empty if it breaks none. A long double holds any std::int64_t.
std::string broken_rule(const Limits& limits, long double number) {
    if (std::isnan(number)) return "must be a finite number";
    if (!(number >= limits.least)) return fmt::format("must be at least {:.12g}", limits.least);
    if (!(number <= limits.most)) return fmt::format("must be at most {:.12g}", limits.most);
    if (limits.power_of_two && !std::has_single_bit(static_cast<std::uint64_t>(number)))
        return "must be a power of two";
    return {};
}

std::string broken_length(const Limits& limits, std::size_t n, bool is_text) {
    const char* const of = is_text ? "letters" : "entries";
    if (n == 0 && limits.least_entries == 1 && is_text) return "must not be empty";
    if (n < limits.least_entries) return fmt::format("must have at least {} {}", limits.least_entries, of);
    if (n > limits.most_entries) return fmt::format("must have at most {} {}", limits.most_entries, of);
    return {};
}

/// Finds which value breaks which rule of one key.
class Check {
  public:
    Check(const std::string& section, const KeyRule& rule, const KeyValue& otherwise)
        : key_(section + "." + rule.name), rule_(rule), otherwise_(otherwise) {}

    void operator()(bool) const {}
    void operator()(const std::string& text) const {
        if (!rule_.words.empty())
            place_of(text, rule_.words, key_);
        else
            refuse(broken_length(rule_.limits, text.size(), true), key_, text);
    }
    template <typename T>
    void operator()(const T& number) const {
        refuse(broken_rule(rule_.limits, static_cast<long double>(number)), key_, number);
    }
    template <typename T>
    void operator()(const std::vector<T>& list) const {
        refuse(broken_length(rule_.limits, list.size(), false), key_, list);
        if constexpr (!std::is_same_v<T, std::string>)
            for (std::size_t i = 0; i < list.size(); ++i)
                refuse(broken_rule(rule_.limits, static_cast<long double>(list[i])), fmt::format("{}[{}]", key_, i),
                       list[i]);
    }

  private:
    void refuse(const std::string& why, const std::string& key, const KeyValue& given) const {
        if (!why.empty()) throw ConfigError(key, why, show(given), "The default is " + show(otherwise_));
    }
    std::string key_;
    const KeyRule& rule_;
    const KeyValue& otherwise_;
};

}  // namespace

std::string listed(std::span<const char* const> words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

std::size_t place_of(std::string_view word, std::span<const char* const> words, const std::string& key) {
    const auto found = std::find(words.begin(), words.end(), word);
    if (found == words.end())
        throw ConfigError(key, "must be " + listed(words), std::string(word), "Choose one of these");
    return static_cast<std::size_t>(found - words.begin());
}

double shortest_double(float value) {
    return std::stod(fmt::format("{}", value));
}

std::string show(const KeyValue& value) {
    return std::visit(
        []<typename T>(const T& given) {
            if constexpr (keys::is_list<T>) {
                std::string text;
                for (const auto& entry : given) text += (text.empty() ? "" : ", ") + show_one(entry);
                return "[" + text + "]";
            } else {
                return show_one(given);
            }
        },
        value);
}

void check_value(const std::string& section, const KeyRule& rule, const KeyValue& value, const KeyValue& otherwise) {
    std::visit(Check(section, rule, otherwise), value);
}

}  // namespace anello
