// SPDX-License-Identifier: Apache-2.0
#include "rings/parameters.hpp"

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace rings {
namespace {

using anello::Keys, anello::KeyValue;
using anello::rich::RingFinderConfig;

/// Sets the parameter of this name, without "trigger."; `known` takes in the names that were tried.
template <typename Part>
bool try_set(const Keys<Part>& table, const std::string& name, double value, Part& part, std::string& known) {
    const std::string section = std::string(table.section).substr(sizeof("trigger.") - 1) + ".";
    for (const auto& key : table.keys) {
        const std::string whole = section + key.name;
        known += " " + whole;
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

bool try_set(RingFinderConfig& config, const std::string& name, double value, std::string& known) {
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
    std::string known;
    if (!try_set(config, assignment.substr(0, equals), value, known) || equals == std::string::npos)
        throw anello::ConfigError("--set", "must be name=value with one of" + known, assignment, "correct the name");
}

}  // namespace rings
