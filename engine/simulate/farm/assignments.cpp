// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/assignments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <sstream>

#include "core/errors.hpp"

namespace anello::simulate {

void refuse_assignment(std::string_view name, const std::string& rule, std::string_view given) {
    throw ConfigError(std::string(name), rule, std::string(given), "See anello simulate --help.");
}

void refuse_name(std::string_view assignment, const std::vector<std::string_view>& known) {
    refuse_assignment(assignment.substr(0, assignment.find('=')),
                      fmt::format("must be NAME=VALUE, with one of {}", fmt::join(known, ", ")), assignment);
}

double read_number(std::string_view name, std::string_view text, double least, double greatest) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= greatest))
        refuse_assignment(name, fmt::format("must be a number from {:g} to {:g}", least, greatest), text);
    return value;
}

std::vector<std::string> parts_of(std::string_view text) {
    std::istringstream words{std::string(text)};
    std::vector<std::string> parts;
    for (std::string one; std::getline(words, one, ',');) parts.push_back(one);
    return parts;
}

}  // namespace anello::simulate
