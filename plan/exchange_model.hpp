// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <simgrid/s4u.hpp>
#include <vector>

#include "measurement.hpp"
#include "network.hpp"
#include "plan_config.hpp"

namespace anello::plan {

/// A message that a readout unit owes: its part of a MEP, to a builder.
struct Job {
    std::uint32_t mep;
    std::uint32_t builder;
};

/// The exchange of engine/exchange, in which time passes but no data: every node reads out and builds, node 0 also
/// manages. MFPs are messages of SimGrid; control messages are so small that they only take time, at both their ends
/// and on the wire.
class ExchangeModel {
  public:
    ExchangeModel(const PlanConfig& config, Network& network, Measurement& measurement);

    /// Creates SimGrid's actors; Engine::run() does the rest.
    void start();

  private:
    using Jobs = std::vector<Job>;
    struct Readout {
        std::deque<Job> in_order;             ///< push and shift: assigned, to be sent in this order
        std::vector<std::uint32_t> asked_by;  ///< pull: builder that asked, by MEP
        std::deque<Job> jobs;                 ///< may be sent now
        std::uint32_t n_ready = 0, n_sent = 0;
        simgrid::s4u::SemaphorePtr n_jobs, n_free;
        std::mt19937_64 chance;
    };
    struct Builder {
        std::uint32_t n_open = 0, n_held = 0;  ///< MEPs begun, and messages of them
    };
    static constexpr std::uint32_t nobody = 0xffffffff;

    // --- Actors
    void generate(std::uint32_t node);
    void send(std::uint32_t node);
    void manage();

    // --- What happens
    void on_ready(std::uint32_t node);
    void on_assigned(std::uint32_t node, const Jobs& jobs);
    void on_asked(std::uint32_t node, const Jobs& jobs);
    void on_delivered(std::uint32_t from, Job job);
    void release_in_order(Readout& readout);
    void allow(Readout& readout, Job job);

    // --- The manager
    Jobs assign();
    void assign_round(Jobs& assigned);
    void tell_readouts(const Jobs& assigned);
    void tell_builders(const Jobs& assigned);
    void ask_readouts(std::uint32_t builder, const Jobs& jobs);
    void work(double busy_ns);
    Jobs rotated(const Jobs& assigned, std::uint32_t node) const;

    /// Calls `then` after this time.
    template <class Function>
    void after(double delay_ns, Function then);

    const PlanConfig& config_;
    Network& network_;
    Measurement& measurement_;
    std::vector<Readout> readouts_;
    std::vector<Builder> builders_;
    std::vector<std::uint32_t> n_received_;  ///< by MEP
    std::vector<double> first_ready_ns_;     ///< by MEP
    std::vector<std::uint32_t> credits_;     ///< as the manager knows them, by builder
    std::vector<std::uint32_t> returned_;    ///< builders whose credits wait for the manager
    simgrid::s4u::SemaphorePtr n_returned_;
    std::uint32_t next_mep_ = 0, next_builder_ = 0;
};

}  // namespace anello::plan
