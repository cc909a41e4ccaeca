// SPDX-License-Identifier: Apache-2.0
#include "camera/events/copy_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/copy_ahead.hpp"

namespace anello::camera {
namespace {

constexpr std::array modes{CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal};

}  // namespace

const char* name_of(CopyMode mode) noexcept {
    return word_of(mode);
}

CameraCopyChoice::CameraCopyChoice(CopyMode mode) noexcept
    : ways_{copy_plainly, copy_ahead, choose_copy_past_cache()},
      current_(mode == CopyMode::automatic ? copy_plainly : ways_[static_cast<std::size_t>(mode) - 1]),
      is_automatic_(mode == CopyMode::automatic),
      chosen_(mode) {
    best_ns_per_byte_.fill(std::numeric_limits<double>::max());
}

void CameraCopyChoice::note(Nanoseconds took_ns, std::uint64_t n_bytes) noexcept {
    ++step_;
    if (turn_ == n_turns) {
        if (step_ < steps_between) return;
        turn_ = 0;
        step_ = 0;
        current_ = ways_[0];
        best_ns_per_byte_.fill(std::numeric_limits<double>::max());
        return;
    }
    if (step_ <= steps_per_turn / 2) return;  // events that began before are copied as they began
    turn_ns_ += took_ns;
    turn_bytes_ += n_bytes;
    if (step_ == steps_per_turn) end_turn();
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
    chosen_.store(modes[best], std::memory_order_relaxed);
}

std::string CameraCopyChoice::describe() const {
    if (!is_automatic_) return name_of(chosen());
    if (chosen() == CopyMode::automatic) return "auto: plain, too little came at a time to try others";
    std::string text = fmt::format("auto: {}; a step took", name_of(chosen()));
    for (std::size_t i = 0; i < n_ways; ++i)
        text += fmt::format("{} {:.3f} ns per byte {}", i == 0 ? "" : ",",
                            shown_ns_per_byte_[i].load(std::memory_order_relaxed), name_of(modes[i]));
    return text;
}

}  // namespace anello::camera
