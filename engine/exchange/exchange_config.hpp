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

/// Configuration that all nodes of one exchange share.
struct ExchangeConfig {
    Farm farm;
    Node self = 0;
    bool comes_again = false;  ///< replaces a process that died: it manages nothing
    // exchange_keys and exchange_time_keys explain the fields that have no comment here. MEP: multi-event packet.
    Protocol protocol = Protocol::push;
    std::uint32_t run_id = 0;
    std::uint32_t steps_ahead = 4;
    std::uint32_t packing = default_packing;
    std::uint64_t n_meps = 0;
    std::uint32_t n_credits = 20;
    std::size_t max_mfp_bytes = 0;  ///< largest part of an MEP from one source
    /// MFPs on their way to one builder: enough to hide the delay of its answers. Later messages to that node, such as
    /// those to the manager, wait in the same queue.
    std::size_t in_flight_bytes = std::size_t{512} << 10;
    double verify_share = 0.01;
    Nanoseconds timeout_ns = 500'000'000;
    /// True: the time-out of an MEP starts with its first part, or with one of a later MEP, for sources with their own
    /// rate. False: it starts when the MEP is assigned.
    bool waits_for_data = false;
    Nanoseconds peer_timeout_ns = 1'000'000'000;
    Nanoseconds start_timeout_ns = 10'000'000'000;  ///< nodes that have not connected by then count as gone

    void validate() const;  ///< Throws ConfigError.

    bool is_readout() const noexcept { return farm.readout_of[self] != no_unit; }
    bool is_builder() const noexcept { return farm.builder_of[self] != no_unit; }
    /// A restarted process manages again, unless a standby took over.
    bool is_manager() const noexcept { return farm.manager == self && !(comes_again && farm.standby != no_node); }
    /// MEPs that a manager may assign before its standby knows of the earlier ones. So many may be lost by a takeover
    /// if no node is left that knows of them.
    std::size_t standby_reserve() const noexcept {
        constexpr std::size_t rounds = 8;
        return farm.standby == no_node ? 0 : farm.builders.size() * (n_credits < rounds ? n_credits : rounds);
    }
    /// MEPs of a builder whose outcome a standby may not know: those assigned as far as it knows, and later ones.
    std::size_t n_unheard() const noexcept { return farm.standby == no_node ? 0 : n_credits + standby_reserve(); }
    bool is_standby() const noexcept { return farm.standby == self && !comes_again; }
};

/// The exchange's keys, and those of its times. The ranges that a user may set are narrower than those an exchange
/// allows.
extern const Keys<ExchangeConfig> exchange_keys, exchange_time_keys;

}  // namespace anello::exchange
