// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include "core/seed.hpp"
#include "keys.hpp"

namespace anello::bindings {
namespace {

/// An optional value that a node gets in addition to its configuration.
template <typename T>
void take_if(const ConfigReader& all, const char* name, T& value) {
    if (all.has(name)) value = all.get<T>(name);
}

}  // namespace

PageIdentity page_identity(const ConfigReader& all) {
    PageIdentity identity(all.get_or<std::string>("counter_page", ""));
    take_if(all, "run_number", identity.run_number);
    take_if(all, "run_name", identity.run_name);
    take_if(all, "chain", identity.chain);
    take_if(all, "config_digest", identity.config_digest);
    return identity;
}

std::vector<store::FileAttribute> about_run(const ConfigReader& all) {
    std::vector<store::FileAttribute> about;
    std::uint64_t number = 0;
    take_if(all, "run_number", number);
    if (number != 0) about.emplace_back("run_number", number);
    for (const char* name : {"run_name", "chain", "config_digest", "host", "started", "version", "configuration"})
        if (all.has(name)) about.emplace_back(name, all.get<std::string>(name));
    return about;
}

std::uint64_t seed_config(const ConfigReader& run) {
    SeedConfig config;
    take(run, seed_keys, config);
    return config.seed;
}

receive::BackendConfig backend_config(const ConfigReader& receive) {
    receive::BackendConfig config;
    take(receive, receive::backend_keys, config);
    return config;
}

receive::BufferRules buffer_rules(const ConfigReader& receive) {
    receive::BufferRules rules;
    take(receive, receive::buffer_rules_keys, rules);
    return rules;
}

std::vector<receive::SourceAddress> sources_config(const ConfigReader& receive, std::size_t n_boards) {
    receive::SourcesConfig config;
    take(receive, receive::sources_keys, config);
    return config.of_boards(n_boards);
}

publish::PublishConfig publish_config(const ConfigReader& publish) {
    publish::PublishConfig config;
    take(publish, publish::publish_keys, config);
    return config;
}

}  // namespace anello::bindings
