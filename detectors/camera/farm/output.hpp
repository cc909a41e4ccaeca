// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/chain/node_config.hpp"
#include "camera/chain/outlet.hpp"
#include "camera/farm/unpacker.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::camera {

/// The camera's filter and sender behind a builder unit.
class CameraFarmOutput final : public pipeline::ExchangeOutput {
  public:
    /// Throws ConfigError, SystemError.
    CameraFarmOutput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, const Clock& clock,
                     CounterPage& page);

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override { return unpacker_.try_give_back(slot); }
    pipeline::ChainPart part() override;

  private:
    CameraUnpacker unpacker_;
    CameraOutlet outlet_;
    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    bool has_new_ = false;  ///< since the stage was woken; the builder's thread
};

}  // namespace anello::camera
