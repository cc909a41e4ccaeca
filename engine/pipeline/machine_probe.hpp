// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "core/latency/hiccup_probe.hpp"
#include "pipeline/runner.hpp"

namespace anello::pipeline {

/// How late the machine itself wakes a thread, on each core that a chain may run on: those of its threads, then those
/// that this thread may use, max_cores in all. Where the chain has real-time threads, probes go before them, so that
/// what they measure is not the chain's own work.
class MachineProbe {
  public:
    static constexpr std::size_t max_cores = 8;
    static constexpr Nanoseconds idle_nap_ns = 25'000'000;  ///< while nothing comes one of all probes wakes so often

    struct OnCore {
        OnCore(int number, bool on_the_way, const HiccupProbe::Config& config, const Clock& clock)
            : core(number), is_on_the_way(on_the_way), probe(config, clock) {}

        int core;
        bool is_on_the_way;  ///< a thread of the chain is pinned there, or none is pinned anywhere
        HiccupProbe probe;
    };

    /// The clock must outlive it. Throws SystemError.
    MachineProbe(std::span<const ThreadPlan> chain, HiccupProbe::Config config, const Clock& clock);

    ChainPart part();  ///< To run behind the chain; must not outlive it.
    const std::deque<OnCore>& cores() const noexcept { return cores_; }

  private:
    std::deque<OnCore> cores_;
    bool realtime_ = false;
};

/// Beside the chain that the runner has, for this share of each core; null for 0. It must outlive the runner, and the
/// clock it.
std::unique_ptr<MachineProbe> add_probe(Runner& runner, double share, std::span<const ThreadPlan> chain,
                                        const Clock& clock);

}  // namespace anello::pipeline
