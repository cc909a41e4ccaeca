// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/output.hpp"

#include <utility>

#include "camera/farm/ends.hpp"

namespace anello::camera {

CameraFarmOutput::CameraFarmOutput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm,
                                   const Clock& clock, CounterPage& page)
    : unpacker_({.n_slots = farm.n_credits,
                 .n_readouts = static_cast<std::uint32_t>(farm.farm.readouts.size()),
                 .shape = config.build.shape},
                page),
      outlet_(config.send, unpacker_, config.build.shape, clock, page),
      threads_(config.threads),
      wait_(config.wait) {}

bool CameraFarmOutput::try_take(const exchange::MepView& mep) noexcept {
    if (!unpacker_.try_take_mep(mep)) return false;
    has_new_ = true;
    return true;
}

pipeline::ChainPart CameraFarmOutput::part() {
    return {outlet_.stages([this](std::uint32_t) { return std::exchange(has_new_, false); }), threads_, wait_};
}

pipeline::MakeExchangeOutput make_camera_output(const CameraNodeConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page) {
        return std::make_unique<CameraFarmOutput>(config, farm, clock, page);
    };
}

}  // namespace anello::camera
