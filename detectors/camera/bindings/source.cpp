// SPDX-License-Identifier: Apache-2.0
#include "camera/source/source.hpp"

#include <memory>

#include "arrays.hpp"
#include "camera/bindings/parts.hpp"
#include "config.hpp"
#include "counters.hpp"
#include "keys.hpp"
#include "sequences.hpp"
#include "source/sinks/udp_sink.hpp"
#include "source_handle.hpp"

namespace anello::camera {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

CameraSourceConfig source_config(const ConfigReader& from) {
    CameraSourceConfig config;
    config.seed = bindings::seed_config(from);
    bindings::take(from.below("camera"), camera_keys, config);
    bindings::take(from.below("run"), camera_run_keys, config);
    bindings::take(from, camera_source_keys, config);
    bindings::take(from.below("faults"), camera_faults_keys, config.faults);
    return config;
}

CameraSourceConfig validated(const CameraSourceConfig& config) {
    config.validate();
    return config;
}

template <typename Get>
nb::object truth_column(std::span<const CameraTruth> truth, Get get) {
    std::vector<float> column;
    column.reserve(truth.size());
    for (const auto& event : truth) column.push_back(get(event));
    return bindings::to_numpy(std::move(column));
}

nb::dict arrays_of(std::span<const CameraTruth> truth) {
    using Truth = CameraTruth;
    nb::dict arrays;
    arrays["n_pe"] = truth_column(truth, [](const Truth& event) { return event.n_pe; });
    arrays["x_mm"] = truth_column(truth, [](const Truth& event) { return event.x_mm; });
    arrays["y_mm"] = truth_column(truth, [](const Truth& event) { return event.y_mm; });
    arrays["length_mm"] = truth_column(truth, [](const Truth& event) { return event.length_mm; });
    arrays["width_mm"] = truth_column(truth, [](const Truth& event) { return event.width_mm; });
    arrays["axis_x"] = truth_column(truth, [](const Truth& event) { return event.axis_x; });
    arrays["axis_y"] = truth_column(truth, [](const Truth& event) { return event.axis_y; });
    arrays["time_ns"] = truth_column(truth, [](const Truth& event) { return event.time_ns; });
    arrays["time_gradient_ns_per_mm"] =
        truth_column(truth, [](const Truth& event) { return event.time_gradient_ns_per_mm; });
    arrays["trigger_tag"] =
        truth_column(truth, [](const Truth& event) { return static_cast<float>(event.trigger_tag); });
    return arrays;
}

/// The boards of a camera, or some of them. prepare() makes the pool.
class CameraSourceHandle final : public bindings::PlannedSourceHandle {
  public:
    explicit CameraSourceHandle(const nb::dict& values)
        : CameraSourceHandle(values, validated(source_config(ConfigReader(values)))) {}
    ~CameraSourceHandle() { end_source(); }

    void prepare() override {
        if (has_source()) return;
        nb::gil_scoped_release release;
        pool_ = std::make_unique<CameraPool>(config_);
        make<CameraSource>(config_, *pool_);
    }
    nb::dict truth() const {
        nb::dict arrays = arrays_of(pool_ ? pool_->truth() : std::span<const CameraTruth>{});
        add_sent(arrays);
        return arrays;
    }

  private:
    CameraSourceHandle(const nb::dict& values, const CameraSourceConfig& config)
        : PlannedSourceHandle(values, config.endpoints(), config.offload), config_(config) {}

    const CameraSourceConfig config_;
    std::unique_ptr<CameraPool> pool_;
};

}  // namespace

void bind_source(nb::module_& module) {
    bindings::bind_source_handle<CameraSourceHandle>(module, "Source").def("prepare", &CameraSourceHandle::prepare);
}

}  // namespace anello::camera
