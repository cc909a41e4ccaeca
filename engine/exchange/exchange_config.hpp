// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/clock.hpp"
#include "exchange/farm.hpp"
#include "exchange/protocol.hpp"

namespace anello::exchange {

/// What all nodes of one exchange agree on.
struct ExchangeConfig {
    Farm farm;
    Node self = 0;
    Protocol protocol = Protocol::push;
    std::uint32_t run_id = 0;
    std::uint32_t packing = 600;           ///< events of a multi-event packet (MEP)
    std::uint64_t n_meps = 0;              ///< of the run; 0: until stop
    std::uint32_t n_credits = 20;          ///< MEPs that a builder has room for
    std::size_t max_mfp_bytes = 0;         ///< a source's largest part of an MEP
    double verify_share = 0.01;            ///< of the fragments, whose checksum is compared
    Nanoseconds timeout_ns = 500'000'000;  ///< how long an MEP waits for a missing source
    /// The timeout starts with its first part, or one of a later MEP: for sources with their own pace. Otherwise when
    /// it is assigned.
    bool waits_for_data = false;
    Nanoseconds peer_timeout_ns = 1'000'000'000;    ///< a node that is silent for this long is gone
    Nanoseconds start_timeout_ns = 10'000'000'000;  ///< nodes that did not come by then are gone

    void validate() const;  ///< Throws ConfigError.

    bool is_readout() const noexcept { return farm.readout_of[self] != no_unit; }
    bool is_builder() const noexcept { return farm.builder_of[self] != no_unit; }
    bool is_manager() const noexcept { return farm.manager == self; }
};

}  // namespace anello::exchange
