// SPDX-License-Identifier: Apache-2.0
#include "exchange/exchange_config.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace anello::exchange::test {
namespace {

/// Each bound from both sides: the last that is allowed, and the first that is not.
TEST(ExchangeConfig, EachBoundIsWhereItsMessageSays) {
    struct Bound {
        const char* field;
        std::function<void(ExchangeConfig&)> allowed, refused;
    };
    using C = ExchangeConfig;
    const Bound bounds[]{
        {"node", [](C& c) { c.self = 2; }, [](C& c) { c.self = 3; }},
        {"exchange.packing", [](C& c) { c.packing = 1; }, [](C& c) { c.packing = 0; }},
        {"exchange.packing", [](C& c) { c.packing = 65535; }, [](C& c) { c.packing = 65536; }},
        {"exchange.credits", [](C& c) { c.n_credits = 1; }, [](C& c) { c.n_credits = 0; }},
        {"exchange.credits", [](C& c) { c.n_credits = 65536; }, [](C& c) { c.n_credits = 65537; }},
        {"exchange.verify_share", [](C& c) { c.verify_share = 0; }, [](C& c) { c.verify_share = -0.01; }},
        {"exchange.verify_share", [](C& c) { c.verify_share = 1; }, [](C& c) { c.verify_share = 1.01; }},
        {"fabric.max_message_bytes", [](C& c) { c.max_mfp_bytes = 1; }, [](C& c) { c.max_mfp_bytes = 0; }},
        {"exchange.timeout_ms", [](C& c) { c.timeout_ns = 1; }, [](C& c) { c.timeout_ns = 0; }},
        {"exchange.peer_timeout_ms", [](C& c) { c.peer_timeout_ns = 1; }, [](C& c) { c.peer_timeout_ns = 0; }},
    };
    for (const Bound& bound : bounds) {
        ExchangeConfig config;
        config.farm = parse_roles({"all"}, 3);
        config.max_mfp_bytes = 100;
        bound.allowed(config);
        EXPECT_NO_THROW(config.validate()) << bound.field;
        bound.refused(config);
        try {
            config.validate();
            ADD_FAILURE() << bound.field << " is not checked";
        } catch (const ConfigError& error) {
            EXPECT_EQ(error.field(), bound.field);
        }
    }
}

}  // namespace
}  // namespace anello::exchange::test
