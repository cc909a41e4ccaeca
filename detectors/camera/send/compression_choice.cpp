// SPDX-License-Identifier: Apache-2.0
#include "camera/send/compression_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace anello::camera {
namespace {

constexpr std::uint64_t least_bytes = 1;  // in place of 0 for an event without boards

/// The configured steps come first, as other threads use the first candidate until a choice is made.
std::vector<CompressionConfig> candidates_of(const CompressionConfig& config) {
    std::vector<CompressionConfig> candidates{config};
    if (config.choice == CompressionBy::configuration) return candidates;
    const auto add = [&](int level, Shuffle how, bool difference) {
        candidates.push_back(config);
        candidates.back().level = level;
        candidates.back().shuffle = how;
        candidates.back().difference = difference;
    };
    add(0, Shuffle::none, false);
    for (const int level : {1, 3, 6})
        for (const Shuffle how : {Shuffle::none, Shuffle::byte, Shuffle::bit})
            for (const bool difference : {false, true})
                if (config.difference || !difference) add(level, how, difference);
    return candidates;
}

std::string words(const CompressionConfig& config) {
    if (config.level == 0) return "not compressed";
    return fmt::format(
        "zstd {}{}{}", config.level, config.difference ? ", differences" : "",
        config.shuffle == Shuffle::none ? "" : fmt::format(", shuffled by {}s", word_of(config.shuffle)));
}

}  // namespace

CompressionChoice::CompressionChoice(const CompressionConfig& config)
    : budget_us_(config.budget_us),
      candidates_(candidates_of(config)),
      tallies_(candidates_.size()),
      n_tried_(candidates_.size() == 1 ? events_per_candidate : 0) {}

void CompressionChoice::tried(Nanoseconds cpu_ns, const EncodedEvent& made) noexcept {
    Tally& tally = tallies_[n_tried_ % tallies_.size()];
    tally.cpu_ns += static_cast<std::uint64_t>(cpu_ns);
    tally.bytes_in += std::max<std::uint64_t>(made.body_bytes, least_bytes);
    tally.bytes_out += made.is_empty() ? std::numeric_limits<std::uint32_t>::max() : made.size();
    largest_bytes_ = std::max<std::uint64_t>(largest_bytes_, made.body_bytes);
    ++n_tried_;
    if (!is_open()) choose();
}

/// Time per event with all its boards.
double CompressionChoice::us_per_event(const Tally& tally) const noexcept {
    return tally.ns_per_byte() * static_cast<double>(largest_bytes_) * 1e-3;
}

bool CompressionChoice::is_better(const Tally& one, const Tally& other) const noexcept {
    const bool fits = us_per_event(one) <= budget_us_, other_fits = us_per_event(other) <= budget_us_;
    if (fits != other_fits) return fits;
    return fits ? one.share() < other.share() : one.ns_per_byte() < other.ns_per_byte();
}

void CompressionChoice::choose() noexcept {
    const auto best = std::ranges::min_element(
        tallies_, [this](const Tally& one, const Tally& other) { return is_better(one, other); });
    chosen_.store(static_cast<std::size_t>(best - tallies_.begin()), std::memory_order_release);
    has_chosen_.store(true, std::memory_order_release);  // pairs with describe()
}

std::string CompressionChoice::describe() const {
    if (!has_chosen_.load(std::memory_order_acquire)) return "";  // pairs with choose(); tallies stay as they are
    const std::size_t chosen = chosen_.load(std::memory_order_acquire);
    const double us = us_per_event(tallies_[chosen]);
    return fmt::format(
        "{}: {:.0f} % of the bytes for {:.0f} us of a core, {}", words(candidates_[chosen]),
        100 * tallies_[chosen].share(), us,
        us <= budget_us_
            ? fmt::format("the smallest of {} tried within {:.0f} us", candidates_.size(), budget_us_)
            : fmt::format("the fastest of {} tried: none keeps to {:.0f} us", candidates_.size(), budget_us_));
}

}  // namespace anello::camera
