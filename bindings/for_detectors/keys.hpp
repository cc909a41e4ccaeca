// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "config.hpp"
#include "core/keys.hpp"
#include "pipeline/layout.hpp"

namespace anello::bindings {

/// The value of a key in `section`, with the type of `like`; none if it is not given. Throws ConfigError.
std::optional<KeyValue> given_value(const ConfigReader& section, const std::string& key, const KeyRule& rule,
                                    const KeyValue& like);

/// Reads the table's keys from `section`; keys that are not given keep their values. Throws ConfigError.
template <typename Config>
void take(const ConfigReader& section, const Keys<Config>& table, Config& config) {
    table.take(
        [&](const KeyRule& rule, const KeyValue& like) {
            return given_value(section, std::string(table.section) + "." + rule.name, rule, like);
        },
        config);
}

/// Includes receive.ports, from the chain's own table.
template <typename Ports>
receive::BackendConfig backend_config(const ConfigReader& receive, const Keys<Ports>& table) {
    receive::BackendConfig config = backend_config(receive);
    Ports ports;
    take(receive, table, ports);
    config.ports = ports.ports;
    return config;
}

/// The section `threads` of a chain with these stages.
template <typename Threads>
void take_threads(const ConfigReader& section, const Keys<Threads>& table, std::span<const std::string_view> stages,
                  auto& config) {
    Threads threads;
    take(section, table, threads);
    config.threads = pipeline::parse_layout(threads.layout, threads.cores, stages);
    for (pipeline::ThreadPlan& plan : config.threads) {
        plan.realtime = threads.priority == pipeline::Priority::realtime;
        plan.spins = threads.wait == pipeline::Waiting::spin_pinned;
        plan.rest_ns = threads.rest_ns;
    }
    config.wait = threads.wait == pipeline::Waiting::spin ? WaitPolicy::spin : WaitPolicy::sleep;
    config.probe_share = threads.probe_share;
}

/// A key table from which the section `name` of a chain's module engine_keys is made (make_engine_keys.py).
struct KeyTable {
    const char* name;
    std::function<nb::dict()> describe;  ///< includes a function that checks values by the table
};

nb::dict about(const KeyRule& rule, const KeyValue& otherwise);

template <typename Config>
nb::dict described(const Keys<Config>& table) {
    nb::dict keys;
    const Config defaults{};
    for (const Key<Config>& key : table.keys) keys[key.name] = about(key, key.get(defaults));
    nb::dict one;
    one["section"] = table.section;
    one["meaning"] = table.meaning;
    one["keys"] = keys;
    one["check"] = nb::cpp_function([&table](const nb::dict& values) {
        Config config{};
        take(ConfigReader(values), table, config);
    });
    return one;
}

template <typename Config>
KeyTable table(const char* name, const Keys<Config>& keys) {
    return {name, [&keys] { return described(keys); }};
}

}  // namespace anello::bindings
