// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_farm_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/errors.hpp"
#include "pipeline/camera_farm.hpp"
#include "pipeline/camera_shares.hpp"

namespace anello::pipeline {
namespace {

constexpr std::chrono::seconds drain_limit{10};

std::uint32_t n_readouts_of(const exchange::ExchangeConfig& farm) {
    return static_cast<std::uint32_t>(farm.farm.readouts.size());
}

bool has_blocks(const CameraNodeConfig& config) {
    return config.threads.front().stages.size() == 1;  // receive by itself
}

build::CameraIntakeConfig intake_config(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm) {
    if (config.n_groups != 1)
        throw ConfigError("camera_build.groups", "must be 1 before the exchange: each readout unit is a group",
                          std::to_string(config.n_groups), "Start more nodes.");
    build::CameraIntakeConfig intake{.builder = config.build,
                                     .with_blocks = has_blocks(config),
                                     .blocks = {},
                                     .batch_datagrams = datagrams_at_once(config),
                                     .first_port = 0};
    const build::BoardRange boards =
        build::boards_of_group(config.build.shape.n_boards, n_readouts_of(farm), farm.farm.readout_of[farm.self]);
    const auto n_ports = static_cast<std::uint32_t>(config.backend.ports.size());
    if (boards.count == 0 || n_ports == 0 || n_ports > boards.count)
        throw ConfigError("receive.ports", "must be at least one for each readout unit, and at most one for each board",
                          fmt::format("{} ports, {} boards", n_ports, boards.count), "0 takes any free port.");
    intake.builder.boards = boards;
    for (std::uint32_t port = 0; port < n_ports; ++port) {
        build::BoardRange share = boards_of_port(boards.count, n_ports, port);
        share.first += boards.first;
        intake.builder.stream_boards.push_back(share);
    }
    intake.blocks.memory = config.build.memory;
    return intake;
}

std::unique_ptr<receive::Backend> make_camera_backend(const CameraNodeConfig& config, const Clock& clock) {
    receive::BackendConfig backend = config.backend;
    backend.notes = false;  // an event carries the times of its first and last fragment
    backend.batch_datagrams = datagrams_at_once(config);
    return receive::make_backend(backend, clock);
}

exchange::CameraPackerConfig packer_config(const exchange::ExchangeConfig& farm) {
    return {.source_id = farm.farm.readout_of[farm.self], .run_id = farm.run_id, .packing = farm.packing};
}

}  // namespace

std::size_t camera_max_mfp_bytes(const build::CameraShape& shape, std::size_t n_readouts, std::uint32_t packing) {
    const build::BoardRange largest =
        build::boards_of_group(shape.n_boards, static_cast<std::uint32_t>(std::max<std::size_t>(1, n_readouts)), 0);
    return exchange::CameraPackerConfig{.packing = packing}.max_mfp_bytes(shape, largest.count);
}

CameraFarmInput::CameraFarmInput(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm,
                                 exchange::MfpRing& ring, const Clock& clock, CounterPage& page)
    : intake_(intake_config(config, farm), make_camera_backend(config, clock), clock, page),
      packer_(packer_config(farm), intake_.builder(), ring, clock, page),
      watch_({&intake_}) {
    const auto plan = [&](const char* name, std::size_t thread, int wake_descriptor) {
        plans_.push_back({.name = name,
                          .core = config.threads[thread].core,
                          .wait = config.wait,
                          .rest_below = rest_below_datagrams,
                          .wake_descriptor = wake_descriptor,
                          .can_be_woken = wake_descriptor < 0});
    };
    plan("recv", 0, intake_.backend().descriptor());
    if (has_blocks(config)) plan("build", 1, -1);
}

void CameraFarmInput::start(std::function<void()> wake) {
    wake_ = std::move(wake);
    if (plans_.size() == 1) {
        threads_.push_back(
            std::make_unique<WorkerThread>(plans_[0], [this] { return intake_.receive_work() + build_and_pack(); }));
    } else {
        auto builder = std::make_unique<WorkerThread>(plans_[1], [this] { return build_and_pack(); });
        threads_.push_back(std::make_unique<WorkerThread>(plans_[0], [this, next = builder.get()] {
            const std::size_t n_done = intake_.receive_work();
            if (intake_.has_blocks()) next->wake();
            return n_done;
        }));
        threads_.push_back(std::move(builder));
    }
    for (auto& thread : threads_) thread->start();
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t CameraFarmInput::build_and_pack() noexcept {
    const std::size_t n_built = intake_.build_work(), n_packed = packer_.do_work();
    if (n_packed > 0) wake_();
    return n_built + n_packed * rest_below_datagrams;
}

bool CameraFarmInput::is_drained() const noexcept {
    return intake_.is_drained() && !intake_.builder().has_parts();
}

void CameraFarmInput::stop() {
    if (threads_.empty()) return;
    packer_.discard();
    intake_.drain();
    const auto limit = std::chrono::steady_clock::now() + drain_limit;
    while (!is_drained() && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    drain_timed_out_ = !is_drained();
    for (auto& thread : threads_) thread->stop();
    threads_.clear();
}

std::vector<std::string> CameraFarmInput::notices() {
    std::vector<std::string> lines = watch_.notices();
    if (std::exchange(drain_timed_out_, false))
        lines.push_back("draining took longer than 10 s: what was still on the way is not accounted for");
    return lines;
}

MakeExchangeInput make_camera_input(const CameraNodeConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, exchange::MfpRing& ring, const Clock& clock,
                    CounterPage& page) { return std::make_unique<CameraFarmInput>(config, farm, ring, clock, page); };
}

}  // namespace anello::pipeline
