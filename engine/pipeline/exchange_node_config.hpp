// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/thread.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/generator.hpp"
#include "fabric/fabric_config.hpp"
#include "memory/persistent_buffers.hpp"
#include "pipeline/exchange_ends.hpp"
#include "pipeline/layout.hpp"
#include "publish/publish_config.hpp"

namespace anello::pipeline {

/// The complete configuration of a node of the exchange.
struct ExchangeNodeConfig {
    PageIdentity page;  ///< of its counter page
    exchange::ExchangeConfig exchange;
    exchange::GeneratorConfig generator;  ///< used without an input
    MakeExchangeInput make_input;         ///< null: the generator
    MakeExchangeOutput make_output;       ///< null: `file`, or nothing
    std::uint32_t frame_ticks = default_frame_ticks;
    std::size_t max_mfp_bytes = 0;  ///< with an input: largest MFP
    std::uint32_t n_buffers = 64;   ///< of the readout unit
    fabric::FabricConfig fabric;
    fabric::MakeFabric make_fabric = fabric::make_fabric;
    std::string file;                  ///< for built events; empty: they are only counted
    std::uint64_t max_file_bytes = 0;  ///< a new file begins at this size; 0: one file
    publish::PublishConfig publish;    ///< for built events, before they go to the next stage
    memory::Kind memory = memory::Kind::host;
    std::vector<ThreadPlan> threads;  ///< of the exchange chain
    WaitPolicy wait = WaitPolicy::sleep;
};

struct ExchangeThreads : ThreadsConfig {
    ExchangeThreads() : ThreadsConfig{.layout = {"generator+readout+builder+manager"}} {}
};

/// For the sections exchange, generator and input, and the layout and cores of the section threads.
extern const Keys<ExchangeNodeConfig> exchange_wait_keys, readout_room_keys, frame_keys, stored_keys;
extern const Keys<ExchangeThreads> exchange_placement_keys;

}  // namespace anello::pipeline
