// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "exchange/farm.hpp"
#include "exchange/messages/protocol.hpp"

namespace anello::exchange {

inline constexpr std::uint32_t max_steps_ahead = 64;
inline constexpr std::uint32_t default_packing = 600;  // events of a multi-event packet

/// What all nodes of one exchange agree on.
struct ExchangeConfig {
    Farm farm;
    Node self = 0;
    bool comes_again = false;  ///< in the place of a process that died: it manages nothing
    // exchange_keys and exchange_time_keys say what those mean that have no comment. MEP: multi-event packet.
    Protocol protocol = Protocol::push;
    std::uint32_t run_id = 0;
    std::uint32_t steps_ahead = 4;
    std::uint32_t packing = default_packing;
    std::uint64_t n_meps = 0;
    std::uint32_t n_credits = 20;
    std::size_t max_mfp_bytes = 0;  ///< a source's largest part of an MEP
    /// Of MFPs under way to one builder: enough to hide the time of its answers. What is sent to it later, such as
    /// words to the manager, comes behind them.
    std::size_t in_flight_bytes = std::size_t{512} << 10;
    double verify_share = 0.01;
    Nanoseconds timeout_ns = 500'000'000;
    /// The timeout starts with its first part, or one of a later MEP: for sources with their own pace. Otherwise when
    /// it is assigned.
    bool waits_for_data = false;
    Nanoseconds peer_timeout_ns = 1'000'000'000;
    Nanoseconds start_timeout_ns = 10'000'000'000;  ///< nodes that did not come by then are gone

    void validate() const;  ///< Throws ConfigError.

    bool is_readout() const noexcept { return farm.readout_of[self] != no_unit; }
    bool is_builder() const noexcept { return farm.builder_of[self] != no_unit; }
    /// Where it comes again, too, unless a standby is in charge then.
    bool is_manager() const noexcept { return farm.manager == self && !(comes_again && farm.standby != no_node); }
    /// MEPs that a manager may assign before its standby has heard of those before them: what a takeover may cost where
    /// nobody is left who knows of them.
    std::size_t standby_reserve() const noexcept {
        constexpr std::size_t rounds = 8;
        return farm.standby == no_node ? 0 : farm.builders.size() * (n_credits < rounds ? n_credits : rounds);
    }
    /// MEPs of a builder of whose outcome a standby may not have heard: assigned as far as it knows, and beyond.
    std::size_t n_unheard() const noexcept { return farm.standby == no_node ? 0 : n_credits + standby_reserve(); }
    bool is_standby() const noexcept { return farm.standby == self && !comes_again; }
};

/// Those of times apart: what a user may set is less than what an exchange can do.
extern const Keys<ExchangeConfig> exchange_keys, exchange_time_keys;

}  // namespace anello::exchange
