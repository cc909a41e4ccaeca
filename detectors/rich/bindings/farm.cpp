// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "config.hpp"
#include "exchange_ends.hpp"
#include "rich/bindings/node_config.hpp"
#include "rich/farm/ends.hpp"

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

/// Sets the input (from = "rich") and the output (to = "trigger") of a node of the exchange.
void take_ends(const nb::dict& dict, pipeline::ExchangeNodeConfig& config) {
    const ConfigReader values(dict);
    const auto chain = values.get<nb::dict>("feed");
    FarmConfig farm{.node = node_config(chain, std::make_shared<std::weak_ptr<const void>>()),
                    .frames = frames_of(ConfigReader(chain), config),
                    .n_boards = values.get<std::uint32_t>("n_detector_boards")};
    farm.node.store.rules.about = bindings::about_run(values);
    farm.node.build.first_board = values.get<std::uint32_t>("first_board");
    config.max_mfp_bytes = config.fabric.max_message_bytes;
    config.make_input = make_input(farm);
    if (values.get<std::string>("to") == "trigger") config.make_output = make_output(farm);
}

const bindings::ExchangeEnds ends("rich", take_ends);

}  // namespace
}  // namespace anello::rich
