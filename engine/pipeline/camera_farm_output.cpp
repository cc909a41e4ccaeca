// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_farm_output.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "pipeline/camera_farm.hpp"

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};
constexpr std::chrono::seconds subscribers_limit{3};  // then draining goes on without them

}  // namespace

CameraFarmOutput::CameraFarmOutput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm,
                                   const Clock& clock, CounterPage& page)
    : unpacker_({.n_slots = farm.n_credits,
                 .n_readouts = static_cast<std::uint32_t>(farm.farm.readouts.size()),
                 .shape = config.build.shape},
                page),
      outlet_(config.send, unpacker_, config.build.shape, clock, page),
      thread_({.name = "send", .core = config.threads.back().core, .wait = config.wait, .can_be_woken = true},
              [this] { return outlet_.do_work(); }) {}

void CameraFarmOutput::start() {
    if (!std::exchange(started_, true)) thread_.start();
}

bool CameraFarmOutput::try_take(const exchange::MepView& mep) noexcept {
    if (!unpacker_.try_take_mep(mep)) return false;
    thread_.wake();
    return true;
}

/// What was taken is sent first.
void CameraFarmOutput::close() noexcept {
    if (std::exchange(closed_, true)) return;
    const auto begin = std::chrono::steady_clock::now();
    outlet_.drain();
    while (started_ && !outlet_.is_drained() && std::chrono::steady_clock::now() < begin + drain_limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (std::chrono::steady_clock::now() > begin + subscribers_limit) outlet_.give_up_subscribers();
    }
    drain_timed_out_ = started_ && !outlet_.is_drained();
    if (started_) thread_.stop();
    outlet_.close();
}

std::vector<std::string> CameraFarmOutput::notices() {
    std::vector<std::string> lines = outlet_.notices();
    if (std::exchange(drain_timed_out_, false))
        lines.push_back("sending what was built took longer than 10 s: the rest is not accounted for");
    return lines;
}

std::map<std::string, const LatencyHistogram*> CameraFarmOutput::latency() const {
    std::map<std::string, const LatencyHistogram*> legs;
    for (std::size_t leg = 0; leg < camera_leg_names.size(); ++leg)
        legs[camera_leg_names[leg]] = &outlet_.latency(static_cast<CameraLeg>(leg));
    return legs;
}

MakeExchangeOutput make_camera_output(const CameraNodeConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page) {
        return std::make_unique<CameraFarmOutput>(config, farm, clock, page);
    };
}

}  // namespace anello::pipeline
