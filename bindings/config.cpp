// SPDX-License-Identifier: Apache-2.0
#include "config.hpp"

namespace anello::bindings {

source::FaultsConfig faults_config(const ConfigReader& from) {
    source::FaultsConfig config;
    from.take("loss", config.loss);
    from.take("duplicate", config.duplicate);
    from.take("reorder", config.reorder);
    from.take("corrupt", config.corrupt);
    from.take("truncate", config.truncate);
    from.take("dead_board", config.dead_board);
    from.take("dead_from_burst", config.dead_from_burst);
    from.take("dead_from_event", config.dead_from_event);
    return config;
}

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

trigger::RingFinderConfig ring_finder_config(const ConfigReader& section) {
    trigger::RingFinderConfig config;
    const ConfigReader acceptance = section.below("acceptance");
    acceptance.take("centre_x_mm", config.acceptance.centre_x_mm);
    acceptance.take("centre_y_mm", config.acceptance.centre_y_mm);
    acceptance.take("centre_max_mm", config.acceptance.centre_max_mm);
    acceptance.take("radius_min_mm", config.acceptance.radius_min_mm);
    acceptance.take("radius_max_mm", config.acceptance.radius_max_mm);
    const ConfigReader histogram = section.below("histogram");
    histogram.take("half_width_mm", config.histogram.half_width_mm);
    histogram.take("bin_mm", config.histogram.bin_mm);
    histogram.take("fine_bin_mm", config.histogram.fine_bin_mm);
    histogram.take("threshold", config.histogram.threshold);
    const ConfigReader almagest = section.below("almagest");
    almagest.take("min_pair_mm", config.almagest.min_pair_mm);
    almagest.take("max_triplet_radius_mm", config.almagest.max_triplet_radius_mm);
    almagest.take("ptolemy_mm2", config.almagest.ptolemy_mm2);
    almagest.take("attach_mm", config.almagest.attach_mm);
    almagest.take("sigma_mm", config.almagest.sigma_mm);
    almagest.take("max_pull2", config.almagest.max_pull2);
    almagest.take("max_drops", config.almagest.max_drops);
    almagest.take("min_ring_hits", config.almagest.min_ring_hits);
    return config;
}

trigger::RingFinderConfig ring_finder_config(const nb::dict& params) {
    return ring_finder_config(ConfigReader(params));
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
