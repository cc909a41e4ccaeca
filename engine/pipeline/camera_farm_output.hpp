// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exchange/camera_unpacker.hpp"
#include "pipeline/camera_node_config.hpp"
#include "pipeline/camera_outlet.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::pipeline {

/// The camera's sending stage behind a builder unit.
class CameraFarmOutput final : public ExchangeOutput {
  public:
    /// Throws ConfigError, SystemError.
    CameraFarmOutput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, const Clock& clock,
                     CounterPage& page);

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override { return unpacker_.try_give_back(slot); }
    ChainPart part() override;

  private:
    exchange::CameraUnpacker unpacker_;
    CameraOutlet outlet_;
    const std::vector<ThreadPlan> threads_;
    const WaitPolicy wait_;
    bool has_new_ = false;  ///< since the stage was woken; the builder's thread
};

}  // namespace anello::pipeline
