// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "core/keys.hpp"
#include "source/fault_injector.hpp"

namespace anello::source {

/// The keys that all front ends have; each detector adds its own.
inline constexpr std::array fault_order_keys{
    Key<FaultsConfig>::of<&FaultsConfig::loss>("loss", share, "Share of packets that are not sent."),
    Key<FaultsConfig>::of<&FaultsConfig::duplicate>("duplicate", share, "Share of packets that are sent twice."),
    Key<FaultsConfig>::of<&FaultsConfig::reorder>("reorder", share,
                                                  "Share of packets that are sent after their successor."),
};

/// The keys of front ends that can also spoil packets.
inline constexpr auto fault_share_keys = joined(
    fault_order_keys,
    std::array{
        Key<FaultsConfig>::of<&FaultsConfig::corrupt>("corrupt", share, "Share of packets with one byte changed."),
        Key<FaultsConfig>::of<&FaultsConfig::truncate>("truncate", share, "Share of packets cut short."),
    });

}  // namespace anello::source
