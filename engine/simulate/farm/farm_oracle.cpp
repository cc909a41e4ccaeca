// SPDX-License-Identifier: Apache-2.0
#include "simulate/farm/farm_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "simulate/world/stored_meps.hpp"

namespace anello::simulate {
namespace {

using exchange::BuilderCounter;
using exchange::EventManager;
using exchange::ManagerCounter;
using exchange::NodeState;
using exchange::ReadoutCounter;

class Oracle {
  public:
    explicit Oracle(const SimulatedFarm& farm)
        : farm_(farm),
          scenario_(farm.scenario()),
          roles_(exchange::parse_roles(scenario_.roles, scenario_.n_nodes)),
          manager_(in_charge(farm, roles_)) {}

    std::vector<std::string> judge() {
        gather();
        check_end();
        check_content();
        check_each_once();
        check_missing();
        check_deaths();
        check_books();
        check_links();
        check_manager();
        check_files();
        return std::move(findings_);
    }

  private:
    /// The manager at the end of the run: the standby, if it took over.
    static const FarmProcess& in_charge(const SimulatedFarm& farm, const exchange::Farm& roles) {
        if (roles.standby != exchange::no_node)
            for (const auto& process : farm.hosts()[roles.standby]->processes())
                if (process->station().manager() != nullptr && process->station().manager()->has_taken_over())
                    return *process;
        return *farm.hosts()[roles.manager]->processes().front();
    }
    bool has_taken_over() const noexcept { return manager_.station().manager()->has_taken_over(); }

    struct One {
        Node node;
        const FarmProcess* process;
        const Built* built;
    };

    template <typename... Arguments>
    void find(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
        constexpr std::size_t enough = 20;
        if (findings_.size() < enough) findings_.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
    }
    double since_begin_ms(Nanoseconds time_ns) const noexcept {
        return static_cast<double>(time_ns - World::begin_ns) * 1e-6;
    }

    void gather() {
        for (Node node = 0; node < scenario_.n_nodes; ++node)
            for (const auto& process : farm_.hosts()[node]->processes())
                if (process->sink() != nullptr)
                    for (const Built& built : process->sink()->built()) all_.push_back({node, process.get(), &built});
    }

    // --- What may go wrong

    bool happened(std::size_t fault) const noexcept { return farm_.fault_times()[fault].happened; }
    template <typename Predicate>
    bool any_fault(Predicate holds) const {
        for (std::size_t i = 0; i < scenario_.faults.size(); ++i)
            if (happened(i) && holds(scenario_.faults[i])) return true;
        return false;
    }
    bool is_touched(Node node) const {
        return any_fault([=](const Fault& fault) { return fault.touches(node); });
    }
    /// A fault that may delay any node was active then, or had ended less than recovery_ns() before.
    bool is_disturbed(Nanoseconds at_ns) const noexcept {
        for (const FaultTimes& times : farm_.fault_times())
            if (times.happened && times.begin_ns <= at_ns && at_ns <= times.end_ns + scenario_.recovery_ns())
                return true;
        return false;
    }
    bool may_have_died(Node node) const {
        return any_fault([=](const Fault& fault) { return fault.is_death() && fault.touches(node); });
    }
    /// Whether the node may be silent long enough for others to rightly take it for dead: for the peer timeout, or for
    /// half of it while a standby takes over.
    bool may_be_silent(Node node) const noexcept {
        const Nanoseconds beside_ns = 3 * scenario_.preempted_ns + 10 * scenario_.network.latency_ns + 20'000'000;
        Nanoseconds silent_ns = beside_ns;  // several pauses may add up
        for (std::size_t i = 0; i < scenario_.faults.size(); ++i) {
            const Fault& fault = scenario_.faults[i];
            if (!happened(i) || !(fault.touches(node) || fault.touches(roles_.manager))) continue;
            if (fault.kind == FaultKind::stop || fault.kind == FaultKind::cut) silent_ns += fault.lasts_ns;
            const bool is_slow = fault.kind == FaultKind::slow_core || fault.kind == FaultKind::slow_card;
            if (is_slow) silent_ns += 2 * fault.lasts_ns;  // includes the time to work off what piled up
        }
        return silent_ns > (has_taken_over() ? scenario_.peer_timeout_ns / 2 : scenario_.peer_timeout_ns);
    }
    bool may_be_taken_for_dead(Node node) const noexcept { return may_have_died(node) || may_be_silent(node); }
    /// All nodes may be left without a manager.
    bool manager_may_fail() const noexcept {
        if (is_rescued()) return false;
        return may_be_taken_for_dead(has_taken_over() ? roles_.standby : roles_.manager);
    }
    /// The manager's process died in the run, nothing else failed, and there was a standby, which takes over.
    bool is_rescued() const noexcept {
        if (roles_.standby == exchange::no_node) return false;
        const auto& processes = farm_.hosts()[roles_.manager]->processes();
        const FarmProcess& first = *processes.front();
        const auto state = first.station().manager()->state();
        const auto* standby = farm_.hosts()[roles_.standby]->processes().front()->station().manager();
        const bool has_begun = state == EventManager::State::running || state == EventManager::State::ending;
        if (!is_dead(roles_.manager, first) || !has_begun || !standby->is_live(roles_.standby)) return false;
        return !any_fault([this](const Fault& fault) { return !fault.is_death() || fault.node != roles_.manager; });
    }
    /// The node was live all the time: started with the others, and never died.
    bool lived_through(Node node) const noexcept {
        const auto& processes = farm_.hosts()[node]->processes();
        return processes.size() == 1 && !is_dead(node, *processes.front());
    }
    /// An emulated card counts time from the start or restart of its process, which then differs from that of the
    /// others; a packet waits no longer than a timeout. Real cards have their numbers from one trigger.
    bool are_in_step() const noexcept {
        if (scenario_.rate_hz == 0) return true;
        const bool all_from_the_begin = std::ranges::all_of(
            roles_.readouts, [this](Node node) { return farm_.hosts()[node]->processes().size() == 1; });
        Nanoseconds first_ns = std::numeric_limits<Nanoseconds>::max();
        for (const One& one : all_) first_ns = std::min(first_ns, one.built->at_ns);
        return all_from_the_begin && std::ranges::none_of(farm_.fault_times(), [=](const FaultTimes& times) {
                   return times.happened && times.begin_ns < first_ns;
               });
    }
    /// The process ended by a fault, not by itself.
    bool is_dead(Node node, const FarmProcess& process) const noexcept {
        return &process != farm_.hosts()[node]->processes().back().get() || !process.is_over();
    }

