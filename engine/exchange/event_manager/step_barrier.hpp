// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.hpp"

namespace anello::exchange {

/// Keeps readout units in step, where each sends its messages in an order of steps: none begins one that is more than
/// so many ahead of what all have finished. As several steps share the network, that hides the time that words about
/// them take. On two levels of switches units drift apart without it, and then meet at links: 32 nodes carry 48 % of
/// the link with messages of 1 MiB, and 99 % with it (docs/decisions/0020-step-barrier.md).
///
/// Units tell each other by dissemination: in phase k a unit tells the one 2^k behind it what all of whom it knows have
/// finished, itself first. Words only rise, so that one that is lost or doubled does no harm. Nothing but speed depends
/// on any of it: who is dead is not waited for, nor anybody for longer than the patience in all of a round. No thread;
/// memory is taken in the constructor.
class StepBarrier {
  public:
    /// `n_steps`: of a round; `ahead`: at least 1.
    StepBarrier(std::uint16_t self, std::size_t n_units, std::size_t n_steps, std::uint32_t ahead,
                Nanoseconds patience_ns);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Of this unit, all steps below are finished.
    void finish(std::uint64_t step) noexcept;
    /// A unit's word. False where it is none that can be.
    bool hear(std::uint16_t unit, std::size_t phase, std::uint64_t step) noexcept;
    void set_live(std::uint16_t unit, bool is_live) noexcept;
    enum class Gate : std::uint8_t { open, closed, overruled };
    /// Whether this step may begin; overruled: others are behind, and have been waited for long enough.
    Gate gate(std::uint64_t step, Nanoseconds now_ns) noexcept;

    struct Word {
        std::uint16_t to = 0, phase = 0;
        std::uint64_t step = 0;
    };
    /// Calls `send(word)` with each that is to be told; it returns whether that was done, else it comes again.
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
    const std::uint64_t ahead_, stride_;  ///< stride_: words are about every so manieth step
    const Nanoseconds patience_ns_;
    std::vector<bool> is_live_;         ///< by unit
    std::vector<Phase> phases_;         ///< as many as it takes to reach all
    std::vector<std::uint64_t> known_;  ///< before each phase, and after the last: what is known to be finished
    std::uint64_t round_begin_ = 0;
    Nanoseconds waited_ns_ = 0, since_ns_ = 0;  ///< in this round; since_ns_ > 0: it waits
};

}  // namespace anello::exchange
