// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "core/errors.hpp"
#include "trigger/ring_finder.hpp"

namespace anello::trigger {
namespace {

/// Also refuses NaN.
void require_within(const char* field, double value, double least, double most) {
    if (value >= least && value <= most) return;
    throw ConfigError(std::string("trigger.") + field, fmt::format("must lie in [{}, {}]", least, most),
                      fmt::format("{}", value), "see docs/reference/ring-finding.md");
}

void validate(const Acceptance& a) {
    require_within("acceptance.centre_x_mm", a.centre_x_mm, -2000, 2000);
    require_within("acceptance.centre_y_mm", a.centre_y_mm, -2000, 2000);
    require_within("acceptance.centre_max_mm", a.centre_max_mm, 1, 2000);
    require_within("acceptance.radius_min_mm", a.radius_min_mm, 20, 1000);
    require_within("acceptance.radius_max_mm", a.radius_max_mm, a.radius_min_mm + 1, 2000);
}

void validate(const HistogramParameters& h, const Acceptance& a) {
    const double span_mm = a.radius_max_mm - a.radius_min_mm;  // at most 32 bins
    require_within("histogram.half_width_mm", h.half_width_mm, 1, 2000);
    require_within("histogram.bin_mm", h.bin_mm, std::max(1.0, span_mm / 32), 500);
    require_within("histogram.fine_bin_mm", h.fine_bin_mm, std::max(1.0, span_mm / 32), 500);
    require_within("histogram.threshold", h.threshold, 3, max_hits_per_event);
}

void validate(const AlmagestParameters& p) {
    require_within("almagest.min_pair_mm", p.min_pair_mm, 0, 1000);
    require_within("almagest.max_triplet_radius_mm", p.max_triplet_radius_mm, 1, 2000);
    require_within("almagest.ptolemy_mm2", p.ptolemy_mm2, 0, 1e5);
    require_within("almagest.attach_mm", p.attach_mm, 0, 500);
    require_within("almagest.sigma_mm", p.sigma_mm, 0.1, 100);
    require_within("almagest.max_pull2", p.max_pull2, 0.1, 1e6);
    require_within("almagest.max_drops", p.max_drops, 0, max_hits_per_event);
    require_within("almagest.min_ring_hits", p.min_ring_hits, 3, max_hits_per_event);
}

void validate(const SingleParameters& p) {
    for (const float window_mm : p.window_mm) require_within("single.window_mm", window_mm, 1, 500);
    require_within("single.final_window_mm", p.final_window_mm, 1, 500);
    require_within("single.flatness", p.flatness, 0.1, 100);
    require_within("single.geometric_steps", p.geometric_steps, 1, 20);
    require_within("single.count_window_mm", p.count_window_mm, 1, 500);
    require_within("single.min_ring_hits", p.min_ring_hits, 3, max_hits_per_event);
    require_within("single.max_hits", p.max_hits, 0, max_hits_per_event);
    require_within("single.max_unexplained", p.max_unexplained, 0, max_hits_per_event);
    require_within("single.max_unexplained_share", p.max_unexplained_share, 0, 100);
}

void validate(const MultiRingParameters& p) {
    require_within("multiring.min_hits", p.min_hits, 3, max_hits_per_event);
    require_within("multiring.groups", p.groups, 1, 4);
    require_within("multiring.groups_many", p.groups_many, 1, 4);
    require_within("multiring.many_hits", p.many_hits, 0, max_hits_per_event);
    require_within("multiring.triplets_per_lane", p.triplets_per_lane, 1, 64);
    require_within("multiring.triplets_many", p.triplets_many, 1, 64);
    require_within("multiring.draws_per_triplet", p.draws_per_triplet, 1, 8);
    require_within("multiring.seed_window_mm", p.seed_window_mm, 1, 500);
    require_within("multiring.refine_window_mm", p.refine_window_mm, 1, 500);
    require_within("multiring.flatness", p.flatness, 0.1, 100);
    require_within("multiring.distinct_mm", p.distinct_mm, 0.01, 500);
    require_within("multiring.min_strength", p.min_strength, 0.1, max_hits_per_event);
    require_within("multiring.pool_size", p.pool_size, 1, 64);
    require_within("multiring.score_unit", p.score_unit, 1, 15);
    require_within("multiring.score_window_mm", p.score_window_mm, 1, 500);
    require_within("multiring.ring_cost_hits", p.ring_cost_hits, 0.1, 16);
    require_within("multiring.beam_width", p.beam_width, 1, 4);
    require_within("multiring.beam_margin_hits", p.beam_margin_hits, 0, max_hits_per_event);
    require_within("multiring.refit_steps", p.refit_steps, 1, 20);
    require_within("multiring.refit_stride", p.refit_stride, 0.1, 2);
    require_within("multiring.refit_window_mm", p.refit_window_mm, 1, 500);
    require_within("multiring.refit_flatness", p.refit_flatness, 0.1, 100);
    require_within("multiring.refit_background", p.refit_background, 1e-6, 10);
    require_within("multiring.retry_hits", p.retry_hits, 3, 255);
    require_within("multiring.max_retries", p.max_retries, 0, 8);
    require_within("multiring.retry_strength", p.retry_strength, 0, max_hits_per_event);
    require_within("multiring.min_own_hits", p.min_own_hits, 0, max_hits_per_event);
}

}  // namespace

void RingFinderConfig::validate() const {
    trigger::validate(acceptance);
    trigger::validate(histogram, acceptance);
    trigger::validate(almagest);
    trigger::validate(single);
    trigger::validate(multiring);
}

}  // namespace anello::trigger
