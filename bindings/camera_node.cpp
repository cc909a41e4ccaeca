// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_node.hpp"

#include "arrays.hpp"
#include "chain_config.hpp"
#include "config.hpp"
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
    const ConfigReader build = all.below("camera_build");
    build::CameraBuilderConfig config;
    config.shape = camera_shape(all.below("camera"));
    config.window_events = build.get<std::uint32_t>("window_events");
    config.n_events = build.get<std::uint32_t>("n_events");
    config.timeout_ns = nanoseconds(build.get<double>("timeout_ms"), ns_per_ms);
    config.verify_checksum = build.get<bool>("verify_checksum");
    config.copy = build::parse_copy_mode(build.get<std::string>("copy"));
    config.in_place = build.get<bool>("in_place");
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

trigger::FilterConfig filter_config(const ConfigReader& filter) {
    trigger::FilterConfig config;
    config.enabled = filter.get<bool>("enabled");
    config.pixel_threshold = filter.get<float>("pixel_threshold");
    config.charge_threshold = filter.get<float>("charge_threshold");
    config.neighbours = filter.get<std::uint32_t>("neighbours");
    config.prescale = filter.get<std::uint32_t>("prescale");
    config.fraction = filter.get<double>("fraction");
    config.incomplete = trigger::parse_incomplete_policy(filter.get<std::string>("incomplete"));
    return config;
}

pipeline::CameraOutletConfig outlet_config(const ConfigReader& all) {
    const ConfigReader send = all.below("camera_send");
    pipeline::CameraOutletConfig config;
    config.integrate = all.get<std::uint32_t>("camera.payload_bytes") == 0;  // a free size has no pixels
    config.integrator = integrator_config(all.below("camera"));
    config.filter = filter_config(all.below("camera_filter"));
    config.filter.seed = all.get<std::uint64_t>("run.seed");
    config.compression.level = send.get<int>("zstd_level");
    config.compression.shuffle = store::parse_shuffle(send.get<std::string>("shuffle"));
    config.file = send.get<std::string>("file");
    config.publish = publish_config(all.below("publish"));
    config.published = publish::parse_camera_content(all.get_or<std::string>("publish.what", "event"));
    config.stream.host = send.get<std::string>("tcp_host");
    if (!config.stream.host.empty()) config.stream.port = send.get<std::uint16_t>("tcp_port");
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
    config.n_groups = all.get<std::uint32_t>("camera_build.groups");
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
