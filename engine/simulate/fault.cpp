// SPDX-License-Identifier: Apache-2.0
#include "simulate/fault.hpp"

#include <fmt/format.h>

namespace anello::simulate {
namespace {

std::string in_ms(Nanoseconds time_ns) {
    return fmt::format("{:.6g} ms", static_cast<double>(time_ns) * 1e-6);
}

std::string what_happens(const Fault& fault) {
    switch (fault.kind) {
        case FaultKind::crash:
            return fmt::format("node {} crashes", fault.node);
        case FaultKind::power:
            return fmt::format("node {} loses its power", fault.node);
        case FaultKind::abort:
            return fmt::format("node {} is aborted", fault.node);
        case FaultKind::stop:
            return fmt::format("node {} stops", fault.node);
        case FaultKind::cut:
            return fmt::format("the link between nodes {} and {} is cut", fault.node, fault.other);
        case FaultKind::slow_card:
            return fmt::format("the card of node {} is {:.3g} times slower", fault.node, fault.factor);
        case FaultKind::slow_core:
            return fmt::format("the core of node {} is {:.3g} times slower", fault.node, fault.factor);
        case FaultKind::sink_full:
            return fmt::format("the stage after the builder of node {} takes nothing", fault.node);
        case FaultKind::source_stuck:
            return fmt::format("the readout card of node {} gives nothing", fault.node);
        case FaultKind::disk_full:
            return fmt::format("the disk of node {} has room for {:.0f} bytes", fault.node, fault.factor);
        case FaultKind::disk_slow:
            return fmt::format("the disk of node {} is {:.3g} times slower", fault.node, fault.factor);
    }
    return "";
}

}  // namespace

std::string Fault::describe() const {
    std::string when = at_step > 0 ? fmt::format("at step {} of node {}", at_step, node) : "at " + in_ms(at_ns);
    if (after_packets != never) when += fmt::format(", after {} packets", after_packets);
    const std::string what = when + ": " + what_happens(*this);
    if (!is_death()) return what + " for " + in_ms(lasts_ns);
    return what + (lasts_ns > 0 ? ", and comes again after " + in_ms(lasts_ns) : ", and does not come again");
}

}  // namespace anello::simulate
