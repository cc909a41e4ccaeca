// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/keys.hpp"
#include "rich/rings/ring_finder.hpp"

namespace anello::rich {
namespace {

using A = Acceptance;
constexpr std::array acceptance = for_experts(std::array{
    Key<A>::of<&A::centre_x_mm>("centre_x_mm", {-2000, 2000}, "Middle of the region of ring centres, x."),
    Key<A>::of<&A::centre_y_mm>("centre_y_mm", {-2000, 2000}, "Middle of the region of ring centres, y."),
    Key<A>::of<&A::centre_max_mm>("centre_max_mm", {1, 2000}, "Maximum distance of a centre from that middle."),
    Key<A>::of<&A::radius_min_mm>("radius_min_mm", {20, 1000}, "Minimum radius."),
    Key<A>::of<&A::radius_max_mm>("radius_max_mm", {21, 2000}, "Maximum radius."),
});

using H = HistogramParameters;
constexpr std::array histogram = for_experts(std::array{
    Key<H>::of<&H::half_width_mm>("half_width_mm", {1, 2000}, "Half the side of the grid."),
    Key<H>::of<&H::bin_mm>("bin_mm", {1, 500}, "Bin of the distance histogram, 8x8 stage."),
    Key<H>::of<&H::fine_bin_mm>("fine_bin_mm", {1, 500}, "Bin of the distance histogram, 2x2 stage."),
    Key<H>::of<&H::threshold>("threshold", {3, max_hits_per_event},
                              "Minimum number of hits in a bin that make a ring."),
});

using P = AlmagestParameters;
constexpr std::array almagest = for_experts(std::array{
    Key<P>::of<&P::min_pair_mm>("min_pair_mm", {0, 1000}, "Minimum distance between two hits of a triplet."),
    Key<P>::of<&P::max_triplet_radius_mm>("max_triplet_radius_mm", {1, 2000}, "Maximum circumradius of a triplet."),
    Key<P>::of<&P::ptolemy_mm2>("ptolemy_mm2", {0, 1e5}, "Maximum Ptolemy value of a fourth hit, mm^2."),
    Key<P>::of<&P::attach_mm>("attach_mm", {0, 500}, "Hits this close to the fitted circle join."),
    Key<P>::of<&P::sigma_mm>("sigma_mm", {0.1, 100}, "Resolution of a single hit."),
    Key<P>::of<&P::max_pull2>("max_pull2", {0.1, 1e6}, "The worst hit is dropped while its squared pull exceeds this."),
    Key<P>::of<&P::max_drops>("max_drops", {0, max_hits_per_event}, "Maximum number of hits dropped from a ring."),
    Key<P>::of<&P::min_ring_hits>("min_ring_hits", {3, max_hits_per_event}, "Minimum number of hits of a ring."),
});

using S = SingleParameters;
constexpr std::array single = for_experts(std::array{
    Key<S>::of<&S::window_mm>("window_mm", Limits{1, 500}.entries(5, 5),
                              "Distance from the ring where a hit's weight is 0, for each of the five fits."),
    Key<S>::of<&S::final_window_mm>("final_window_mm", {1, 500}, "The same for the geometric steps."),
    Key<S>::of<&S::flatness>("flatness", {0.1, 100}, "A hit weighs min(1, flatness * (1 - (miss / window)^2))."),
    Key<S>::of<&S::geometric_steps>("geometric_steps", {1, 20}, "Geometric steps after the fits."),
    Key<S>::of<&S::count_window_mm>("count_window_mm", {1, 500}, "The ring explains hits this close to it."),
    Key<S>::of<&S::min_ring_hits>("min_ring_hits", {3, max_hits_per_event}, "Minimum number of hits of a ring."),
    Key<S>::of<&S::max_hits>("max_hits", {0, max_hits_per_event},
                             "Events of more hits go to the search for several rings at once."),
    Key<S>::of<&S::max_unexplained>("max_unexplained", {0, max_hits_per_event},
                                    "Events with more unexplained hits go there afterwards."),
    Key<S>::of<&S::max_unexplained_share>("max_unexplained_share", {0, 100},
                                          "The same, as a share of the explained hits."),
});

using M = MultiRingParameters;
constexpr std::array multiring = for_experts(std::array{
    Key<M>::of<&M::min_hits>("min_hits", {3, max_hits_per_event}, "Events of fewer hits have no ring."),
    Key<M>::of<&M::groups>("groups", {1, 4}, "Groups of 16 candidates."),
    Key<M>::of<&M::groups_many>("groups_many", {1, 4}, "The same for events of more than many_hits hits."),
    Key<M>::of<&M::many_hits>("many_hits", {0, max_hits_per_event}, "Above this many hits an event has many."),
    Key<M>::of<&M::triplets_per_lane>("triplets_per_lane", {1, 64}, "Triplets tried for each candidate."),
    Key<M>::of<&M::triplets_many>("triplets_many", {1, 64}, "The same for events of more than many_hits hits."),
    Key<M>::of<&M::draws_per_triplet>("draws_per_triplet", {1, 8}, "Draws for one triplet that may be a ring."),
    Key<M>::of<&M::seed_window_mm>("seed_window_mm", {1, 500}, "Hits this close to a triplet's circle support it."),
    Key<M>::of<&M::refine_window_mm>("refine_window_mm", {1, 500},
                                     "Distance where a hit's weight is 0 when candidates are refined."),
    Key<M>::of<&M::flatness>("flatness", {0.1, 100}, "Of these weights, as trigger.single.flatness."),
    Key<M>::of<&M::distinct_mm>("distinct_mm", {0.01, 500},
                                "Candidates closer than this, centre and radius together, are one."),
    Key<M>::of<&M::min_strength>("min_strength", {0.1, max_hits_per_event}, "Hits that a candidate must explain."),
    Key<M>::of<&M::pool_size>("pool_size", {1, 32}, "Maximum number of candidates that are kept."),
    Key<M>::of<&M::score_unit>("score_unit", {1, 15}, "Steps of a hit's score."),
    Key<M>::of<&M::score_window_mm>("score_window_mm", {1, 500}, "A hit scores 1 - (miss / window)^2."),
    Key<M>::of<&M::ring_cost_hits>("ring_cost_hits", {0.1, 16}, "Hits that a ring must explain beyond the others."),
    Key<M>::of<&M::beam_width>("beam_width", {1, 4}, "Sets of rings that are followed at a time."),
    Key<M>::of<&M::beam_margin_hits>("beam_margin_hits", {0, max_hits_per_event},
                                     "A set that scores this many hits less than the best of its size is given up."),
    Key<M>::of<&M::refit_steps>("refit_steps", {1, 20}, "Steps of the common refit."),
    Key<M>::of<&M::refit_stride>("refit_stride", {0.1, 2},
                                 "Length of a step: rings that share hits draw each other along."),
    Key<M>::of<&M::refit_widening>("refit_widening", {0, 3},
                                   "The first step sees rings wider by this share, the last as they are."),
    Key<M>::of<&M::min_own_hits>("min_own_hits", {0, max_hits_per_event},
                                 "Hits that a ring must explain by itself after the refit."),
    Key<M>::of<&M::retry_hits>("retry_hits", {3, 255},
                               "With this many hits unexplained they are searched, and the rings are chosen again."),
    Key<M>::of<&M::max_retries>("max_retries", {0, 8}, "Maximum number of such searches."),
    Key<M>::of<&M::retry_strength>("retry_strength", {0, max_hits_per_event},
                                   "Unexplained hits that a candidate must explain, or the search ends."),
    Key<M>::of<&M::doubt_share>("doubt_share", {0, 10},
                                "Rings of fewer hits than this share of yield_hits are looked for anew."),
    Key<M>::of<&M::doubt_rest_hits>("doubt_rest_hits", {0, max_hits_per_event},
                                    "They are where at least so many hits belong to no ring."),
    Key<M>::of<&M::max_restarts>("max_restarts", {0, 6}, "Maximum number of rings looked for anew, the poorest first."),
    Key<M>::of<&M::max_exchanges>("max_exchanges", {0, 8},
                                  "Maximum number of candidates that take a ring's place, or are added to the rings, "
                                  "where the hits are likelier then."),
    Key<M>::of<&M::exchange_loss>("exchange_loss", {0, 100},
                                  "A candidate is tried that makes the hits this much less likely before it is fitted "
                                  "(natural logarithm)."),
    Key<M>::of<&M::twin_mm>("twin_mm", {0, 500}, "Rings closer than this, centre and radius together, are one."),
    Key<M>::of<&M::single_steps>("single_steps", {0, 20},
                                 "Steps of the fit by likelihood for an event that one ring may explain."),
    Key<M>::of<&M::max_work>("max_work", {0, 1'000'000},
                             "Thousands of times that a hit may be compared with a circle for one event; "
                             "comparisons beyond that are left out, and the event is flagged. 0: no limit."),
    Key<M>::of<&M::yield_hits>("yield_hits", {1, max_hits_per_event}, "Hits of a ring, on average."),
    Key<M>::of<&M::noise_hits>("noise_hits", {0.01, max_hits_per_event}, "Hits of no ring in an event, on average."),
    Key<M>::of<&M::smear_mm>("smear_mm", {0, 100}, "Standard deviation of photons from their ring."),
    Key<M>::of<&M::pmt_radius_mm>("pmt_radius_mm", {0.5, 100}, "Radius of a photomultiplier's light collector."),
    Key<M>::of<&M::ring_prior>("ring_prior", {0, 50},
                               "A ring must make the hits this much likelier, and by its yield (natural logarithm)."),
    Key<M>::of<&M::radius_mean_mm>("radius_mean_mm", {1, 10'000}, "Radius that rings are expected to have."),
    Key<M>::of<&M::radius_sd_mm>("radius_sd_mm", {0, 10'000},
                                 "How far rings are from that, standard deviation; 0: any radius is as likely. Radii "
                                 "that the hits hardly determine are drawn to the mean."),
});

void require(bool holds, const char* key, const std::string& rule, float given) {
    if (!holds) throw ConfigError(key, rule, fmt::format("{}", given), "See docs/reference/ring-finding.md");
}

/// Checks rules between keys. The histograms of distances have 32 bins.
void check_relations(const Acceptance& a, const HistogramParameters& h) {
    require(a.radius_min_mm + 1 <= a.radius_max_mm, "trigger.acceptance.radius_min_mm",
            fmt::format("must be at least 1 mm below radius_max_mm, {}", a.radius_max_mm), a.radius_min_mm);
    const float least_bin_mm = (a.radius_max_mm - a.radius_min_mm) / 32;
    const std::string rule =
        fmt::format("must be at least {}: 32 bins reach from radius_min_mm to radius_max_mm", least_bin_mm);
    require(h.bin_mm >= least_bin_mm, "trigger.histogram.bin_mm", rule, h.bin_mm);
    require(h.fine_bin_mm >= least_bin_mm, "trigger.histogram.fine_bin_mm", rule, h.fine_bin_mm);
}

}  // namespace

constinit const Keys<Acceptance> acceptance_keys{"trigger.acceptance", "Only circles in this region are rings.",
                                                 acceptance};
constinit const Keys<HistogramParameters> histogram_keys{
    "trigger.histogram", "Algorithm histogram: an 8x8 grid of trial centres, then 2x2.", histogram};
constinit const Keys<AlmagestParameters> almagest_keys{
    "trigger.almagest", "Algorithm almagest: Ptolemy's theorem on triplets; NA62's offline values.", almagest};
constinit const Keys<SingleParameters> single_keys{
    "trigger.single",
    "Algorithm single, and the first part of multiring: Crawford's fit on all hits, fits with "
    "weights in narrowing windows, geometric steps.",
    single};
constinit const Keys<MultiRingParameters> multiring_keys{
    "trigger.multiring",
    "Algorithm multiring, for events that a single ring does not explain: candidates, the set that "
    "explains most, a common refit.",
    multiring};

void RingFinderConfig::validate() const {
    acceptance_keys.check(acceptance);
    histogram_keys.check(histogram);
    almagest_keys.check(almagest);
    single_keys.check(single);
    multiring_keys.check(multiring);
    check_relations(acceptance, histogram);
}

}  // namespace anello::rich
