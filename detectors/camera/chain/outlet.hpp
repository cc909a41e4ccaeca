// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "camera/chain/dispatch.hpp"
#include "camera/chain/encoding.hpp"
#include "camera/chain/kept_events.hpp"
#include "camera/chain/outlet_config.hpp"
#include "camera/chain/selection.hpp"
#include "camera/send/event_encoder.hpp"

namespace anello::camera {

/// The part of the chain after whole events: the stage filter and, if there is a file, stream or subscriber, send. If
/// they have threads, the stages pixels (parallel to filter) and compress (before send) belong to it, too.
class CameraOutlet {
  public:
    /// events, clock and page must outlive it. Throws ConfigError, SystemError.
    CameraOutlet(const CameraOutletConfig& config, CameraEvents& events, const CameraShape& shape, const Clock& clock,
                 CounterPage& page)
        : config_(config.counted()),
          kept_(config_.sends() ? config_.max_kept_events : 0, config_.publish.is_on() ? n_pixels(config_) : 0,
                config_.n_encoding_lanes()),
          selection_(config_, events, config_.sends() ? &kept_ : nullptr, clock, page),
          choices_(config_.record_compression(), config_.compression) {
        if (config_.compresses_aside()) encoding_.emplace(config_.encoding(shape), choices_, kept_, shape);
        if (config_.sends()) dispatch_.emplace(with_calibration(config_), choices_, kept_, shape, clock, page);
    }

    /// The stages must not outlive this object. has_input: tells whether the previous stage has given events.
    std::vector<pipeline::Stage> stages(std::function<bool(std::uint32_t)> has_input) {
        std::vector<pipeline::Stage> stages{selection_.stage()};
        stages.front().has_input = std::move(has_input);
        if (selection_.pixels().has_threads()) stages.push_back(selection_.pixels().stage());
        if (encoding_) stages.push_back(encoding_->stage());
        if (dispatch_) stages.push_back(dispatch_->stage());
        return stages;
    }
    bool try_take(CameraImage& image) noexcept { return selection_.try_take(image); }
    /// See R1Streams::set_of_writer().
    bool set_of_r1_writer(std::size_t writer, const std::string& name, std::uint64_t value) noexcept {
        return dispatch_ && dispatch_->set_of_r1_writer(writer, name, value);
    }

  private:
    CameraOutletConfig with_calibration(CameraOutletConfig config) const {
        for (store::FileAttribute& attribute : selection_.attributes())
            config.rules.about.push_back(std::move(attribute));
        return config;
    }
    static std::uint32_t n_pixels(const CameraOutletConfig& config) noexcept {
        return config.integrate ? config.integrator.n_boards * config.integrator.pixels_per_board : 0;
    }

    CameraOutletConfig config_;
    KeptEvents kept_;
    CameraSelection selection_;
    CompressionChoices choices_;
    std::optional<CameraEncoding> encoding_;
    std::optional<CameraDispatch> dispatch_;
};

}  // namespace anello::camera
