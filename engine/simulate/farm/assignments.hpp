// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/words.hpp"

namespace anello::simulate {

/// A quantity of a scenario that can be set by name.
template <typename Scenario>
struct Assignable {
    std::string_view name;
    std::function<void(Scenario&, std::string_view name, std::string_view text)> set;
};

/// Throws ConfigError for this name.
[[noreturn]] void refuse_assignment(std::string_view name, const std::string& rule, std::string_view given);
std::vector<std::string> parts_of(std::string_view text);  ///< The parts of a text that are separated by commas.
double read_number(std::string_view name, std::string_view text, double least, double greatest);
[[noreturn]] void refuse_name(std::string_view assignment, const std::vector<std::string_view>& known);

/// A number at the end of this path of members.
template <typename Scenario, typename... Members>
Assignable<Scenario> number(std::string_view name, double least, double greatest, Members... path) {
    return {name, [=](Scenario& scenario, std::string_view key, std::string_view text) {
                auto& value = (scenario.*....*path);
                value = static_cast<std::remove_reference_t<decltype(value)>>(read_number(key, text, least, greatest));
            }};
}

template <typename Scenario, typename... Members>
Assignable<Scenario> word(std::string_view name, Members... path) {
    return {name, [=](Scenario& scenario, std::string_view key, std::string_view text) {
                auto& value = (scenario.*....*path);
                using Enum = std::remove_reference_t<decltype(value)>;
                value = parse_word<Enum>(text, std::string(key));
            }};
}

/// assignment: NAME=VALUE. Throws ConfigError.
template <typename Scenario>
void assign(Scenario& scenario, const std::vector<Assignable<Scenario>>& known, std::string_view assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string_view name = assignment.substr(0, equals);
    const auto one = std::ranges::find(known, name, &Assignable<Scenario>::name);
    if (equals == std::string_view::npos || one == known.end()) {
        std::vector<std::string_view> names;
        for (const auto& each : known) names.push_back(each.name);
        refuse_name(assignment, names);
    }
    one->set(scenario, name, assignment.substr(equals + 1));
}

}  // namespace anello::simulate
