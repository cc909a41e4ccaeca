// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config.hpp"
#include "keys.hpp"
#include "node_handle.hpp"
#include "pipeline/packet_node.hpp"
#include "source/packet_source.hpp"
#include "source/sinks/udp_sink.hpp"
#include "source_handle.hpp"

/// Node and Source of a detector whose boards number their packets (anello/packet_chain). The detector is a struct
/// with:
///   static wire::Verdict parse(std::span<const std::byte> datagram, receive::NumberedPacket& packet) noexcept;
///   static std::size_t write(std::uint32_t board, std::uint32_t sequence, std::span<std::byte> datagram) noexcept;
///   using User = a pipeline::PacketUser, made from (const bindings::ConfigReader& all, CounterPage& page);
/// and the `bind` of its Extension is bind_packet_chain<Detector>.
namespace anello::bindings {

inline source::PacketSourceConfig packet_source_config(const ConfigReader& all) {
    source::PacketSourceConfig config;
    config.seed = seed_config(all.below("run"));
    take(all.below("run"), source::packet_run_keys, config);
    take(all.below("boards"), source::packet_boards_keys, config);
    take(all.below("boards.faults"), source::packet_faults_keys, config.faults);
    return config;
}

inline pipeline::PacketNodeConfig packet_node_config(const ConfigReader& all) {
    const source::PacketSourceConfig boards = packet_source_config(all);
    pipeline::PacketNodeConfig config;
    config.page = page_identity(all);
    config.n_packets = boards.n_packets;
    config.n_boards = boards.n_boards;
    config.backend = backend_config(all.below("receive"), receive::ports_keys);
    config.sources = sources_config(all.below("receive"), config.n_boards);
    take_threads(all.below("threads"), pipeline::packet_threads_keys, pipeline::packet_chain, config);
    return config;
}

template <typename Detector>
class PacketNodeHandle final : public NodeHandle<pipeline::PacketNode> {
  public:
    explicit PacketNodeHandle(const nb::dict& values)
        : NodeHandle<pipeline::PacketNode>(std::make_shared<pipeline::PacketNode>(
              packet_node_config(ConfigReader(values)), &Detector::parse, [&](CounterPage& page) {
                  return std::make_unique<typename Detector::User>(ConfigReader(values), page);
              })) {}
    ~PacketNodeHandle() { stop(); }
};

template <typename Detector>
class PacketSourceHandle final : public ReadySourceHandle<source::PacketSource> {
  public:
    explicit PacketSourceHandle(const nb::dict& values)
        : ReadySourceHandle<source::PacketSource>(values, packet_source_config(ConfigReader(values)),
                                                  &Detector::write) {}
};

template <typename Detector>
void bind_packet_chain(nb::module_& module) {
    using Node = PacketNodeHandle<Detector>;
    using Source = PacketSourceHandle<Detector>;
    bind_handle<Node>(module, "Node").def("sequences", &Node::sequences);
    bind_source_handle<Source>(module, "Source");
}

}  // namespace anello::bindings
