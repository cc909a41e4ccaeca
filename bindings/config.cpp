// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include "keys.hpp"

namespace anello::bindings {

receive::BackendConfig backend_config(const ConfigReader& receive) {
    receive::BackendConfig config;
    take(receive, receive::backend_keys, config);
    config.ports = receive.get<std::vector<std::uint16_t>>("ports");
    return config;
}

receive::BufferRules buffer_rules(const ConfigReader& receive) {
    receive::BufferRules rules;
    take(receive, receive::buffer_rules_keys, rules);
    return rules;
}

std::vector<receive::SourceAddress> sources_config(const ConfigReader& receive, std::size_t n_boards) {
    std::vector<receive::SourceAddress> sources;
    for (const std::string& text : receive.get_or<std::vector<std::string>>("sources", {}))
        sources.push_back(receive::parse_source(text));
    if (sources.size() > 1 && sources.size() != n_boards)
        throw ConfigError("receive.sources", "must name none, one for all boards, or one for each of them",
                          std::to_string(sources.size()) + " for " + std::to_string(n_boards) + " boards",
                          "Empty text leaves a board's source open.");
    if (sources.size() == 1) sources.resize(n_boards, sources.front());
    return sources;
}

publish::PublishConfig publish_config(const ConfigReader& publish) {
    publish::PublishConfig config;
    take(publish, publish::publish_keys, config);
    return config;
}

}  // namespace anello::bindings
