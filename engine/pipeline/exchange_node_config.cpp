// SPDX-License-Identifier: Apache-2.0
#include "pipeline/exchange_node_config.hpp"

#include "core/keys.hpp"
#include "pipeline/thread_keys.hpp"

namespace anello::pipeline {
namespace {

using C = ExchangeNodeConfig;
using K = Key<C>;

constexpr std::array wait_words{"spin", "adaptive"};  // the words of WaitPolicy with neighbours on the machine

constexpr std::array waiting{
    K::of_words<&C::wait, wait_words>(
        "wait",
        "What a thread does without work. spin: it uses a whole core; adaptive: it spins briefly, then sleeps."),
};

constexpr std::array room{
    K::of<&C::n_buffers>("n_buffers", {2, 65'536}, "Buffers of a readout unit, one multi-event packet each."),
};

constexpr std::array framing{
    K::of<&C::frame_ticks>(
        "frame_ticks", {16, 65'536},
        "Input merged by time: length of a time frame, which is the exchange's event, ticks of 24.951 ns."),
};

constexpr std::array storing{
    K::of<&C::max_file_bytes>("max_file_bytes", {0, 1e15},
                              "Size in bytes after which a new file (-0001, -0002 ...) begins; 0: one file."),
};

}  // namespace

constinit const Keys<ExchangeNodeConfig> exchange_wait_keys{
    "exchange", "Who builds which events, and how long one waits for another.", waiting};
constinit const Keys<ExchangeNodeConfig> readout_room_keys{"generator",
                                                           "The emulated readout card of each readout unit.", room};
constinit const Keys<ExchangeNodeConfig> frame_keys{"input", "Where the readout units' data comes from.", framing};
constinit const Keys<ExchangeNodeConfig> stored_keys{"output", "What is done with events that are built.", storing};
constinit const Keys<ExchangeThreads> exchange_placement_keys{"threads", threads_meaning,
                                                              placement_keys<ExchangeThreads, exchange_chain>};

}  // namespace anello::pipeline
