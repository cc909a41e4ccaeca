// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/receive_config.hpp"

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::receive {

namespace {

using R = BufferRules;
using S = StreamConfig;

constexpr std::array rules{
    Key<R>::of<&R::policy>("policy",
                           "What happens if no buffer is free: datagrams wait in the kernel's buffer, new datagrams "
                           "are dropped, or the oldest full buffer is overwritten. Losses are counted."),
    Key<R>::of_words<&R::memory, memory::kind_words>("memory",
                                                     "Kind of memory; pinned: page-locked for a CUDA device. If it is "
                                                     "not available, another kind is used and reported."),
};

constexpr std::array of_ports{
    Key<PortsConfig>::of<&PortsConfig::ports>("ports", Limits{}.entries(1, 1024),
                                              "UDP ports to listen on; 0: any free one."),
};

constexpr std::array of_sources{
    Key<SourcesConfig>::of<&SourcesConfig::sources>(
        "sources", Limits{}.entries(0, 1024),
        "Sender of each board: ADDRESS, or ADDRESS:PORT; one entry applies to all boards, empty text leaves a board "
        "open. An open board is bound to the first address that sends for it; its datagrams from other addresses are "
        "counted and not used."),
};

constexpr std::array of_stream{
    Key<S>::of<&S::gathering_time_ns, ns_per_us>(
        "gathering_time_us", {0, 1e6},
        "Gathering time: longest time from the first datagram of a buffer until the buffer is handed on, us; 0: after "
        "each batch of datagrams."),
};

}  // namespace

constinit const Keys<BufferRules> buffer_rules_keys{"receive", "Datagrams from the network, or from a file.", rules};
constinit const Keys<PortsConfig> ports_keys{"receive", "Datagrams from the network, or from a file.", of_ports};
constinit const Keys<SourcesConfig> sources_keys{"receive", "Datagrams from the network, or from a file.", of_sources};
constinit const Keys<StreamConfig> stream_keys{"receive", "Datagrams into persistent buffers, one stream per port.",
                                               of_stream};

const char* name_of(FullPolicy policy) noexcept {
    return word_of(policy);
}

std::vector<SourceAddress> SourcesConfig::of_boards(std::size_t n_boards) const {
    std::vector<SourceAddress> addresses;
    for (const std::string& text : sources) addresses.push_back(parse_source(text));
    if (addresses.size() > 1 && addresses.size() != n_boards)
        throw ConfigError("receive.sources", "must name none, one for all boards, or one for each of them",
                          std::to_string(addresses.size()) + " for " + std::to_string(n_boards) + " boards",
                          "Empty text leaves a board's source open.");
    if (addresses.size() == 1) addresses.resize(n_boards, addresses.front());
    return addresses;
}

void validate(const StreamConfig& config, const BlockShape& shape) {
    stream_keys.check(config);
    if (shape.max_fragments == 0 || shape.max_hits == 0 || shape.max_packets == 0)
        throw ConfigError("shape", "max_fragments, max_hits and max_packets must be at least 1",
                          std::to_string(shape.max_fragments) + ", " + std::to_string(shape.max_hits) + ", " +
                              std::to_string(shape.max_packets),
                          "A block must hold the largest packet of its stream; longer ones count as too_many_hits.");
}

}  // namespace anello::receive
