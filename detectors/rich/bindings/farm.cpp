// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "config.hpp"
#include "exchange_ends.hpp"
#include "rich/bindings/node_config.hpp"
#include "rich/farm/input.hpp"
#include "rich/farm/output.hpp"

namespace anello::rich {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

RichFrames frames_of(const ConfigReader& chain, const pipeline::ExchangeNodeConfig& config) {
    RichFrames frames;
    frames.packing = config.exchange.packing;
    frames.frame_ticks = config.frame_ticks;
    frames.meps_per_burst = chain.get<std::uint32_t>("meps_per_burst");
    frames.first_burst_id = chain.get<std::uint32_t>("source.first_burst_id");
    frames.window_ticks = chain.get<std::uint32_t>("build.window_ticks");
    return frames;
}

/// Before (from = "rich") and behind (to = "trigger") a node of the exchange.
void take_ends(const nb::dict& dict, pipeline::ExchangeNodeConfig& config) {
    const ConfigReader values(dict);
    const auto chain = values.get<nb::dict>("feed");
    NodeConfig node = node_config(chain, std::make_shared<std::weak_ptr<const void>>());
    node.store.rules.about = bindings::about_run(values);
    node.build.first_board = values.get<std::uint32_t>("first_board");
    const RichFrames frames = frames_of(ConfigReader(chain), config);
    const auto n_boards = values.get<std::uint32_t>("n_detector_boards");
    config.max_mfp_bytes = config.fabric.max_message_bytes;
    config.make_input = [node, frames](const exchange::ExchangeConfig& exchange, exchange::MfpRing& ring,
                                       const Clock& clock, CounterPage& page) {
        return std::make_unique<RichInput>(node, frames, exchange, ring, clock, page);
    };
    if (values.get<std::string>("to") != "trigger") return;
    config.make_output = [node, frames, n_boards](const exchange::ExchangeConfig& exchange, const Clock& clock,
                                                  CounterPage& page) {
        return std::make_unique<RichOutput>(node, frames, n_boards, exchange, clock, page);
    };
}

const bindings::ExchangeEnds ends("rich", take_ends);

}  // namespace
}  // namespace anello::rich
