// SPDX-License-Identifier: Apache-2.0
#include "rings/parameters.hpp"

#include <map>
#include <variant>

#include "core/errors.hpp"

namespace rings {
namespace {

using Target = std::variant<float*, std::uint32_t*>;

std::map<std::string, Target> targets_of(anello::trigger::RingFinderConfig& c) {
    auto& a = c.acceptance;
    auto& h = c.histogram;
    auto& al = c.almagest;
    auto& s = c.single;
    auto& m = c.multiring;
    std::map<std::string, Target> t{
        {"acceptance.centre_x_mm", &a.centre_x_mm},
        {"acceptance.centre_y_mm", &a.centre_y_mm},
        {"acceptance.centre_max_mm", &a.centre_max_mm},
        {"acceptance.radius_min_mm", &a.radius_min_mm},
        {"acceptance.radius_max_mm", &a.radius_max_mm},
        {"histogram.half_width_mm", &h.half_width_mm},
        {"histogram.bin_mm", &h.bin_mm},
        {"histogram.fine_bin_mm", &h.fine_bin_mm},
        {"histogram.threshold", &h.threshold},
        {"almagest.min_pair_mm", &al.min_pair_mm},
        {"almagest.ptolemy_mm2", &al.ptolemy_mm2},
        {"almagest.attach_mm", &al.attach_mm},
        {"almagest.max_pull2", &al.max_pull2},
        {"almagest.max_drops", &al.max_drops},
        {"almagest.min_ring_hits", &al.min_ring_hits},
        {"single.final_window_mm", &s.final_window_mm},
        {"single.flatness", &s.flatness},
        {"single.geometric_steps", &s.geometric_steps},
        {"single.count_window_mm", &s.count_window_mm},
        {"single.min_ring_hits", &s.min_ring_hits},
        {"single.max_hits", &s.max_hits},
        {"single.max_unexplained", &s.max_unexplained},
        {"single.max_unexplained_share", &s.max_unexplained_share},
        {"multiring.min_hits", &m.min_hits},
        {"multiring.groups", &m.groups},
        {"multiring.groups_many", &m.groups_many},
        {"multiring.many_hits", &m.many_hits},
        {"multiring.triplets_per_lane", &m.triplets_per_lane},
        {"multiring.triplets_many", &m.triplets_many},
        {"multiring.draws_per_triplet", &m.draws_per_triplet},
        {"multiring.refine_window_mm", &m.refine_window_mm},
        {"multiring.seed_window_mm", &m.seed_window_mm},
        {"multiring.flatness", &m.flatness},
        {"multiring.distinct_mm", &m.distinct_mm},
        {"multiring.min_strength", &m.min_strength},
        {"multiring.pool_size", &m.pool_size},
        {"multiring.score_unit", &m.score_unit},
        {"multiring.score_window_mm", &m.score_window_mm},
        {"multiring.ring_cost_hits", &m.ring_cost_hits},
        {"multiring.beam_width", &m.beam_width},
        {"multiring.beam_margin_hits", &m.beam_margin_hits},
        {"multiring.refit_steps", &m.refit_steps},
        {"multiring.refit_stride", &m.refit_stride},
        {"multiring.refit_window_mm", &m.refit_window_mm},
        {"multiring.refit_flatness", &m.refit_flatness},
        {"multiring.refit_background", &m.refit_background},
        {"multiring.retry_hits", &m.retry_hits},
        {"multiring.max_retries", &m.max_retries},
        {"multiring.retry_strength", &m.retry_strength},
        {"multiring.min_own_hits", &m.min_own_hits},
    };
    for (std::size_t k = 0; k < std::size(s.window_mm); ++k)
        t["single.window_mm." + std::to_string(k)] = &s.window_mm[k];
    return t;
}

}  // namespace

void set_parameter(anello::trigger::RingFinderConfig& config, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    const std::string name = assignment.substr(0, equals);
    const auto targets = targets_of(config);
    const auto target = targets.find(name);
    if (equals == std::string::npos || target == targets.end()) {
        std::string all;
        for (const auto& [known, _] : targets) all += " " + known;
        throw anello::ConfigError("--set", "must be name=value with one of" + all, assignment, "correct the name");
    }
    const double value = std::stod(assignment.substr(equals + 1));
    std::visit([&](auto* to) { *to = static_cast<std::remove_pointer_t<decltype(to)>>(value); }, target->second);
}

}  // namespace rings
