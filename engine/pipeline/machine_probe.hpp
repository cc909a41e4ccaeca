// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "core/latency/hiccup_probe.hpp"
#include "pipeline/runner.hpp"

namespace anello::pipeline {

/// Measures how late the machine wakes a thread, on up to max_cores cores: those of the chain's threads, then others
/// that this thread may use. If the chain has real-time threads, the probes have a higher priority, so that they do not
/// measure the chain's own work.
class MachineProbe {
  public:
    static constexpr std::size_t max_cores = 8;
    static constexpr Nanoseconds idle_nap_ns = 25'000'000;  ///< without data, one of all probes wakes at this interval

    struct OnCore {
        OnCore(int number, bool on_the_way, const HiccupProbe::Config& config, const Clock& clock)
            : core(number), is_on_the_way(on_the_way), probe(config, clock) {}

        int core;
        bool is_on_the_way;  ///< a thread of the chain is pinned there, or no thread is pinned
        HiccupProbe probe;
    };

    /// The clock must outlive it. Throws SystemError.
    MachineProbe(std::span<const ThreadPlan> chain, HiccupProbe::Config config, const Clock& clock);

    ChainPart part();  ///< Runs after the chain and must not outlive this object.
    const std::deque<OnCore>& cores() const noexcept { return cores_; }

  private:
    std::deque<OnCore> cores_;
    bool realtime_ = false;
};

/// Adds a probe to the runner's chain, with this share of each core; null for 0. It must outlive the runner, and the
/// clock must outlive it.
std::unique_ptr<MachineProbe> add_probe(Runner& runner, double share, std::span<const ThreadPlan> chain,
                                        const Clock& clock);

}  // namespace anello::pipeline
