// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "build/camera_intake.hpp"
#include "core/thread.hpp"
#include "exchange/camera_packer.hpp"
#include "pipeline/camera_node_config.hpp"
#include "pipeline/camera_watch.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::pipeline {

/// Receives and builds the events of a readout unit's boards, and packs them: in one thread or two, as the chain's
/// layout says of receive and build; what builds also packs.
class CameraFarmInput final : public ExchangeInput {
  public:
    /// Throws ConfigError, SystemError.
    CameraFarmInput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, exchange::MfpRing& ring,
                    const Clock& clock, CounterPage& page);
    ~CameraFarmInput() override { stop(); }

    void start(std::function<void()> wake) override;
    void stop() override;
    std::vector<std::uint16_t> ports() const override { return watch_.ports(); }
    std::map<std::string, std::string> states() const override { return watch_.states(); }
    std::vector<std::string> notices() override;

    const exchange::CameraPacker& packer() const noexcept { return packer_; }

  private:
    std::size_t build_and_pack() noexcept;
    bool is_drained() const noexcept;

    build::CameraIntake intake_;
    exchange::CameraPacker packer_;
    CameraWatch watch_;
    std::function<void()> wake_;
    std::vector<std::unique_ptr<WorkerThread>> threads_;
    std::vector<ThreadConfig> plans_;  ///< of receive, where it is apart; of the rest
    bool drain_timed_out_ = false;
};

}  // namespace anello::pipeline
