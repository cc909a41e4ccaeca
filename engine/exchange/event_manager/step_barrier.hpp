// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::exchange {

/// Keeps readout units in step when each sends its messages in an order of steps: no unit begins a step that is more
/// than `ahead` steps beyond the last one that all have finished. As several steps share the network, this hides the
/// delay of the messages about them. On two levels of switches the units drift apart without the barrier, and collide
/// on links: 32 nodes with messages of 1 MiB use 48 % of the link, and 99 % with it
/// (docs/decisions/0020-step-barrier.md). Units inform each other by dissemination: in phase k a unit informs the one
/// 2^k after it which steps it and all units it has heard of have finished. These numbers only rise, so that a lost or
/// duplicated message does no harm. Only speed depends on the barrier: it does not wait for a dead unit, and in one
/// round waits no longer than the patience in total. No thread; memory is allocated in the constructor.
class StepBarrier {
  public:
    /// `n_steps`: steps in a round; `ahead`: at least 1.
    StepBarrier(std::uint16_t self, std::size_t n_units, std::size_t n_steps, std::uint32_t ahead,
                Nanoseconds patience_ns);

    // Hot path: no allocation, no lock, no log, no throw.
    /// This unit has finished all steps below `step`.
    void finish(std::uint64_t step) noexcept;
    /// Another unit's message. Returns false if it is not valid.
    bool hear(std::uint16_t unit, std::size_t phase, std::uint64_t step) noexcept;
    void set_live(std::uint16_t unit, bool is_live) noexcept;
    enum class Gate : std::uint8_t { open, closed, overruled };
    /// Whether this step may begin. overruled: others are late, but this unit has waited long enough.
    Gate gate(std::uint64_t step, Nanoseconds now_ns) noexcept;

    struct Word {
        std::uint16_t to = 0, phase = 0;
        std::uint64_t step = 0;
    };
    /// Calls `send(word)` for each message that is due. If it returns false, the message is due again.
    template <typename Send>
    void tell(Send send) noexcept {
        for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
            Phase& told = phases_[phase];
            const Word word{told.to, static_cast<std::uint16_t>(phase), known_[phase]};
            if (is_live_[told.to] && word.step > told.told && send(word)) told.told = word.step;
        }
    }

  private:
    struct Phase {
        std::uint16_t to = 0, from = 0;
        std::uint64_t told = 0, heard = 0;
    };

    void learn() noexcept;

    const std::size_t n_steps_;
    const std::uint64_t ahead_, stride_;  ///< stride_: messages are sent every so many steps
    const Nanoseconds patience_ns_;
    std::vector<bool> is_live_;         ///< by unit
    std::vector<Phase> phases_;         ///< as many as needed to reach all units
    std::vector<std::uint64_t> known_;  ///< steps known to be finished, before each phase and after the last
    std::uint64_t round_begin_ = 0;
    Nanoseconds waited_ns_ = 0, since_ns_ = 0;  ///< in this round; since_ns_ > 0: waiting since then
};

}  // namespace anello::exchange