    // --- What must hold

    void check_end() {
        if (!farm_.is_over())
            find("the run is not over after {:.0f} s", since_begin_ms(farm_.world().monotonic_ns()) * 1e-3);
        for (Node node = 0; node < scenario_.n_nodes; ++node) {
            for (const auto& process : farm_.hosts()[node]->processes()) {
                if (!process->station().failed()) continue;
                if (!manager_may_fail() && !may_be_taken_for_dead(node))
                    find("node {} failed though nothing had happened to it: {}", node, process->station().failure());
                if (process->station().failure().empty()) find("node {} failed and does not say why", node);
            }
        }
    }

    void check_content() {
        for (const One& one : all_) {
            const Built& built = *one.built;
            if (!built.wrong.empty()) find("MEP {} built by node {}: {}", built.mep, one.node, built.wrong);
            if (built.missing.size() != built.n_missing)
                find("MEP {} built by node {} lacks {} parts and says {}", built.mep, one.node, built.missing.size(),
                     built.n_missing);
            if (built.mep >= scenario_.n_meps) find("MEP {} built by node {} is after the last", built.mep, one.node);
        }
    }

    void check_each_once() {
        std::map<std::uint64_t, Node> builder_of;
        for (const One& one : all_) {
            const auto [first, is_new] = builder_of.try_emplace(one.built->mep, one.node);
            if (!is_new) find("MEP {} was built by node {} and by node {}", one.built->mep, first->second, one.node);
        }
        if (manager_may_fail()) return;
        const EventManager& manager = *manager_.station().manager();
        const std::set<std::uint64_t> lost(manager.lost_meps().begin(), manager.lost_meps().end());
        const bool is_whole = manager.failure()[0] == '\0' && !manager_.station().failed();
        for (std::uint64_t mep = 0; is_whole && mep < scenario_.n_meps; ++mep)
            if (!builder_of.contains(mep) && !lost.contains(mep)) find("MEP {} was neither built nor lost", mep);
        for (const std::uint64_t mep : lost)
            if (!has_taken_over() &&
                std::ranges::none_of(roles_.builders, [this](Node node) { return may_be_taken_for_dead(node); }))
                find("MEP {} was lost though no builder had failed", mep);
        const auto is_well = [this](Node node) { return !is_touched(node); };
        std::size_t n_well = 0;
        for (Node node = 0; node < scenario_.n_nodes; ++node) n_well += is_well(node) ? 1 : 0;
        // Without its standby a manager needs half of the nodes or more: the others might follow the standby.
        const bool are_enough = roles_.standby == exchange::no_node || 2 * n_well >= scenario_.n_nodes;
        if (!is_whole && are_enough && std::ranges::any_of(roles_.builders, is_well) &&
            std::ranges::any_of(roles_.readouts, is_well))
            find("the manager ended before its time, with builders and readout units: {}", manager.failure());
    }

