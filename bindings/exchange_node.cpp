// SPDX-License-Identifier: Apache-2.0
#include "pipeline/exchange_node.hpp"

#include <nanobind/stl/array.h>

#include "config.hpp"
#include "exchange_account.hpp"
#include "exchange_ends.hpp"
#include "keys.hpp"
#include "module.hpp"
#include "node_handle.hpp"
#include "pipeline/point_to_point.hpp"

namespace anello::bindings {
namespace {

/// The run's number in headers: 32 bits of the farm's number.
std::uint32_t run_id_of(std::uint64_t farm_id) {
    return static_cast<std::uint32_t>(farm_id ^ farm_id >> 32);
}

exchange::ExchangeConfig exchange_config(const ConfigReader& values) {
    exchange::ExchangeConfig config;
    exchange::RolesConfig roles;
    take(values, exchange::roles_keys, roles);
    config.farm = exchange::parse_roles(roles.roles, values.get<std::size_t>("n_nodes"));
    config.self = values.get<exchange::Node>("node");
    config.comes_again = values.get_or<bool>("comes_again", false);
    config.run_id = run_id_of(values.get<std::uint64_t>("farm_id"));
    take(values, exchange::exchange_keys, config);
    take(values, exchange::exchange_time_keys, config);
    return config;
}

std::uint32_t exchange_packing(const ConfigReader& values) {
    exchange::ExchangeConfig config;
    take(values, exchange::exchange_keys, config);
    return config.packing;
}

exchange::GeneratorConfig generator_config(const ConfigReader& values) {
    exchange::GeneratorConfig config;
    config.run_id = run_id_of(values.get<std::uint64_t>("farm_id"));
    take(values, exchange::generator_keys, config);
    config.seed = seed_config(values);
    config.packing = exchange_packing(values);
    return config;
}

fabric::FabricConfig fabric_config(const ConfigReader& values) {
    fabric::FabricConfig config;
    take(values.below("fabric"), fabric::fabric_keys, config);
    exchange::ExchangeConfig times;
    take(values, exchange::exchange_time_keys, times);
    config.peer_timeout_ns = times.peer_timeout_ns;
    config.heartbeat_ns = config.peer_timeout_ns / 5;
    return config;
}

pipeline::ExchangeNodeConfig exchange_node_config(const nb::dict& dict) {
    const ConfigReader values(dict);
    pipeline::ExchangeNodeConfig config;
    config.page = page_identity(values);
    config.exchange = exchange_config(values);
    config.generator = generator_config(values);
    take(values, pipeline::readout_room_keys, config);
    take(values, pipeline::frame_keys, config);
    config.fabric = fabric_config(values);
    config.fabric.self = config.exchange.self;
    config.fabric.n_peers = static_cast<std::uint16_t>(config.exchange.farm.n_nodes());
    config.fabric.farm_id = values.get<std::uint64_t>("farm_id");
    config.publish = publish_config(values.below("publish"));
    if (values.get_or<std::string>("to", "") == "store") config.file = values.get<std::string>("file");
    take(values, pipeline::stored_keys, config);
    const auto from = values.get_or<std::string>("from", "");
    if (!from.empty() && from != "generator") ExchangeEnds::take(from, dict, config);
    pipeline::ExchangeThreads threads;
    take(values, pipeline::exchange_placement_keys, threads);
    config.threads = pipeline::parse_layout(threads.layout, threads.cores, pipeline::exchange_chain);
    take(values, pipeline::exchange_wait_keys, config);
    return config;
}

class ExchangeHandle final : public NodeHandle<pipeline::ExchangeNode> {
  public:
    explicit ExchangeHandle(const nb::dict& values)
        : NodeHandle(std::make_shared<pipeline::ExchangeNode>(exchange_node_config(values))) {}
    ~ExchangeHandle() { abort(); }

    nb::bytes address() const {
        const std::vector<std::byte> address = node_->address();
        return nb::bytes(reinterpret_cast<const char*>(address.data()), address.size());
    }
    void connect(exchange::Node node, const nb::bytes& address) {
        const auto* bytes = reinterpret_cast<const std::byte*>(address.c_str());
        node_->connect(node, {bytes, bytes + address.size()});
    }
    void disconnect(exchange::Node node) { node_->disconnect(node); }
    void abort() {
        nb::gil_scoped_release release;
        node_->abort();
    }
    std::string failure() const { return node_->failure(); }
    std::map<std::string, std::uint64_t> progress() const { return node_->progress(); }
    nb::dict account() const { return dict_of(node_->account()); }
    nb::dict latency() const {
        nb::dict result = latency_of(node_->latency());
        const exchange::BuilderUnit* builder = node_->station().builder();
        if (builder == nullptr) return result;
        result["ready_to_built"] = latency_of(builder->output().ready_to_built());
        result["first_to_built"] = latency_of(builder->output().first_to_built());
        return result;
    }
};

nb::list fabric_transports() {
    nb::list list;
    for (const pipeline::TransportInfo& info : pipeline::probe_transports()) {
        nb::dict one;
        one["name"] = info.name;
        one["available"] = info.available;
        one["reason"] = info.reason;
        one["mode"] = info.mode;
        list.append(one);
    }
    return list;
}

nb::dict point_to_point(const nb::dict& dict) {
    const ConfigReader values(dict);
    pipeline::PointToPointConfig config;
    config.fabric = fabric_config(values);
    config.message_bytes = values.get_or("message_bytes", generator_config(values).mean_mfp_bytes());
    config.duration_ns = nanoseconds(values.get_or("duration_s", 1.0), 1e9);
    pipeline::PointToPointResult result;
    {
        const nb::gil_scoped_release release;
        result = pipeline::measure_point_to_point(config);
    }
    nb::dict measured;
    measured["gbit_per_s"] = result.gbit_per_s();
    measured["n_messages"] = result.n_messages;
    measured["message_bytes"] = config.message_bytes;
    measured["seconds"] = static_cast<double>(result.duration_ns) * 1e-9;
    measured["about"] = result.about;
    return measured;
}

}  // namespace

void bind_exchange_node(nb::module_& module) {
    bind_handle<ExchangeHandle>(module, "ExchangeNode")
        .def("address", &ExchangeHandle::address)
        .def("connect", &ExchangeHandle::connect, nb::arg("node"), nb::arg("address"))
        .def("disconnect", &ExchangeHandle::disconnect, nb::arg("node"))
        .def("abort", &ExchangeHandle::abort)
        .def("failure", &ExchangeHandle::failure)
        .def("account", &ExchangeHandle::account)
        .def("progress", &ExchangeHandle::progress);
    module.def("fabric_transports", &fabric_transports);
    module.def("point_to_point", &point_to_point, nb::arg("values"));
}

}  // namespace anello::bindings
