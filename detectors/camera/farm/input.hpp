// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "camera/chain/boards.hpp"
#include "camera/farm/packer.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::camera {

/// Receives and builds the events of a readout unit's boards, and packs them: in one thread or two, as the chain's
/// layout says of receive and build; what builds also packs.
class CameraFarmInput final : public pipeline::ExchangeInput {
  public:
    /// Throws ConfigError, SystemError.
    CameraFarmInput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, exchange::MfpRing& ring,
                    const Clock& clock, CounterPage& page);

    pipeline::ChainPart part() override;
    std::vector<std::uint16_t> ports() const override { return boards_.ports(); }

  private:
    std::size_t build_and_pack() noexcept;

    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    CameraBoards boards_;
    CameraPacker packer_;
};

}  // namespace anello::camera
