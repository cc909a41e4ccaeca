// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "simulate/world/world.hpp"

namespace anello::simulate {

/// An activity that runs on a core for some time.
class Runnable {
  public:
    virtual ~Runnable() = default;
    virtual void run_on_core() noexcept = 0;
};

/// Cores that processes share: an activity that finds no free core waits for its turn.
class Cores final : private Actor {
  public:
    /// The world must outlive it.
    Cores(std::uint32_t n_cores, World& world) : n_free_(n_cores), world_(world) {}

    /// Calls run_on_core() now, or when a core is free.
    void run(Runnable& who) {
        if (n_free_ == 0) return waiting_.push_back(&who);
        --n_free_;
        who.run_on_core();
    }
    /// The activity that is running keeps its core until then.
    void hold_until(Nanoseconds when_ns) { world_.at(when_ns, *this, 0); }

  private:
    void on_event(std::uint64_t) noexcept override {
        ++n_free_;
        if (waiting_.empty()) return;
        Runnable& next = *waiting_.front();
        waiting_.pop_front();
        run(next);
    }

    std::uint32_t n_free_;
    World& world_;
    std::deque<Runnable*> waiting_;
};

}  // namespace anello::simulate
