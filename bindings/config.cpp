// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

#include "keys.hpp"

namespace anello::bindings {

receive::BackendConfig backend_config(const ConfigReader& receive) {
    receive::BackendConfig config;
    config.kind = receive::parse_backend_kind(receive.get<std::string>("backend"));
    config.address = receive.get<std::string>("host");
    config.interface = receive.get_or<std::string>("interface", config.interface);
    config.ports = receive.get<std::vector<std::uint16_t>>("ports");
    config.gro = receive.get<bool>("gro");
    config.batch_datagrams = receive.get<std::uint32_t>("batch_datagrams");
    config.socket_buffer_bytes = receive.get<std::size_t>("socket_buffer_bytes");
    config.pcap_file = receive.get<std::string>("pcap_file");
    config.pcap_speed = receive.get<double>("pcap_speed");
    return config;
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

void take_finder(const ConfigReader& section, trigger::RingFinderConfig& config) {
    take(section.below("acceptance"), trigger::acceptance_keys, config.acceptance);
    take(section.below("histogram"), trigger::histogram_keys, config.histogram);
    take(section.below("almagest"), trigger::almagest_keys, config.almagest);
    take(section.below("single"), trigger::single_keys, config.single);
    take(section.below("multiring"), trigger::multiring_keys, config.multiring);
}

publish::PublishConfig publish_config(const ConfigReader& publish) {
    publish::PublishConfig config;
    config.to = publish::parse_publish_to(publish.get_or<std::string>("to", "nothing"));
    config.when_full = publish::parse_when_full(publish.get_or<std::string>("when_full", "drop"));
    publish.take("address", config.address);
    publish.take("max_subscribers", config.max_subscribers);
    publish.take("n_buffers", config.n_buffers);
    publish.take("allow_users", config.allow_users);
    return config;
}

}  // namespace anello::bindings
