// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "core/words.hpp"
#include "simulate/world/network.hpp"

namespace anello::simulate {

/// crash: the process ends, and its system closes the connections; power: nobody is told; abort: the process is told to
/// end at once, and leaves its record; stop: it does nothing for
/// a while; cut: nothing passes between two nodes; slow_card, slow_core: so many times slower; sink_full: the stage
/// behind the builder takes nothing; source_stuck: the readout card writes nothing; disk_full, disk_slow: of a node
/// that stores what it builds.
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
    Node node = 0, other = 0;   ///< other: of a cut
    Nanoseconds at_ns = 0;      ///< after the begin of the run
    std::uint64_t at_step = 0;  ///< of the node's process, instead of at_ns, where it is not 0
    /// crash, power at a step: within it, after so many packets; never: before it.
    std::uint32_t after_packets = never;
    Nanoseconds lasts_ns = 0;  ///< crash, power, abort: until another process comes in its place; 0: none comes
    double factor = 1;         ///< slow_card, slow_core, disk_slow; disk_full: bytes that there is still room for

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
