// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/thread.hpp"
#include "exchange/camera_unpacker.hpp"
#include "pipeline/camera_node_config.hpp"
#include "pipeline/camera_outlet.hpp"
#include "pipeline/exchange_ends.hpp"

namespace anello::pipeline {

/// The camera's sending stage behind a builder unit, with a thread of its own.
class CameraFarmOutput final : public ExchangeOutput {
  public:
    /// Throws ConfigError, SystemError.
    CameraFarmOutput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, const Clock& clock,
                     CounterPage& page);
    ~CameraFarmOutput() override { close(); }

    void start() override;
    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override { return unpacker_.try_give_back(slot); }
    void close() noexcept override;
    std::vector<std::string> notices() override;
    void give_up_subscribers() noexcept override { outlet_.give_up_subscribers(); }
    std::map<std::string, const LatencyHistogram*> latency() const override;
    std::map<std::string, std::string> states() const override { return {{"send", outlet_.describe()}}; }

  private:
    exchange::CameraUnpacker unpacker_;
    CameraOutlet outlet_;
    WorkerThread thread_;
    bool started_ = false, closed_ = false, drain_timed_out_ = false;
};

}  // namespace anello::pipeline
