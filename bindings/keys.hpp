// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"
#include "core/keys.hpp"

namespace anello::bindings {

/// What `section` gives for a key, with the type of `like`; none where it is not given. Throws ConfigError.
std::optional<KeyValue> given_value(const ConfigReader& section, const std::string& key, const KeyRule& rule,
                                    const KeyValue& like);

/// Takes the table's keys from `section`; what is not given stays as it is. Throws ConfigError.
template <typename Config>
void take(const ConfigReader& section, const Keys<Config>& table, Config& config) {
    table.take(
        [&](const KeyRule& rule, const KeyValue& like) {
            return given_value(section, std::string(table.section) + "." + rule.name, rule, like);
        },
        config);
}

/// A table as the module engine_keys of a chain is made from it (make_engine_keys.py), with a check of values by it. A
/// detector's bindings.cpp defines one for each of its tables, outside all functions.
class KeyTable {
  public:
    /// `module`: the Python module; `name`: of the section in it.
    template <typename Config>
    KeyTable(const char* module, const char* name, const Keys<Config>& table) {
        makers().emplace_back(name, [module, &table] { return described(module, table); });
    }
    /// By name.
    static nb::dict all();

  private:
    using Describe = std::function<nb::dict()>;
    static std::vector<std::pair<const char*, Describe>>& makers();
    static nb::dict about(const KeyRule& rule, const KeyValue& otherwise);

    template <typename Config>
    static nb::dict described(const char* module, const Keys<Config>& table) {
        nb::dict keys;
        const Config defaults{};
        for (const Key<Config>& key : table.keys) keys[key.name] = about(key, key.get(defaults));
        nb::dict one;
        one["module"] = module;
        one["section"] = table.section;
        one["meaning"] = table.meaning;
        one["keys"] = keys;
        one["check"] = nb::cpp_function([&table](const nb::dict& values) {
            Config config{};
            take(ConfigReader(values), table, config);
        });
        return one;
    }
};

}  // namespace anello::bindings