    /// With pull a readout unit without free buffers drops MFPs that this builder's former process may have been about
    /// to request. The new process is assigned some of them, and gives them up when no part has arrived for ten
    /// timeouts.
    bool may_lack_what_was_dropped(const One& one) const noexcept {
        const bool has_come_again = one.process != farm_.hosts()[one.node]->processes().front().get();
        const Nanoseconds until_ns = one.process->made_ns() + 11 * scenario_.timeout_ns + scenario_.recovery_ns();
        return scenario_.protocol == exchange::Protocol::pull && has_come_again && one.built->at_ns <= until_ns;
    }

    /// A missing part must have been lost by a fault at that time.
    void check_missing() {
        if (!scenario_.is_lossless() || !are_in_step()) return;
        for (const One& one : all_)
            for (const std::uint16_t source : one.built->missing) {
                const Node from = roles_.readouts[source];
                const bool is_gone = !lived_through(from) || may_be_taken_for_dead(from);
                if (!is_gone && !is_disturbed(one.built->at_ns) && !may_lack_what_was_dropped(one))
                    find("MEP {} built by node {} at {:.3f} ms lacks node {}, and nothing had happened", one.built->mep,
                         one.node, since_begin_ms(one.built->at_ns), from);
            }
    }

    /// No process that reached the end of the run may count as dead for another one, unless it was silent.
    void check_deaths() {
        if (manager_may_fail()) return;
        for (Node node = 0; node < scenario_.n_nodes; ++node)
            for (Node other = 0; other < scenario_.n_nodes; ++other)
                if (has_finished(node) && has_finished(other)) check_death(node, other);
    }
    bool has_finished(Node node) const noexcept {
        return farm_.hosts()[node]->processes().back()->station().finished();
    }
    /// A process that has ended sends nothing: another one that still waits for a lost answer of it may take it for
    /// dead.
    void check_death(Node node, Node other) {
        const FarmProcess& process = *farm_.hosts()[node]->processes().back();
        const FarmProcess& seen = *farm_.hosts()[other]->processes().back();
        const Nanoseconds silent_ns = process.silent_ns(other);  // of this process, not of an earlier one
        const bool is_silent_too_soon =
            silent_ns > seen.made_ns() + 2 * scenario_.told_ns && silent_ns < seen.over_ns();
        const bool is_false = process.station().seen(other) == NodeState::declared_gone || is_silent_too_soon;
        if (is_false && !may_be_silent(node) && !may_be_silent(other))
            find("node {} took node {} for dead, which came to the end", node, other);
    }

    /// Compares each process that left its record: its counters, and what it built.
    void check_books() {
        for (Node node = 0; node < scenario_.n_nodes; ++node) {
            const FarmProcess& process = *farm_.hosts()[node]->processes().back();
            if (!process.has_record()) continue;
            if (const auto* readout = process.station().readout(); readout != nullptr)
                check_readout(node, process, *readout);
            if (const auto* builder = process.station().builder(); builder != nullptr)
                check_builder(node, process, *builder);
        }
    }

    void check_readout(Node node, const FarmProcess& process, const exchange::ReadoutUnit& readout) {
        using enum ReadoutCounter;
        const auto& counters = readout.counters();
        const std::uint64_t outcomes = counters[mfps_sent] + counters[mfps_lost] + counters[mfps_lost_to_dead_builder] +
                                       counters[mfps_too_late] + counters[mfps_before_start] +
                                       counters[mfps_left_at_end] + counters[mfps_in_flight_at_end];
        if (counters[mfps_taken] != outcomes)
            find("node {}: {} MFPs were taken, and {} have an outcome", node, counters[mfps_taken], outcomes);
        const std::uint64_t n_made = process.count("generator", "mfps");
        if (n_made != counters[mfps_taken])
            find("node {}: {} MFPs were made, and {} were taken", node, n_made, counters[mfps_taken]);
    }

