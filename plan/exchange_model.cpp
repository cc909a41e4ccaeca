// SPDX-License-Identifier: Apache-2.0
#include "exchange_model.hpp"

#include <algorithm>
#include <cmath>
#include <simgrid/kernel/Timer.hpp>

namespace anello::plan {
namespace sg = simgrid::s4u;
namespace {

double now_ns() {
    return sg::Engine::get_clock() * 1e9;
}

void sleep(double duration_ns) {
    if (duration_ns > 0) sg::this_actor::sleep_for(duration_ns * 1e-9);
}

}  // namespace

ExchangeModel::ExchangeModel(const PlanConfig& config, Network& network, Measurement& measurement)
    : config_(config),
      network_(network),
      measurement_(measurement),
      readouts_(config.n_nodes),
      builders_(config.n_nodes),
      n_received_(config.n_meps),
      first_ready_ns_(config.n_meps, -1),
      credits_(config.n_nodes, config.n_credits),
      n_returned_(sg::Semaphore::create(1)) {  // all builders' first credits are there
    for (std::uint32_t node = 0; node < config_.n_nodes; ++node) {
        Readout& readout = readouts_[node];
        readout.n_jobs = sg::Semaphore::create(0);
        readout.n_free = sg::Semaphore::create(config_.n_buffers);
        readout.chance.seed(config_.seed * 1'000'003 + node);
        if (config_.protocol == exchange::Protocol::pull) readout.asked_by.assign(config_.n_meps, nobody);
    }
}

void ExchangeModel::start() {
    sg::Actor::create("manager", network_.host(0), [this] { manage(); })->daemonize();
    for (std::uint32_t node = 0; node < config_.n_nodes; ++node) {
        sg::Host* host = network_.host(node);
        sg::Actor::create("generator", host, [this, node] { generate(node); });
        for (std::uint32_t i = 0; i < config_.n_sends; ++i)
            sg::Actor::create("sender", host, [this, node] { send(node); });
    }
}

template <class Function>
void ExchangeModel::after(double delay_ns, Function then) {
    simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + delay_ns * 1e-9, std::move(then));
}

// --- Readout units
void ExchangeModel::generate(std::uint32_t node) {
    for (std::uint32_t mep = 0; mep < config_.n_meps; ++mep) {
        const double due_ns = mep * config_.mep_interval_ns;
        sleep(due_ns - now_ns());
        readouts_[node].n_free->acquire();
        if (config_.mep_interval_ns > 0) measurement_.behind(now_ns() - due_ns);
        on_ready(node);
    }
}

void ExchangeModel::on_ready(std::uint32_t node) {
    Readout& readout = readouts_[node];
    const std::uint32_t mep = readout.n_ready++;
    if (first_ready_ns_[mep] < 0) first_ready_ns_[mep] = now_ns();
    measurement_.readout_holds(readout.n_ready - readout.n_sent);
    if (config_.protocol != exchange::Protocol::pull) return release_in_order(readout);
    if (readout.asked_by[mep] != nobody) allow(readout, {mep, readout.asked_by[mep]});
}

void ExchangeModel::on_assigned(std::uint32_t node, const Jobs& jobs) {
    Readout& readout = readouts_[node];
    readout.in_order.insert(readout.in_order.end(), jobs.begin(), jobs.end());
    release_in_order(readout);
}

void ExchangeModel::release_in_order(Readout& readout) {
    while (!readout.in_order.empty() && readout.in_order.front().mep < readout.n_ready) {
        allow(readout, readout.in_order.front());
        readout.in_order.pop_front();
    }
}

void ExchangeModel::on_asked(std::uint32_t node, const Jobs& jobs) {
    Readout& readout = readouts_[node];
    for (const Job& job : jobs) {
        readout.asked_by[job.mep] = job.builder;
        if (job.mep < readout.n_ready) allow(readout, job);
    }
}

void ExchangeModel::allow(Readout& readout, Job job) {
    readout.jobs.push_back(job);
    readout.n_jobs->release();
}

void ExchangeModel::send(std::uint32_t node) {
    Readout& readout = readouts_[node];
    std::normal_distribution<double> jitter_ns(0, config_.jitter_ns > 0 ? config_.jitter_ns : 1);
    const auto bytes = static_cast<std::uint64_t>(std::llround(config_.message_bytes));
    while (!measurement_.complete()) {
        readout.n_jobs->acquire();
        if (readout.jobs.empty()) return;  // woken because all is done
        const Job job = readout.jobs.front();
        readout.jobs.pop_front();
        if (config_.jitter_ns > 0) sleep(std::abs(jitter_ns(readout.chance)));
        sg::Comm::sendto(network_.host(node), network_.host(job.builder), bytes);
        ++readout.n_sent;
        readout.n_free->release();
        on_delivered(node, job);
    }
}

