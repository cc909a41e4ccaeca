// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange_config.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace anello::exchange {
namespace {

void require(bool holds, const char* field, const char* rule, const std::string& given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, given, remedy);
}

}  // namespace

void ExchangeConfig::validate() const {
    require(self < farm.n_nodes(), "node", "must be below the number of nodes", std::to_string(self),
            "Nodes count from 0.");
    require(packing >= 1 && packing <= 0xffff, "exchange.packing", "must be 1 to 65535", std::to_string(packing),
            "The default is 600.");
    require(n_credits >= 1 && n_credits <= 0x10000, "exchange.credits", "must be 1 to 65536", std::to_string(n_credits),
            "The default is 20.");
    require(verify_share >= 0 && verify_share <= 1, "exchange.verify_share", "must be 0 to 1",
            fmt::format("{}", verify_share), "The default is 0.01.");
    require(max_mfp_bytes > 0, "fabric.max_message_bytes", "must hold a source's part of a multi-event packet",
            std::to_string(max_mfp_bytes), "The default is 1048576.");
    require(timeout_ns > 0, "exchange.timeout_ms", "must be above 0", std::to_string(timeout_ns),
            "The default is 500.");
    require(peer_timeout_ns > 0, "exchange.peer_timeout_ms", "must be above 0", std::to_string(peer_timeout_ns),
            "The default is 1000.");
}

}  // namespace anello::exchange
