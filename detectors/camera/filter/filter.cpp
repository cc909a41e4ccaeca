// SPDX-License-Identifier: Apache-2.0
#include "camera/filter/filter.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "camera/filter/event_type.hpp"
#include "core/assert.hpp"
#include "core/keys.hpp"
#include "source/random.hpp"

namespace anello::camera {
namespace {

namespace filter_table {

using C = FilterConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::enabled>("enabled", "Reject events without signal; false: keep all."),
    K::of<&C::pixel_threshold>("pixel_threshold", {0.001, 1e9},
                               "Charge above which a pixel counts: above the noise of the simulated "
                               "front ends; light of the night sky may take 250."),
    K::of<&C::charge_threshold>("charge_threshold", {0, 1e9},
                                "Minimum total charge of those pixels; the neighbour condition must hold as well."),
    K::of<&C::neighbours>("neighbours", {1, 7},
                          "Minimum number of such pixels within one pixel and its direct neighbours; 1 switches the "
                          "neighbour condition off."),
    K::of<&C::prescale>("prescale", {0, 0x7fff'ffff}, "One in this many events without signal is kept too; 0: none."),
    K::of<&C::fraction>("fraction", share,
                        "This share of the events without signal is kept too, chosen by event number."),
    K::of<&C::keep_calibration>("keep_calibration",
                                "Pedestals, flat fields and single photo-electrons, by their trigger tag, are kept "
                                "whatever their pixels show."),
    K::of<&C::incomplete>("incomplete",
                          "Events with missing boards: judged by the pixels that are there, kept, rejected."),
    K::of<&C::n_threads>("threads", {-1, 32},
                         "Threads that calibrate and integrate each event side by side, each its boards; 0: the one "
                         "that filters; -1: one for each core."),
};

}  // namespace filter_table

const FilterConfig& validated(const FilterConfig& config) {
    config.validate();
    return config;
}

/// `fraction` of 2^64. For a fraction of 1, is_drawn() keeps all without it.
std::uint64_t share_of_hashes(double fraction) noexcept {
    return fraction >= 1 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(fraction * 0x1p64);
}

/// The counter of each reason, in the order of KeptBy.
constexpr std::array<FilterCounter, 7> counter_of{FilterCounter::rejected_no_signal, FilterCounter::kept_unfiltered,
                                                  FilterCounter::kept_by_signal,     FilterCounter::kept_by_fraction,
                                                  FilterCounter::kept_by_prescale,   FilterCounter::kept_incomplete,
                                                  FilterCounter::kept_calibration};

}  // namespace

constinit const Keys<FilterConfig> filter_keys{
    "camera_filter",
    "The second filter: which events are handed on. Charges are sums of samples above the baseline, in counts.",
    filter_table::keys};

void FilterConfig::validate() const {
    filter_keys.check(*this);
}

CameraFilter::CameraFilter(const FilterConfig& config, const CameraGeometry& geometry, CounterPage& page,
                           const std::string& block_name)
    : config_(validated(config)),
      drawn_below_(share_of_hashes(config.fraction)),
      neighbour_offset_(geometry.neighbour_offset),
      neighbour_(geometry.neighbour),
      is_above_(geometry.n_pixels()),
      above_(geometry.n_pixels()),
      counters_(page.add_block<FilterCounter>(block_name)) {}

void CameraFilter::find_pixels_above(std::span<const float> charge, Verdict& verdict) noexcept {
    for (std::size_t p = 0; p < charge.size(); ++p) is_above_[p] = charge[p] >= config_.pixel_threshold;
    // PERF NOTE: every pixel is written and the place moves on only if it is above: no branch to guess wrong.
    n_above_ = 0;
    for (std::uint32_t p = 0; p < charge.size(); ++p) {
        above_[n_above_] = p;
        n_above_ += is_above_[p];
    }
    double sum = 0;
    for (std::size_t i = 0; i < n_above_; ++i) sum += static_cast<double>(charge[above_[i]]);
    verdict.charge_sum = static_cast<float>(sum);
    verdict.n_pixels_above = static_cast<std::uint16_t>(std::min<std::size_t>(n_above_, 65'535));
}

std::uint8_t CameraFilter::greatest_multiplicity() const noexcept {
    std::uint32_t greatest = 0;
    for (std::size_t i = 0; i < n_above_; ++i) {
        std::uint32_t n = 1;
        const std::uint32_t pixel = above_[i];
        for (std::uint32_t k = neighbour_offset_[pixel]; k < neighbour_offset_[pixel + 1]; ++k)
            n += is_above_[neighbour_[k]];
        greatest = std::max(greatest, n);
    }
    return static_cast<std::uint8_t>(greatest);
}

bool CameraFilter::has_signal(const Verdict& verdict) const noexcept {
    return verdict.charge_sum >= config_.charge_threshold && verdict.multiplicity >= config_.neighbours;
}

bool CameraFilter::is_drawn(const CameraEventView& event) const noexcept {
    const std::uint64_t key = (std::uint64_t{event.run_id} << 32) | event.event_number;
    return config_.fraction >= 1 || source::mix64(key + source::mix64(config_.seed)) < drawn_below_;
}

KeptBy CameraFilter::reason(const CameraEventView& event, const Verdict& verdict) noexcept {
    if (!config_.enabled) return KeptBy::no_filter;
    if (!event.is_complete() && config_.incomplete == IncompletePolicy::keep) return KeptBy::incomplete;
    if (!event.is_complete() && config_.incomplete == IncompletePolicy::reject) return KeptBy::nothing;
    if (config_.keep_calibration && is_calibration(event.trigger_tag)) return KeptBy::calibration;
    if (has_signal(verdict)) return KeptBy::signal;
    if (is_drawn(event)) return KeptBy::fraction;
    if (config_.prescale == 0 || ++since_prescale_ < config_.prescale) return KeptBy::nothing;
    since_prescale_ = 0;
    return KeptBy::prescale;
}

void CameraFilter::count(const CameraEventView& event, const PixelView& pixels, KeptBy kept_by) noexcept {
    const bool by_policy =
        kept_by == KeptBy::nothing && !event.is_complete() && config_.incomplete == IncompletePolicy::reject;
    counters_.add(FilterCounter::events_in);
    counters_.add(kept_by == KeptBy::nothing ? FilterCounter::events_rejected : FilterCounter::events_kept);
    counters_.add(by_policy ? FilterCounter::rejected_incomplete : counter_of[static_cast<std::size_t>(kept_by)]);
    counters_.add(FilterCounter::boards_missing, pixels.n_boards_missing);
    counters_.add(FilterCounter::boards_wrong_shape, pixels.n_boards_wrong_shape);
}

Verdict CameraFilter::decide(const CameraEventView& event, const PixelView& pixels) noexcept {
    ANELLO_ASSERT(pixels.charge.size() == is_above_.size());
    Verdict verdict;
    find_pixels_above(pixels.charge, verdict);
    verdict.multiplicity = greatest_multiplicity();
    verdict.kept_by = reason(event, verdict);
    count(event, pixels, verdict.kept_by);
    return verdict;
}

}  // namespace anello::camera
