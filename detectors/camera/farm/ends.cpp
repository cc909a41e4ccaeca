// SPDX-License-Identifier: Apache-2.0
#include "camera/farm/ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "camera/chain/boards.hpp"
#include "camera/chain/outlet.hpp"
#include "camera/chain/shares.hpp"
#include "camera/farm/packer.hpp"
#include "camera/farm/unpacker.hpp"
#include "core/errors.hpp"

namespace anello::camera {
namespace {

std::uint32_t n_readouts_of(const exchange::ExchangeConfig& farm) {
    return static_cast<std::uint32_t>(farm.farm.readouts.size());
}

CameraBuilderConfig builder_config(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm) {
    if (config.n_groups != 1)
        throw ConfigError("camera_build.groups", "must be 1 before the exchange: each readout unit is a group",
                          std::to_string(config.n_groups), "Start more nodes.");
    if (config.build.event_number_bits != 32)
        throw ConfigError("camera_build.event_number_bits", "must be 32 before the exchange",
                          std::to_string(config.build.event_number_bits),
                          "Builders of other nodes go by the number that stands in each fragment.");
    const BoardRange boards =
        boards_of_group(config.build.shape.n_boards, n_readouts_of(farm), farm.farm.readout_of[farm.self]);
    const auto n_ports = static_cast<std::uint32_t>(config.backend.ports.size());
    if (boards.count == 0 || n_ports == 0 || n_ports > boards.count)
        throw ConfigError("receive.ports", "must be at least one for each readout unit, and at most one for each board",
                          fmt::format("{} ports, {} boards", n_ports, boards.count), "0 takes any free port.");
    CameraBuilderConfig builder = config.build;
    builder.boards = boards;
    for (std::uint32_t port = 0; port < n_ports; ++port) {
        BoardRange share = boards_of_port(boards.count, n_ports, port);
        share.first += boards.first;
        builder.stream_boards.push_back(share);
    }
    return builder;
}

CameraBoards::Intakes one_intake(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm,
                                 const Clock& clock, CounterPage& page) {
    CameraBoards::Intakes intakes;
    intakes.push_back(make_intake(config, builder_config(config, farm), 0, clock, page));
    return intakes;
}

/// Receives, builds and packs the events of a readout unit's boards, in one thread or two, as the chain's layout says
/// for receive and build; the building thread also packs.
class Input final : public pipeline::ExchangeInput {
  public:
    Input(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, exchange::MfpRing& ring,
          const Clock& clock, CounterPage& page)
        : threads_(config.threads),
          wait_(config.wait),
          boards_(config, one_intake(config, farm, clock, page)),
          packer_(exchange::MfpPackerConfig::of(farm), boards_.intake(0).builder(), ring, clock, page) {}

    std::vector<std::uint16_t> ports() const override { return boards_.ports(); }
    pipeline::ChainPart part() override {
        pipeline::Stage receive = boards_.receive_stage(), build = boards_.build_stage();
        receive.drain = [this, drain = std::move(receive.drain)] {
            packer_.discard();
            drain();
        };
        build.do_work = [this](std::uint32_t) {
            const std::size_t n_built = boards_.intake(0).build_work();
            return n_built + packer_.do_work() * pipeline::rest_below_datagrams;
        };
        build.is_drained = [this] { return boards_.is_drained() && !boards_.intake(0).builder().output().has_parts(); };
        return {{std::move(receive), std::move(build)}, threads_, wait_};
    }

  private:
    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    CameraBoards boards_;
    CameraPacker packer_;
};

/// The camera's filter and sender after a builder unit.
class Output final : public pipeline::ExchangeOutput {
  public:
    Output(const CameraNodeConfig& config, const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page)
        : threads_(config.threads),
          wait_(config.wait),
          unpacker_({farm.n_credits, n_readouts_of(farm), config.build.shape}, page),
          outlet_(config.send, unpacker_, config.build.shape, clock, page) {}

    bool try_take(const exchange::MepView& mep) noexcept override {
        if (!unpacker_.try_take_mep(mep)) return false;
        has_new_ = true;
        return true;
    }
    bool try_give_back(std::uint32_t& slot) noexcept override { return unpacker_.try_give_back(slot); }
    pipeline::ChainPart part() override {
        return {outlet_.stages([this](std::uint32_t) { return std::exchange(has_new_, false); }), threads_, wait_};
    }

  private:
    const std::vector<pipeline::ThreadPlan> threads_;
    const WaitPolicy wait_;
    CameraUnpacker unpacker_;
    CameraOutlet outlet_;
    bool has_new_ = false;  ///< an event came since the stage was woken; builder's thread
};

}  // namespace

std::size_t camera_max_mfp_bytes(const CameraShape& shape, std::size_t n_readouts, std::uint32_t packing) {
    const BoardRange largest =
        boards_of_group(shape.n_boards, static_cast<std::uint32_t>(std::max<std::size_t>(1, n_readouts)), 0);
    return exchange::MfpPackerConfig{.packing = packing}.max_mfp_bytes(camera_group_bytes(shape, largest.count));
}

pipeline::MakeExchangeInput make_camera_input(const CameraNodeConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, exchange::MfpRing& ring, const Clock& clock,
                    CounterPage& page) { return std::make_unique<Input>(config, farm, ring, clock, page); };
}

pipeline::MakeExchangeOutput make_camera_output(const CameraNodeConfig& config) {
    return [config](const exchange::ExchangeConfig& farm, const Clock& clock, CounterPage& page) {
        return std::make_unique<Output>(config, farm, clock, page);
    };
}

}  // namespace anello::camera
