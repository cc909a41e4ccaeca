// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/node.hpp"

#include "arrays.hpp"
#include "camera/bindings/parts.hpp"
#include "camera/farm/ends.hpp"
#include "camera/wire/camera.hpp"
#include "config.hpp"
#include "exchange_ends.hpp"
#include "keys.hpp"
#include "node_handle.hpp"

namespace anello::camera {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

CameraShape camera_shape(const ConfigReader& camera) {
    CameraShape shape;
    shape.n_boards = camera.get<std::uint32_t>("boards");
    const auto free_size = camera.get<std::uint32_t>("payload_bytes");
    const auto n_pixels = camera.get<std::uint32_t>("pixels_per_board");
    const std::uint32_t waveform_bytes =
        2 * n_pixels * camera.get<std::uint32_t>("gains") * camera.get<std::uint32_t>("samples");
    const auto room = static_cast<std::uint32_t>(wire::camera::first_cells_room(n_pixels));
    shape.max_payload_bytes = free_size > 0 ? free_size : waveform_bytes + room;
    return shape;
}

CameraBuilderConfig builder_config(const ConfigReader& all) {
    CameraBuilderConfig config;
    config.shape = camera_shape(all.below("camera"));
    bindings::take(all.below("camera_build"), camera_builder_keys, config);
    const receive::BufferRules rules = bindings::buffer_rules(all.below("receive"));
    config.full_policy = rules.policy;
    config.memory = rules.memory;
    return config;
}

IntegratorConfig integrator_config(const ConfigReader& camera) {
    IntegratorConfig config;
    config.n_boards = camera.get<std::uint32_t>("boards");
    config.pixels_per_board = camera.get<std::uint32_t>("pixels_per_board");
    config.n_gains = camera.get<std::uint32_t>("gains");
    config.n_samples = camera.get<std::uint32_t>("samples");
    return config;
}

CameraOutletConfig outlet_config(const ConfigReader& all) {
    const ConfigReader send = all.below("camera_send");
    CameraOutletConfig config;
    config.integrate = all.get<std::uint32_t>("camera.payload_bytes") == 0;  // a free size has no pixels
    config.integrator = integrator_config(all.below("camera"));
    config.pixels_file = all.get<std::string>("camera.pixels_file");
    bindings::take(all.below("camera_calibrate"), calibrate_keys, config.calibrate);
    bindings::take(all.below("camera_filter"), filter_keys, config.filter);
    config.filter.seed = bindings::seed_config(all.below("run"));
    bindings::take(send, compression_keys, config.compression);
    bindings::take(send, camera_send_keys, config);
    send.take("r1_connections", config.r1_connections);  // not a key for users: the caller has made these sockets
    bindings::take(all.below("publish"), camera_publish_keys, config);
    config.publish = bindings::publish_config(all.below("publish"));
    return config;
}

/// Reads a chain's whole configuration, flat with dotted keys, for its own node or a node of a farm.
CameraNodeConfig node_config(const ConfigReader& all) {
    CameraNodeConfig config;
    config.page = bindings::page_identity(all);
    config.n_runs = all.get_or<std::uint32_t>("run.n_runs", 1);
    config.backend = bindings::backend_config(all.below("receive"), camera_ports_keys);
    config.backend.datagram_length = wire::camera::datagram_bytes;
    config.build = builder_config(all);
    config.build.sources = bindings::sources_config(all.below("receive"), config.build.shape.n_boards);
    bindings::take(all.below("camera_build"), camera_groups_keys, config);
    config.send = outlet_config(all);
    config.send.rules.about = bindings::about_run(all);
    bindings::take_threads(all.below("threads"), camera_threads_keys, camera_chain, config);
    return config;
}

/// The camera before the exchange and, if configured, after it.
void take_ends(const nb::dict& values, pipeline::ExchangeNodeConfig& config) {
    CameraNodeConfig node = node_config(ConfigReader(nb::cast<nb::dict>(values["feed"])));
    node.send.rules.about = bindings::about_run(ConfigReader(values));
    config.make_input = make_camera_input(node);
    config.exchange.waits_for_data = true;
    config.max_mfp_bytes =
        camera_max_mfp_bytes(node.build.shape, config.exchange.farm.readouts.size(), config.exchange.packing);
    if (nb::cast<std::string>(values["to"]) == "camera") config.make_output = make_camera_output(node);
}

class Handle final : public bindings::NodeHandle<CameraNode> {
  public:
    explicit Handle(const nb::dict& values)
        : NodeHandle(std::make_shared<CameraNode>(node_config(ConfigReader(values)))) {}
    ~Handle() { stop(); }

    nb::list events() {
        nb::list result;
        for (CameraImage image{}; node_->outlet().try_take(image);) result.append(as_dict(image));
        return result;
    }

    /// Sets a counter in the node's page. The process that leads the writers of R1v1 files calls it.
    void set_r1_writer(std::size_t writer, const nb::dict& counters) {
        for (const auto& [name, value] : counters)
            if (!node_->outlet().set_of_r1_writer(writer, nb::cast<std::string>(name), nb::cast<std::uint64_t>(value)))
                throw nb::index_error("set_r1_writer: there is no such writer or counter");
    }

  private:
    static nb::dict as_dict(const CameraImage& image) {
        nb::dict event;
        event["event_number"] = image.event_number;
        event["kept"] = image.verdict.is_kept();
        event["charge_sum"] = image.verdict.charge_sum;
        event["charge"] =
            bindings::to_numpy(std::vector<float>(image.charge.begin(), image.charge.begin() + image.n_pixels));
        return event;
    }
};

const bindings::ExchangeEnds ends("camera", take_ends);

}  // namespace

void bind_node(nb::module_& module) {
    bindings::bind_handle<Handle>(module, "Node")
        .def("sequences", &Handle::sequences)
        .def("events", &Handle::events)
        .def("set_r1_writer", &Handle::set_r1_writer, nb::arg("writer"), nb::arg("counters"));
}

}  // namespace anello::camera
