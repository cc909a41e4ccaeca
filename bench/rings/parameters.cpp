// SPDX-License-Identifier: Apache-2.0
#include "rings/parameters.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace rings {
namespace {

using anello::Keys, anello::KeyValue;
using anello::rich::RingFinderConfig;

/// Letters to insert, drop or replace between two names (Levenshtein 1966).
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t k = 0; k < b.size(); ++k) {
            const std::size_t replaced = diagonal + (a[i] == b[k] ? 0 : 1);
            diagonal = row[k + 1];
            row[k + 1] = std::min({replaced, row[k] + 1, diagonal + 1});
        }
    }
    return row.back();
}

/// Sets the parameter of this name, without "trigger."; `known` takes in the names that were tried.
template <typename Part>
bool try_set(const Keys<Part>& table, const std::string& name, double value, Part& part,
             std::vector<std::string>& known) {
    const std::string section = std::string(table.section).substr(sizeof("trigger.") - 1) + ".";
    for (const auto& key : table.keys) {
        const std::string whole = section + key.name;
        known.push_back(whole);
        KeyValue now = key.get(part);
        if (auto* list = std::get_if<std::vector<double>>(&now)) {
            if (!name.starts_with(whole + ".")) continue;
            list->at(std::stoul(name.substr(whole.size() + 1))) = value;
        } else if (name != whole) {
            continue;
        } else if (std::holds_alternative<std::int64_t>(now)) {
            now = static_cast<std::int64_t>(value);
        } else {
            now = value;
        }
        check_value(table.section, key, now, key.get(Part{}));
        key.set(part, now);
        return true;
    }
    return false;
}

bool try_set(RingFinderConfig& config, const std::string& name, double value, std::vector<std::string>& known) {
    using namespace anello::rich;
    return try_set(acceptance_keys, name, value, config.acceptance, known) ||
           try_set(histogram_keys, name, value, config.histogram, known) ||
           try_set(almagest_keys, name, value, config.almagest, known) ||
           try_set(single_keys, name, value, config.single, known) ||
           try_set(multiring_keys, name, value, config.multiring, known);
}

}  // namespace

void set_parameter(RingFinderConfig& config, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    const double value = equals == std::string::npos ? 0 : std::stod(assignment.substr(equals + 1));
    const std::string name = assignment.substr(0, equals);
    std::vector<std::string> known;
    if (equals == std::string::npos)
        throw anello::ConfigError("--set", "must be name=value", assignment, "as in multiring.groups=3");
    if (try_set(config, name, value, known)) return;
    const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
        return distance(name, a) < distance(name, b);
    });
    throw anello::ConfigError("trigger." + name, "is not a parameter of the ring finders", assignment,
                              "Did you mean " + *nearest + "?");
}

}  // namespace rings