// --- Builder units
void ExchangeModel::on_delivered(std::uint32_t from, Job job) {
    Builder& builder = builders_[job.builder];
    if (n_received_[job.mep]++ == 0) ++builder.n_open;
    ++builder.n_held;
    measurement_.builder_holds(builder.n_open, builder.n_held);
    measurement_.delivered(from, job.builder);
    if (n_received_[job.mep] == config_.n_nodes) {
        --builder.n_open;
        builder.n_held -= config_.n_nodes;
        measurement_.built(first_ready_ns_[job.mep]);
        after(config_.per_control_ns + config_.latency_ns, [this, who = job.builder] {
            returned_.push_back(who);
            n_returned_->release();
        });
    }
    if (!measurement_.complete()) return;
    for (Readout& readout : readouts_)
        for (std::uint32_t i = 0; i < config_.n_sends; ++i) readout.n_jobs->release();
}

void ExchangeModel::ask_readouts(std::uint32_t builder, const Jobs& jobs) {
    const auto shared = std::make_shared<const Jobs>(jobs);
    for (std::uint32_t step = 1; step <= config_.n_nodes; ++step) {
        const std::uint32_t node = (builder + step) % config_.n_nodes;
        after(step * config_.per_control_ns + config_.latency_ns, [this, node, shared] { on_asked(node, *shared); });
    }
}

// --- The event manager
void ExchangeModel::manage() {
    while (next_mep_ < config_.n_meps) {
        n_returned_->acquire();
        const std::vector<std::uint32_t> returned = std::move(returned_);
        returned_.clear();
        work(double(returned.size()) * config_.per_control_ns);
        for (const std::uint32_t builder : returned) ++credits_[builder];
        const Jobs assigned = assign();
        if (assigned.empty()) continue;
        if (config_.protocol == exchange::Protocol::pull)
            tell_builders(assigned);
        else
            tell_readouts(assigned);
    }
}

void ExchangeModel::work(double busy_ns) {
    measurement_.manager_worked(busy_ns);
    sleep(busy_ns);
}

ExchangeModel::Jobs ExchangeModel::assign() {
    Jobs assigned;
    if (config_.protocol == exchange::Protocol::shift) {
        assign_round(assigned);
        return assigned;
    }
    for (std::uint32_t without = 0; without < config_.n_nodes && next_mep_ < config_.n_meps;) {
        const std::uint32_t builder = next_builder_++ % config_.n_nodes;
        if (credits_[builder] == 0) {
            ++without;
            continue;
        }
        without = 0;
        --credits_[builder];
        assigned.push_back({next_mep_++, builder});
    }
    return assigned;
}

void ExchangeModel::assign_round(Jobs& assigned) {
    const auto has_none = [](std::uint32_t credit) { return credit == 0; };
    while (next_mep_ < config_.n_meps && std::none_of(credits_.begin(), credits_.end(), has_none))
        for (std::uint32_t builder = 0; builder < config_.n_nodes; ++builder) {
            --credits_[builder];
            assigned.push_back({next_mep_++, builder});
        }
}

void ExchangeModel::tell_readouts(const Jobs& assigned) {
    const bool shift = config_.protocol == exchange::Protocol::shift;
    for (std::uint32_t node = 0; node < config_.n_nodes; ++node)
        after((node + 1) * config_.per_control_ns + config_.latency_ns,
              [this, node, jobs = shift ? rotated(assigned, node) : assigned] { on_assigned(node, jobs); });
    work(config_.n_nodes * config_.per_control_ns);
}

ExchangeModel::Jobs ExchangeModel::rotated(const Jobs& assigned, std::uint32_t node) const {
    Jobs jobs = assigned;
    const auto n = static_cast<std::ptrdiff_t>(config_.n_nodes);
    const std::ptrdiff_t first = (node + 1) % n;
    for (auto round = jobs.begin(); round != jobs.end(); round += n) std::rotate(round, round + first, round + n);
    return jobs;
}

void ExchangeModel::tell_builders(const Jobs& assigned) {
    std::vector<Jobs> by_builder(config_.n_nodes);
    for (const Job& job : assigned) by_builder[job.builder].push_back(job);
    double busy_ns = 0;
    for (std::uint32_t builder = 0; builder < config_.n_nodes; ++builder) {
        if (by_builder[builder].empty()) continue;
        busy_ns += config_.per_control_ns;
        after(busy_ns + config_.latency_ns,
              [this, builder, jobs = std::move(by_builder[builder])] { ask_readouts(builder, jobs); });
    }
    work(busy_ns);
}

}  // namespace anello::plan
