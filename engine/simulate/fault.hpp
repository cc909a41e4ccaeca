// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "simulate/world/network.hpp"

namespace anello::simulate {

/// crash: the process ends, and its system closes the connections; power: the machine fails without a message to
/// anyone; abort: the process is requested to end at once, and leaves its record; stop: it does nothing for some time;
/// cut: nothing passes between two nodes; slow_card, slow_core: slower by a factor; sink_full: the stage after the
/// builder takes nothing; source_stuck: the readout card writes nothing; disk_full, disk_slow: concern a node that
/// stores what it builds.
enum class FaultKind : std::uint8_t {
    crash,
    power,
    abort,
    stop,
    cut,
    slow_card,
    slow_core,
    sink_full,
    source_stuck,
    disk_full,
    disk_slow
};

struct Fault {
    static constexpr std::uint32_t never = 0xffffffff;
    FaultKind kind = FaultKind::crash;
    Node node = 0, other = 0;   ///< other: the second node of a cut
    Nanoseconds at_ns = 0;      ///< after the begin of the run
    std::uint64_t at_step = 0;  ///< if not 0: at this step of the node's process, instead of at_ns
    /// crash and power at a step: within it, after so many packets are sent; never: before it.
    std::uint32_t after_packets = never;
    Nanoseconds lasts_ns = 0;  ///< crash, power, abort: until another process replaces it; 0: none does
    double factor = 1;         ///< of slow_card, slow_core and disk_slow; disk_full: bytes that still have room

    bool is_of_disk() const noexcept { return kind >= FaultKind::disk_full; }
    bool is_death() const noexcept { return kind <= FaultKind::abort; }
    bool touches(Node which) const noexcept { return node == which || (kind == FaultKind::cut && other == which); }
    std::string describe() const;  ///< "at 12.5 ms: node 2 stops for 300 ms"
};

}  // namespace anello::simulate

namespace anello {

template <>
inline constexpr std::array<const char*, 11> words_of<simulate::FaultKind>{
    "crash",     "power",     "abort",        "stop",      "cut",      "slow_card",
    "slow_core", "sink_full", "source_stuck", "disk_full", "disk_slow"};

}  // namespace anello
