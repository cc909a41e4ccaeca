// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include "core/seed.hpp"
#include "keys.hpp"

namespace anello::bindings {

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
