// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange_config.hpp"

#include <string>

#include "core/errors.hpp"
#include "core/keys.hpp"
#include "exchange/messages/messages.hpp"

namespace anello::exchange {
namespace {

namespace exchange_table {

using C = ExchangeConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::protocol>("protocol",
                        "push: the manager tells readout units where to send. pull: builders request what they have "
                        "room for. shift: whole rounds, each readout unit starting at the builder after itself."),
    K::of<&C::steps_ahead>("steps_ahead", {0, max_steps_ahead},
                           "shift: messages that a readout unit may be ahead of the slowest one; it has one more under "
                           "way. 0: any number, and two under way."),
    K::of<&C::packing>("packing", {1, 0xffff}, "Events per multi-event packet."),
    K::of<&C::n_meps>("n_meps", {0, 0x1p62}, "Multi-event packets in the run; 0: limited by duration_s."),
    K::of<&C::n_credits>("credits", {1, 65'536}, "Multi-event packets that a builder has room for at a time."),
    K::of<&C::verify_share>("verify_share", share, "Share of the fragments whose checksum a builder verifies."),
};

constexpr std::array times{
    K::of<&C::timeout_ns, ns_per_ms>("timeout_ms", {1, 600'000},
                                     "How long a multi-event packet waits for a missing source, ms."),
    K::of<&C::peer_timeout_ns, ns_per_ms>("peer_timeout_ms", {10, 600'000},
                                          "A node suspended for less than this is not considered dead, one suspended "
                                          "for 1.5 times as long is, ms."),
};

}  // namespace exchange_table

constexpr const char* meaning = "Who builds which events, and how long one waits for another.";

void require(bool holds, const char* field, const char* rule, const std::string& given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, given, remedy);
}

}  // namespace

constinit const Keys<ExchangeConfig> exchange_keys{"exchange", meaning, exchange_table::keys};
constinit const Keys<ExchangeConfig> exchange_time_keys{"exchange", meaning, exchange_table::times};

void ExchangeConfig::validate() const {
    require(self < farm.n_nodes(), "node", "must be below the number of nodes", std::to_string(self),
            "Nodes count from 0.");
    exchange_keys.check(*this);
    require(farm.standby == no_node || n_credits <= built_lately, "exchange.credits",
            "must be at most 65535 where there is a standby", std::to_string(n_credits), "The default is 20.");
    require(max_mfp_bytes > 0, "fabric.max_message_bytes", "must hold a source's part of a multi-event packet",
            std::to_string(max_mfp_bytes), "The default is 1048576.");
    require(timeout_ns > 0, "exchange.timeout_ms", "must be above 0", std::to_string(timeout_ns),
            "The default is 500.");
    require(peer_timeout_ns > 0, "exchange.peer_timeout_ms", "must be above 0", std::to_string(peer_timeout_ns),
            "The default is 1000.");
}

}  // namespace anello::exchange
