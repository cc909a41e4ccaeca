// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucontext.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

namespace fibers {

inline constexpr unsigned n_lanes = 16;

/// In which order the lanes run from one meeting to the next. A kernel whose threads meet where they must gives the
/// same result in all of them.
enum class Order : std::uint8_t { first_ahead, last_ahead, random };

/// Sixteen fibers in the place of a CUDA half warp: each runs alone until it meets the others in a collective
/// operation, as far ahead of them as the kernel allows.
class FiberTeam {
  public:
    /// Runs lane_work on every lane; false when lanes met in different operations or some ended while others waited.
    static bool run(Order order, std::uint64_t seed, const std::function<void()>& lane_work) {
        FiberTeam team(order, seed, lane_work);
        current() = &team;
        team.schedule();
        current() = nullptr;
        return team.in_step_;
    }

    static unsigned lane() { return current()->lane_; }
    static void sync() { current()->meet('s', 0); }
    static std::uint32_t ballot(bool mine) {
        const auto& all = current()->meet('b', mine ? 1 : 0);
        std::uint32_t bits = 0;
        for (unsigned k = 0; k < n_lanes; ++k) bits |= all[k] << k;
        return bits;
    }
    static float exchange(float mine, int distance) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &mine, sizeof bits);
        const std::uint32_t other = current()->meet('x', bits)[current()->lane_ ^ static_cast<unsigned>(distance)];
        float result = 0;
        std::memcpy(&result, &other, sizeof result);
        return result;
    }
    template <class T, class Tag>
    static T& room() {
        static T room;
        return room;
    }

  private:
    using Values = std::array<std::uint32_t, n_lanes>;
    static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

    FiberTeam(Order order, std::uint64_t seed, const std::function<void()>& lane_work)
        : order_(order), random_(seed), lane_work_(lane_work), stacks_(new std::byte[n_lanes * stack_bytes]) {
        for (unsigned k = 0; k < n_lanes; ++k) {
            getcontext(&lanes_[k]);
            lanes_[k].uc_stack.ss_sp = &stacks_[k * stack_bytes];
            lanes_[k].uc_stack.ss_size = stack_bytes;
            lanes_[k].uc_link = &scheduler_;
            makecontext(&lanes_[k], &FiberTeam::lane_main, 0);
        }
    }

    static FiberTeam*& current() {
        static FiberTeam* team = nullptr;
        return team;
    }

    static void lane_main() {
        current()->lane_work_();
        current()->met_in_[current()->lane_] = 'E';
    }

    /// Each round takes every lane to its next meeting.
    void schedule() {
        std::array<unsigned, n_lanes> turn{};
        std::iota(turn.begin(), turn.end(), 0U);
        if (order_ == Order::last_ahead) std::iota(turn.rbegin(), turn.rend(), 0U);
        do {
            if (order_ == Order::random) std::shuffle(turn.begin(), turn.end(), random_);
            for (const unsigned lane : turn) {
                lane_ = lane;
                swapcontext(&scheduler_, &lanes_[lane]);
            }
            parity_ ^= 1U;
            for (const char operation : met_in_) in_step_ = in_step_ && operation == met_in_[0];
        } while (in_step_ && met_in_[0] != 'E');
    }

    /// Waits for all lanes in this operation; what each has brought.
    const Values& meet(char operation, std::uint32_t mine) {
        const unsigned parity = parity_;
        met_in_[lane_] = operation;
        brought_[parity][lane_] = mine;
        swapcontext(&lanes_[lane_], &scheduler_);
        return brought_[parity];
    }

    Order order_;
    std::mt19937_64 random_;
    const std::function<void()>& lane_work_;
    std::unique_ptr<std::byte[]> stacks_;
    std::array<ucontext_t, n_lanes> lanes_{};
    ucontext_t scheduler_{};
    unsigned lane_ = 0, parity_ = 0;
    std::array<Values, 2> brought_{};
    std::array<char, n_lanes> met_in_{};
    bool in_step_ = true;
};

}  // namespace fibers
