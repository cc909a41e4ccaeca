// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "simulate/farm/farm_host.hpp"

namespace anello::simulate {

/// Whether a fault happened, when, and until when it lasted; it does not happen if the run was over before.
struct FaultTimes {
    Nanoseconds begin_ns = 0, end_ns = 0;
    bool happened = false;
};

/// A farm in virtual time, with its control plane, which starts processes and sends them each other's addresses.
class SimulatedFarm final : private Actor {
  public:
    /// Throws ConfigError.
    explicit SimulatedFarm(const FarmScenario& scenario);

    /// Runs until all processes have ended, or to the scenario's limit. It calls `then` after every event.
    void run(const std::function<void()>& then = {});
    /// Calls this function with each packet that arrives.
    void on_delivery(std::function<void(const Packet&)> told) { network_.on_delivery(std::move(told)); }
    bool is_over() const noexcept;

    const Network& network() const noexcept { return network_; }
    const FarmScenario& scenario() const noexcept { return scenario_; }
    World& world() noexcept { return world_; }
    const World& world() const noexcept { return world_; }
    const std::vector<std::unique_ptr<FarmHost>>& hosts() const noexcept { return hosts_; }
    /// One entry for each fault of the scenario.
    const std::vector<FaultTimes>& fault_times() const noexcept { return fault_times_; }

  private:
    enum class What : std::uint8_t { start, introduce, begin_fault, end_fault };

    void on_event(std::uint64_t what) noexcept override;
    void put_down(Nanoseconds when_ns, What what, std::size_t index);
    void start(Node node);
    void introduce(Node node);
    void introduce(Node node, Node other);
    void tell(Node whom, Node of);
    void begin_fault(std::size_t index);
    void end_fault(std::size_t index);

    const FarmScenario scenario_;
    World world_;
    Network network_;
    source::Random random_;
    std::optional<Cores> cores_;  ///< shared by hosts
    std::vector<std::unique_ptr<FarmHost>> hosts_;
    std::vector<FaultTimes> fault_times_;
    std::vector<bool> has_begun_;  ///< by node: its process knows the others
    std::size_t n_to_start_ = 0;
    bool all_have_come_ = false;  ///< at the rendezvous
};

}  // namespace anello::simulate
