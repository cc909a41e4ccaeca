// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/simulated_farm.hpp"

#include <algorithm>
#include <utility>

#include "exchange/messages/messages.hpp"
#include "wire/mfp.hpp"

namespace anello::simulate {
namespace {

NetworkConfig network_of(const FarmScenario& scenario) {
    NetworkConfig network = scenario.network;
    const std::size_t control_bytes = exchange::entry_bytes * std::max<std::size_t>(256, scenario.n_nodes);
    const std::size_t before_fragments = wire::mfp::max_packet_bytes(scenario.packing, 0, 0);
    if (!scenario.carries_fragments) network.carried_bytes = std::max(control_bytes, before_fragments);
    if (scenario.mfp_bytes > 0)
        network.weight_of = [weight = scenario.mfp_bytes /
                                      FarmProcess::mean_mfp_bytes(scenario)](std::span<const std::byte> header) {
            exchange::MessageHeader message;
            return exchange::read(header, message) && message.type == exchange::MessageType::mfp ? weight : 1.0;
        };
    return network;
}

}  // namespace

SimulatedFarm::SimulatedFarm(const FarmScenario& scenario)
    : scenario_((FarmProcess::check(scenario), scenario)),
      network_(network_of(scenario), world_),
      random_(scenario.seed, 0x706c616e65),
      fault_times_(scenario.faults.size()),
      has_begun_(scenario.n_nodes),
      n_to_start_(scenario.n_nodes) {
    if (scenario.n_cores > 0) cores_.emplace(scenario.n_cores, world_);
    for (Node node = 0; node < scenario.n_nodes; ++node)
        hosts_.push_back(std::make_unique<FarmHost>(scenario_, node, network_, cores_ ? &*cores_ : nullptr));
    for (Node node = 0; node < scenario.n_nodes; ++node) {
        const double late_ns = random_.uniform(0, static_cast<double>(scenario.start_spread_ns));
        put_down(World::begin_ns + static_cast<Nanoseconds>(late_ns), What::start, node);
    }
    for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
        const Fault& fault = scenario.faults[i];
        if (fault.at_step == 0)
            put_down(World::begin_ns + fault.at_ns, What::begin_fault, i);
        else
            hosts_[fault.node]->at_step(fault.at_step, [this, i] { begin_fault(i); });
    }
}

void SimulatedFarm::put_down(Nanoseconds when_ns, What what, std::size_t index) {
    world_.at(when_ns, *this, index << 2 | static_cast<std::uint64_t>(what));
}

void SimulatedFarm::run(const std::function<void()>& then) {
    const Nanoseconds limit_ns = World::begin_ns + scenario_.limit_ns();
    while (!is_over() && world_.monotonic_ns() < limit_ns && world_.step())
        if (then) then();
}

bool SimulatedFarm::is_over() const noexcept {
    return n_to_start_ == 0 &&
           std::none_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->is_running(); });
}

void SimulatedFarm::on_event(std::uint64_t what) noexcept {
    const auto index = static_cast<std::size_t>(what >> 2);
    switch (static_cast<What>(what & 3)) {
        case What::start:
            return start(static_cast<Node>(index));
        case What::introduce:
            return introduce(static_cast<Node>(index));
        case What::begin_fault:
            return begin_fault(index);
        case What::end_fault:
            return end_fault(index);
    }
}

/// No node begins before all are at the rendezvous; a node that starts later, or again, waits for none.
void SimulatedFarm::start(Node node) {
    hosts_[node]->start(all_have_come_);
    has_begun_[node] = false;
    const auto introduce_soon = [this](Node whom) {
        const double told_ns = random_.uniform(0, static_cast<double>(scenario_.told_ns));
        put_down(world_.monotonic_ns() + static_cast<Nanoseconds>(told_ns), What::introduce, whom);
    };
    if (--n_to_start_ > 0 && !all_have_come_) return;
    if (std::exchange(all_have_come_, true)) return introduce_soon(node);
    for (Node whom = 0; whom < scenario_.n_nodes; ++whom) introduce_soon(whom);
}

/// Makes the process known to all earlier ones, and these to the process.
void SimulatedFarm::introduce(Node node) {
    if (!hosts_[node]->is_running() || has_begun_[node]) return;
    has_begun_[node] = true;
    hosts_[node]->begin();
    for (Node other = 0; other < scenario_.n_nodes; ++other)
        if (other != node && hosts_[other]->is_running() && has_begun_[other]) introduce(node, other);
}

void SimulatedFarm::introduce(Node node, Node other) {
    tell(node, other);
    tell(other, node);
}

void SimulatedFarm::tell(Node whom, Node of) {
    const std::uint64_t life = hosts_[of]->process().station().life();
    hosts_[whom]->command([of, life, address = hosts_[of]->process().address()](FarmProcess& process) {
        process.station().connect(of, life, address);
    });
}

void SimulatedFarm::begin_fault(std::size_t index) {
    const Fault& fault = scenario_.faults[index];
    FarmHost& host = *hosts_[fault.node];
    const Nanoseconds now_ns = world_.monotonic_ns(), end_ns = now_ns + fault.lasts_ns;
    if (is_over() || (fault.kind != FaultKind::cut && !host.is_running())) return;
    fault_times_[index] = {now_ns, end_ns, true};
    const bool is_within_step = fault.at_step > 0 && fault.after_packets != Fault::never;
    switch (fault.kind) {
        case FaultKind::crash:
        case FaultKind::power:
            if (is_within_step)
                host.die_within_step(fault.after_packets, fault.kind == FaultKind::power);
            else if (fault.kind == FaultKind::power)
                host.lose_power();
            else
                host.crash();
            break;
        case FaultKind::abort:
            host.abort();
            break;
        case FaultKind::stop:
            host.stop_until(end_ns);
            break;
        case FaultKind::cut:
            network_.cut(fault.node, fault.other);
            network_.cut(fault.other, fault.node);
            break;
        case FaultKind::slow_card:
            network_.slow_down(fault.node, fault.factor);
            break;
        case FaultKind::slow_core:
            host.be_slower(fault.factor);
            break;
        case FaultKind::sink_full:
            host.sink_full_until(end_ns);
            break;
        case FaultKind::source_stuck:
            host.source_stuck_until(end_ns);
            break;
        case FaultKind::disk_full:
            host.disk().have_room_for(static_cast<std::uint64_t>(fault.factor));
            break;
        case FaultKind::disk_slow:
            host.disk().be_slower(fault.factor);
            break;
    }
    n_to_start_ += fault.is_death() && fault.lasts_ns > 0 ? 1 : 0;
    if (!fault.is_death() || fault.lasts_ns > 0) put_down(end_ns, What::end_fault, index);
}

void SimulatedFarm::end_fault(std::size_t index) {
    const Fault& fault = scenario_.faults[index];
    if (fault.is_death()) return start(fault.node);
    if (fault.kind == FaultKind::slow_card) network_.slow_down(fault.node, 1);
    if (fault.kind == FaultKind::slow_core) hosts_[fault.node]->be_slower(1);
    if (fault.kind == FaultKind::disk_full) hosts_[fault.node]->disk().have_room_for(SimulatedDisk::enough_bytes);
    if (fault.kind == FaultKind::disk_slow) hosts_[fault.node]->disk().be_slower(1);
    if (fault.kind != FaultKind::cut) return;
    network_.mend(fault.node, fault.other);
    network_.mend(fault.other, fault.node);
}

}  // namespace anello::simulate