    void check_builder(Node node, const FarmProcess& process, const exchange::BuilderUnit& builder) {
        using enum BuilderCounter;
        const auto& counters = builder.counters();
        std::uint64_t n_complete = 0, n_incomplete = 0, n_missing = 0;
        for (const Built& built : process.sink()->built()) {
            ++(built.missing.empty() ? n_complete : n_incomplete);
            n_missing += built.missing.size();
        }
        if (counters[meps_complete] != n_complete || counters[meps_incomplete] != n_incomplete)
            find("node {} counts {} complete and {} incomplete MEPs, and handed on {} and {}", node,
                 counters[meps_complete], counters[meps_incomplete], n_complete, n_incomplete);
        if (counters[meps_opened] != n_complete + n_incomplete + counters[meps_left])
            find("node {} opened {} MEPs, handed on {}, and says that {} are left", node, counters[meps_opened],
                 n_complete + n_incomplete, counters[meps_left]);
        if (process.station().finished() && counters[slots_used] > 0)
            find("node {} finished, and {} of its slots are in use", node, counters[slots_used]);
        const std::uint64_t causes =
            counters[sources_absent] + counters[sources_gone] + counters[sources_spoilt] + counters[sources_timed_out];
        if (counters[sources_missing] != causes)
            find("node {}: {} parts are missing, and {} have a cause", node, counters[sources_missing], causes);
        if (counters[meps_left] == 0 && counters[sources_missing] != n_missing)
            find("node {} counts {} missing parts, and {} are", node, counters[sources_missing], n_missing);
        if (counters[fragments_wrong_checksum] + counters[mfps_malformed] + counters[mfps_wrong] > 0)
            find("node {} found wrong bytes where nothing changes any", node);
    }

    /// Between two processes that ended by themselves, each message with an MFP is accounted for by its number.
    void check_links() {
        for (const Node from : roles_.readouts)
            for (const Node to : roles_.builders) check_link(from, to);
    }
    void check_link(Node from, Node to) {
        const FarmProcess& sender = *farm_.hosts()[from]->processes().back();
        const FarmProcess& receiver = *farm_.hosts()[to]->processes().back();
        if (is_dead(from, sender) || is_dead(to, receiver)) return;
        const auto& readout = *sender.station().readout();
        const auto& builder = *receiver.station().builder();
        const std::uint16_t unit = roles_.readout_of[from], builder_unit = roles_.builder_of[to];
        const auto& arrivals = builder.senders().arrivals(unit);
        if (!readout.is_live(builder_unit) || !builder.senders().is_up(unit))
            return;  // one of them has written the other off
        const std::uint32_t n_sent = readout.n_numbered(builder_unit);
        if (arrivals.newest() > n_sent)
            find("node {} sent {} MFPs to node {}, where number {} came", from, n_sent, to, arrivals.newest());
        if (arrivals.n_come() + arrivals.n_given_up() != arrivals.newest())
            find("of {} MFPs from node {} up to the last that came to node {}, {} came and {} did not",
                 arrivals.newest(), from, to, arrivals.n_come(), arrivals.n_given_up());
        // MFPs of a packet that was given up may still be on their way when the builder ends.
        const std::uint64_t n_missing = static_cast<std::uint64_t>(std::ranges::count_if(
            receiver.sink()->built(), [=](const Built& one) { return std::ranges::count(one.missing, unit) > 0; }));
        const std::uint64_t n_explained = arrivals.newest() + readout.n_in_flight(builder_unit) + n_missing;
        if (scenario_.network.reliable && n_explained < n_sent)
            find("node {} sent {} MFPs to node {}, where {} came, {} were in flight, and {} are missing", from, n_sent,
                 to, arrivals.newest(), readout.n_in_flight(builder_unit), n_missing);
    }

