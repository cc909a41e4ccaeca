// SPDX-License-Identifier: Apache-2.0
#include "camera/events/copy_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/copy_ahead.hpp"

namespace anello::camera {
namespace {

constexpr std::array modes{CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal};
constexpr std::array reasons{"at the start", "as time had passed", "as datagrams came in another size or number"};

}  // namespace

const char* name_of(CopyMode mode) noexcept {
    return word_of(mode);
}

CameraCopyChoice::CameraCopyChoice(CopyMode mode, CpuClock cpu_ns) noexcept
    : ways_{copy_plainly, copy_ahead, choose_copy_past_cache()},
      current_(mode == CopyMode::automatic ? copy_plainly : ways_[static_cast<std::size_t>(mode) - 1]),
      is_automatic_(mode == CopyMode::automatic),
      cpu_ns_(cpu_ns),
      chosen_(mode) {
    best_ns_per_byte_.fill(std::numeric_limits<double>::max());
}

void CameraCopyChoice::try_step(const Amount& taken) noexcept {
    const bool says_something = taken.bytes >= least_step_bytes;
    n_small_ = says_something ? 0 : std::min(n_small_ + 1, small_steps_timed);
    if (n_small_ == small_steps_timed) {
        looked_ns_ = unknown_ns;
        return;
    }
    const Nanoseconds now_ns = cpu_ns_();
    const Nanoseconds began_ns = std::exchange(looked_ns_, now_ns);
    if (!says_something || began_ns == unknown_ns) return;
    const Nanoseconds took_ns = now_ns - began_ns;
    if (++step_ <= steps_per_turn / 2) return;  // events that began before are copied as they began
    turn_ns_ += took_ns;
    turn_bytes_ += taken.bytes;
    if (step_ == steps_per_turn) end_turn();
}

/// Sizes of datagrams hardly differ in a run; how many come at a time does, by chance.
bool CameraCopyChoice::Amount::is_like(const Amount& other) const noexcept {
    const double size = static_cast<double>(bytes) * static_cast<double>(other.datagrams);
    const double other_size = static_cast<double>(other.bytes) * static_cast<double>(datagrams);
    return size < 1.25 * other_size && other_size < 1.25 * size && bytes < 2 * other.bytes && other.bytes < 2 * bytes;
}

void CameraCopyChoice::watch(const Amount& taken) noexcept {
    block_.add(taken);
    if (++step_ % steps_per_block != 0) return;
    const Amount block = std::exchange(block_, {});
    if (usual_.bytes == 0) usual_ = block;
    if (!block.is_like(usual_))
        begin_trial(Reason::traffic);
    else if (step_ >= steps_between)
        begin_trial(Reason::time);
}

void CameraCopyChoice::begin_trial(Reason reason) noexcept {
    turn_ = 0;
    step_ = 0;
    reason_ = reason;
    usual_ = {};
    current_ = ways_[0];
    best_ns_per_byte_.fill(std::numeric_limits<double>::max());
}

/// The best turn of each copy method counts: disturbances only make it longer.
void CameraCopyChoice::end_turn() noexcept {
    const std::size_t way = turn_ % n_ways;
    const double ns_per_byte = static_cast<double>(turn_ns_) / static_cast<double>(turn_bytes_);
    best_ns_per_byte_[way] = std::min(best_ns_per_byte_[way], ns_per_byte);
    step_ = 0;
    turn_ns_ = 0;
    turn_bytes_ = 0;
    if (++turn_ == n_turns)
        choose();
    else
        current_ = ways_[turn_ % n_ways];
}

void CameraCopyChoice::choose() noexcept {
    const auto best = static_cast<std::size_t>(std::min_element(best_ns_per_byte_.begin(), best_ns_per_byte_.end()) -
                                               best_ns_per_byte_.begin());
    current_ = ways_[best];
    for (std::size_t i = 0; i < n_ways; ++i)
        shown_ns_per_byte_[i].store(static_cast<float>(best_ns_per_byte_[i]), std::memory_order_relaxed);
    shown_reason_.store(reason_, std::memory_order_relaxed);
    n_trials_.store(n_trials_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    chosen_.store(modes[best], std::memory_order_relaxed);
}

std::string CameraCopyChoice::describe() const {
    if (!is_automatic_) return name_of(chosen());
    if (chosen() == CopyMode::automatic) return "auto: plain, too little came at a time to try others";
    std::string text =
        fmt::format("auto: {}; trial {}, {}: a step took", name_of(chosen()), n_trials_.load(std::memory_order_relaxed),
                    reasons[static_cast<std::size_t>(shown_reason_.load(std::memory_order_relaxed))]);
    for (std::size_t i = 0; i < n_ways; ++i)
        text += fmt::format("{} {:.3f} ns per byte {}", i == 0 ? "" : ",",
                            shown_ns_per_byte_[i].load(std::memory_order_relaxed), name_of(modes[i]));
    return text;
}

}  // namespace anello::camera
