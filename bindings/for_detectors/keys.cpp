// SPDX-License-Identifier: Apache-2.0
#include "keys.hpp"

#include <fmt/format.h>
#include <nanobind/stl/variant.h>

#include <limits>

namespace anello::bindings {
namespace {

template <typename T>
const char* const type_rule = "must be a list";
template <>
const char* const type_rule<bool> = "must be true or false";
template <>
const char* const type_rule<std::int64_t> = "must be a whole number";
template <>
const char* const type_rule<double> = "must be a number";
template <>
const char* const type_rule<std::string> = "must be text";

/// True and 1 are different values here.
template <typename T>
bool cast(const nb::object& value, T& result) {
    return nb::isinstance<nb::bool_>(value) == std::is_same_v<T, bool> && nb::try_cast<T>(value, result);
}

template <typename T>
std::string broken_rule(const KeyRule& rule, const nb::object& value) {
    if (!rule.words.empty()) return "must be " + listed(rule.words);
    const bool is_too_long =
        std::is_same_v<T, std::int64_t> && nb::isinstance<nb::int_>(value) && !nb::isinstance<nb::bool_>(value);
    if (!is_too_long) return type_rule<T>;
    return value < nb::int_(0) ? fmt::format("must be at least {:.12g}", rule.limits.least)
                               : fmt::format("must be at most {:.12g}", rule.limits.most);
}

nb::object limit(double value, bool is_whole) {
    if (std::isinf(value)) return nb::none();
    if (!is_whole) return nb::float_(value);
    return nb::int_(value < 0x1p63 ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::max());
}

/// The type of a list's entries; empty if it is no list. An empty default does not show it.
const char* entries_of(const KeyValue& value) {
    if (std::holds_alternative<std::vector<std::int64_t>>(value)) return "whole number";
    if (std::holds_alternative<std::vector<double>>(value)) return "number";
    return std::holds_alternative<std::vector<std::string>>(value) ? "text" : "";
}

}  // namespace

nb::dict about(const KeyRule& rule, const KeyValue& otherwise) {
    const bool is_whole =
        std::holds_alternative<std::int64_t>(otherwise) || std::holds_alternative<std::vector<std::int64_t>>(otherwise);
    nb::dict key;
    key["entries"] = entries_of(otherwise);
    key["default"] = nb::cast(otherwise);
    key["least"] = limit(rule.limits.least, is_whole);
    key["most"] = limit(rule.limits.most, is_whole);
    key["least_entries"] = rule.limits.least_entries;
    key["most_entries"] =
        rule.limits.most_entries == Limits{}.most_entries ? nb::none() : nb::cast(rule.limits.most_entries);
    key["power_of_two"] = rule.limits.power_of_two;
    key["words"] = nb::cast(std::vector<std::string>(rule.words.begin(), rule.words.end()));
    key["parts"] = nb::cast(std::vector<std::string>(rule.parts.begin(), rule.parts.end()));
    key["meaning"] = rule.meaning;
    key["expert"] = rule.expert;
    return key;
}

std::optional<KeyValue> given_value(const ConfigReader& section, const std::string& key, const KeyRule& rule,
                                    const KeyValue& like) {
    if (!section.has(rule.name)) return std::nullopt;
    const auto value = section.get<nb::object>(rule.name);
    return std::visit(
        [&]<typename T>(const T&) -> KeyValue {
            T result;
            if (!cast(value, result))
                throw ConfigError(key, broken_rule<T>(rule, value), nb::cast<std::string>(nb::str(value)),
                                  "The default is " + show(like));
            return result;
        },
        like);
}

}  // namespace anello::bindings