    /// Checks the manager's account of all builders, with the last reports of builders that it had taken for dead.
    void check_manager() {
        if (is_dead(has_taken_over() ? roles_.standby : roles_.manager, manager_)) return;
        const EventManager& manager = *manager_.station().manager();
        const auto& counters = manager.counters();
        using enum ManagerCounter;
        const std::uint64_t outcomes = counters[meps_complete] + counters[meps_incomplete] +
                                       counters[meps_lost_with_builder] + counters[meps_open_at_end];
        if (counters[meps_assigned] != outcomes)
            find("the manager assigned {} MEPs, and {} have an outcome", counters[meps_assigned], outcomes);
        const std::set<std::uint64_t> untold(manager.lost_meps().begin(), manager.lost_meps().end());
        std::uint64_t n_complete = 0, n_incomplete = 0, n_lost = untold.size();
        for (const One& one : all_) {
            ++(one.built->missing.empty() ? n_complete : n_incomplete);
            if (!untold.contains(one.built->mep)) continue;
            --n_lost;
            const auto& last = one.process->station().builder()->output().handed_on();
            if (std::ranges::none_of(last, [&](const auto& is) { return is.is_known && is.mep == one.built->mep; }))
                find("MEP {} is lost for the manager, and node {}, which built it, does not say so", one.built->mep,
                     one.node);
        }
        if (counters[meps_open_at_end] > 0) return;
        if (n_complete + n_incomplete + n_lost != counters[meps_assigned])
            find("{} MEPs were assigned; {} were built complete, {} incomplete, {} lost", counters[meps_assigned],
                 n_complete, n_incomplete, n_lost);
        if (n_complete < counters[meps_complete] || n_incomplete < counters[meps_incomplete])
            find("the manager counts {} complete and {} incomplete MEPs, and {} and {} were built",
                 counters[meps_complete], counters[meps_incomplete], n_complete, n_incomplete);
        if (!any_fault([](const Fault&) { return true; }) && scenario_.is_lossless() &&
            counters[meps_complete] != scenario_.n_meps)
            find("nothing happened, and {} of {} MEPs are complete", counters[meps_complete], scenario_.n_meps);
    }

    /// The packets that builders handed on must be in their files, in that order and unchanged, except for those that a
    /// full disk refused.
    void check_files() {
        if (!scenario_.stores || !scenario_.carries_fragments) return;
        for (Node node = 0; node < scenario_.n_nodes; ++node) {
            const auto& processes = farm_.hosts()[node]->processes();
            for (unsigned life = 0; life < processes.size(); ++life)
                if (processes[life]->sink() != nullptr) check_file(node, life, *processes[life]);
        }
    }
    void check_file(Node node, unsigned life, const FarmProcess& process) {
        const std::string name = FarmProcess::file_name(life);
        const exchange::ExchangeConfig as_usual;
        const StoredMeps stored =
            read_meps(farm_.hosts()[node]->disk(), name, static_cast<std::uint32_t>(roles_.readouts.size()),
                      scenario_.packing, as_usual.run_id);
        const auto happened_here = [&](FaultKind kind) {
            return any_fault([&](const Fault& fault) { return fault.kind == kind && fault.node == node; });
        };
        if (!stored.wrong.empty()) find("{} of node {} {}", name, node, stored.wrong);
        if (process.has_record() && stored.is_cut && !happened_here(FaultKind::power))
            find("{} of node {} ends within a record", name, node);
        const std::vector<Built>& built = process.sink()->built();
        std::size_t n_seen = 0, n_passed_over = 0;
        for (const StoredMep& one : stored.all) {
            while (n_seen < built.size() && built[n_seen].mep != one.mep) ++n_seen, ++n_passed_over;
            if (n_seen == built.size())
                return find("{} of node {} has MEP {}, which it did not build then", name, node, one.mep);
            if (one.checksum != built[n_seen].checksum || one.n_missing != built[n_seen].n_missing)
                find("{} of node {} has another MEP {} than was built", name, node, one.mep);
            ++n_seen;
        }
        if (happened_here(FaultKind::power)) return;  // data that were not on the medium may be lost
        if (n_passed_over > 0 && !happened_here(FaultKind::disk_full))
            find("{} MEPs that node {} built are not in {}, and its disk was not full", n_passed_over, node, name);
        if (!process.has_record()) return;
        const auto& counters = *process.file_counters();
        const std::uint64_t n_lost = counters[store::MepStoreCounter::meps_lost];
        if (stored.all.size() + n_lost != built.size() ||
            counters[store::MepStoreCounter::meps_written] != stored.all.size())
            find("node {} built {} MEPs; it says that it stored {} and lost {}, and {} are in {}", node, built.size(),
                 counters[store::MepStoreCounter::meps_written], n_lost, stored.all.size(), name);
        if (n_lost > 0 && !happened_here(FaultKind::disk_full))
            find("node {} lost {} MEPs for its file, and its disk was not full", node, n_lost);
    }

    const SimulatedFarm& farm_;
    const FarmScenario& scenario_;
    const exchange::Farm roles_;
    const FarmProcess& manager_;
    std::vector<One> all_;
    std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> judge(const SimulatedFarm& farm) {
    return Oracle(farm).judge();
}

}  // namespace anello::simulate
