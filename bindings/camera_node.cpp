// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_node.hpp"

#include "arrays.hpp"
#include "chain_config.hpp"
#include "config.hpp"
#include "keys.hpp"
#include "module.hpp"
#include "node_handle.hpp"
#include "wire/datagram_length.hpp"

namespace anello::bindings {
namespace {

build::CameraShape camera_shape(const ConfigReader& camera) {
    build::CameraShape shape;
    shape.n_boards = camera.get<std::uint32_t>("boards");
    const auto free_size = camera.get<std::uint32_t>("payload_bytes");
    shape.max_payload_bytes = free_size > 0
                                  ? free_size
                                  : 2 * camera.get<std::uint32_t>("pixels_per_board") *
                                        camera.get<std::uint32_t>("gains") * camera.get<std::uint32_t>("samples");
    return shape;
}

build::CameraBuilderConfig builder_config(const ConfigReader& all) {
    build::CameraBuilderConfig config;
    config.shape = camera_shape(all.below("camera"));
    take(all.below("camera_build"), build::camera_builder_keys, config);
    config.full_policy = receive::parse_full_policy(all.get<std::string>("receive.policy"));
    config.memory = memory::parse_kind(all.get<std::string>("receive.memory"));
    return config;
}

trigger::IntegratorConfig integrator_config(const ConfigReader& camera) {
    trigger::IntegratorConfig config;
    config.n_boards = camera.get<std::uint32_t>("boards");
    config.pixels_per_board = camera.get<std::uint32_t>("pixels_per_board");
    config.n_gains = camera.get<std::uint32_t>("gains");
    config.n_samples = camera.get<std::uint32_t>("samples");
    return config;
}

pipeline::CameraOutletConfig outlet_config(const ConfigReader& all) {
    const ConfigReader send = all.below("camera_send");
    pipeline::CameraOutletConfig config;
    config.integrate = all.get<std::uint32_t>("camera.payload_bytes") == 0;  // a free size has no pixels
    config.integrator = integrator_config(all.below("camera"));
    take(all.below("camera_filter"), trigger::filter_keys, config.filter);
    config.filter.seed = all.get<std::uint64_t>("run.seed");
    take(send, store::compression_keys, config.compression);
    take(send, pipeline::camera_send_keys, config);
    take(all.below("publish"), pipeline::camera_publish_keys, config);
    config.publish = publish_config(all.below("publish"));
    return config;
}

}  // namespace

pipeline::CameraNodeConfig camera_node_config(const ConfigReader& all) {
    pipeline::CameraNodeConfig config;
    config.counter_page = all.get_or<std::string>("counter_page", "");
    config.n_runs = all.get_or<std::uint32_t>("run.n_runs", 1);
    config.backend = backend_config(all.below("receive"));
    config.backend.datagram_length = wire::camera_datagram_bytes;
    config.build = builder_config(all);
    config.build.sources = sources_config(all.below("receive"), config.build.shape.n_boards);
    take(all.below("camera_build"), pipeline::camera_groups_keys, config);
    config.send = outlet_config(all);
    config.threads = pipeline::parse_layout(all.get<std::vector<std::string>>("threads.layout"),
                                            all.get<std::vector<int>>("threads.cores"), pipeline::camera_chain);
    config.wait = parse_wait_policy(all.get<std::string>("threads.wait"));
    return config;
}

namespace {

class CameraHandle final : public NodeHandle<pipeline::CameraNode> {
  public:
    explicit CameraHandle(const nb::dict& values)
        : NodeHandle(std::make_shared<pipeline::CameraNode>(camera_node_config(ConfigReader(values)))) {}
    ~CameraHandle() { stop(); }

    nb::list events() {
        nb::list result;
        for (pipeline::CameraImage image{}; node_->outlet().try_take(image);) result.append(as_dict(image));
        return result;
    }

  private:
    static nb::dict as_dict(const pipeline::CameraImage& image) {
        nb::dict event;
        event["event_number"] = image.event_number;
        event["kept"] = image.verdict.is_kept();
        event["charge_sum"] = image.verdict.charge_sum;
        event["charge"] = to_numpy(std::vector<float>(image.charge.begin(), image.charge.begin() + image.n_pixels));
        return event;
    }
};

}  // namespace

void bind_camera_node(nb::module_& module) {
    bind_handle<CameraHandle>(module, "CameraNode")
        .def("sequences", &CameraHandle::sequences)
        .def("events", &CameraHandle::events);
}

}  // namespace anello::bindings
