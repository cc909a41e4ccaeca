// SPDX-License-Identifier: Apache-2.0
#include "camera/events/intake_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "core/copy_ahead.hpp"

namespace anello::camera {
namespace {

constexpr std::array modes{CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal};
constexpr std::array reasons{"at the start", "as time had passed", "as datagrams came in another size or number"};
/// A way replaces the usual one only below this share of its cost: otherwise the smallest disturbance would change it.
constexpr double worth_changing = 0.98;

}  // namespace

const char* name_of(CopyMode mode) noexcept {
    return word_of(mode);
}

CameraIntakeChoice::CameraIntakeChoice(CopyMode mode, CpuClock cpu_ns) noexcept
    : copies_{copy_plainly, copy_ahead, choose_copy_past_cache()},
      is_automatic_(mode == CopyMode::automatic),
      way_(is_automatic_ ? 0 : static_cast<std::size_t>(mode) - 1),
      cpu_ns_(cpu_ns) {
    best_ns_per_byte_.fill(std::numeric_limits<double>::max());
    if (!is_automatic_) shown_way_.store(static_cast<std::uint8_t>(way_), std::memory_order_relaxed);
}

void CameraIntakeChoice::try_step(const Amount& taken) noexcept {
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
    if (++step_ <= steps_per_turn / 2) return;  // events opened earlier still use the earlier copy
    turn_ns_ += took_ns;
    turn_bytes_ += taken.bytes;
    if (step_ == steps_per_turn) end_turn();
}

/// Compares sizes of datagrams strictly, as they hardly differ in a run, and numbers per step loosely, as they vary.
bool CameraIntakeChoice::Amount::is_like(const Amount& other) const noexcept {
    const double size = static_cast<double>(bytes) * static_cast<double>(other.datagrams);
    const double other_size = static_cast<double>(other.bytes) * static_cast<double>(datagrams);
    return size < 1.25 * other_size && other_size < 1.25 * size && bytes < 2 * other.bytes && other.bytes < 2 * bytes;
}

void CameraIntakeChoice::watch(const Amount& taken) noexcept {
    block_.add(taken);
    if (++step_ % steps_per_block != 0) return;
    const Amount block = std::exchange(block_, {});
    if (usual_.bytes == 0) usual_ = block;
    if (!block.is_like(usual_))
        begin_trial(Reason::traffic);
    else if (step_ >= steps_between)
        begin_trial(Reason::time);
}

void CameraIntakeChoice::begin_trial(Reason reason) noexcept {
    turn_ = 0;
    step_ = 0;
    reason_ = reason;
    usual_ = {};
    way_ = first_way();
    best_ns_per_byte_.fill(std::numeric_limits<double>::max());
}

/// The best turn of each way counts, as disturbances only make a turn longer.
void CameraIntakeChoice::end_turn() noexcept {
    const double ns_per_byte = static_cast<double>(turn_ns_) / static_cast<double>(turn_bytes_);
    best_ns_per_byte_[way_] = std::min(best_ns_per_byte_[way_], ns_per_byte);
    step_ = 0;
    turn_ns_ = 0;
    turn_bytes_ = 0;
    ++turn_;
    if (is_trying())
        way_ = turn_ % n_tried();
    else
        choose();
}

void CameraIntakeChoice::choose() noexcept {
    const std::span tried = std::span(best_ns_per_byte_).first(n_tried());
    const auto cheapest = static_cast<std::size_t>(std::ranges::min_element(tried) - tried.begin());
    const std::size_t with_usual_size = cheapest % n_copies + first_way();
    way_ = tried[cheapest] < worth_changing * tried[with_usual_size] ? cheapest : with_usual_size;
    for (std::size_t i = 0; i < tried.size(); ++i)
        shown_ns_per_byte_[i].store(static_cast<float>(tried[i]), std::memory_order_relaxed);
    shown_reason_.store(reason_, std::memory_order_relaxed);
    n_trials_.store(n_trials_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    shown_way_.store(static_cast<std::uint8_t>(way_), std::memory_order_relaxed);
}

CopyMode CameraIntakeChoice::chosen_copy() const noexcept {
    const std::uint8_t way = shown_way_.load(std::memory_order_relaxed);
    return way == none ? CopyMode::automatic : modes[way % n_copies];
}

std::string CameraIntakeChoice::describe() const {
    if (!is_automatic_) return name_of(chosen_copy());
    const std::uint8_t way = shown_way_.load(std::memory_order_relaxed);
    if (way == none) return "auto: plain, too little came at a time to try others";
    std::string text = fmt::format("auto: {}", name_of(modes[way % n_copies]));
    if (n_sizes_ > 1) text += fmt::format(", {} kB per call", call_sizes[size_of(way)] >> 10);
    text += fmt::format("; trial {}, {}: a step took", n_trials_.load(std::memory_order_relaxed),
                        reasons[static_cast<std::size_t>(shown_reason_.load(std::memory_order_relaxed))]);
    for (std::size_t i = 0; i < n_copies; ++i) text += (i == 0 ? " " : ", ") + costs_of(i);
    if (n_sizes_ > 1)
        text += fmt::format(", by {}, {} and {} kB per call", call_sizes[0] >> 10, call_sizes[1] >> 10,
                            call_sizes[2] >> 10);
    return text;
}

/// The costs of a copy method for each size of calls, the smallest first.
std::string CameraIntakeChoice::costs_of(std::size_t method) const {
    std::string costs;
    for (std::size_t size = 0; size < n_sizes_; ++size)
        costs += fmt::format("{}{:.3f}", size == 0 ? "" : "/",
                             shown_ns_per_byte_[method + n_copies * size].load(std::memory_order_relaxed));
    return fmt::format("{} ns per byte {}", costs, name_of(modes[method]));
}

}  // namespace anello::camera
