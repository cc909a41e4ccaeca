// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/isa.hpp"
#include "core/words.hpp"

/// Finds Cherenkov rings in the hits of each event of a batch. Lengths are in mm, in the fit frame (spots overlaid).
namespace anello::rich {

struct Ring {
    float x_mm, y_mm, radius_mm;
    std::uint16_t n_hits;  ///< hits attributed to the ring
};

inline constexpr std::uint32_t max_rings_per_event = 8;
inline constexpr std::uint32_t max_hits_per_event = 64;  ///< hits beyond are ignored, flagged and counted
inline constexpr float max_coordinate_mm = 10'000;       ///< hits farther out are left out, like NaN

/// Special conditions of an event; the bits of EventRings::flags.
enum RingFlag : std::uint8_t {
    hits_truncated = 1,   ///< more than max_hits_per_event: only the first were used
    hits_rejected = 2,    ///< NaN, infinite or absurd coordinates: those hits were left out
    bad_offsets = 4,      ///< hit_offset decreases here: the event is treated as empty
    rings_truncated = 8,  ///< more rings than max_rings_per_event
    // Set by a trigger that was late:
    found_cheaply = 16,  ///< rings are from the cheaper finder
    not_looked_at = 32,  ///< a default decision
    // Set by a trigger that cuts on quality:
    rings_dropped = 64,  ///< rings without enough support by hits were dropped
    search_cut = 128,    ///< needs more than trigger.multiring.max_work: the best rings so far
};

struct EventRings {
    std::uint8_t n_rings;
    std::uint8_t flags;  ///< RingFlag
    Ring ring[max_rings_per_event];
};

/// Hits as structure of arrays, borrowed for the call. Event e has the hits [hit_offset[e], hit_offset[e + 1]).
struct HitsView {
    std::uint32_t n_events;
    const std::uint32_t* hit_offset;  ///< [n_events + 1]
    const float* x_mm;                ///< fit frame
    const float* y_mm;
};

enum class Algorithm : std::uint8_t { crawford, taubin, histogram8x8, histogram, almagest, single, multiring };

/// Throws a ConfigError with the list of names.
Algorithm parse_algorithm(std::string_view name);
std::string_view name_of(Algorithm algorithm) noexcept;

/// The keys in ring_finder_config.cpp describe each number. The default includes the whole NA62 RICH: real centres are
/// around (-110, 1) mm and up to 430 mm from the axis.
struct Acceptance {
    float centre_x_mm = 0, centre_y_mm = 0;
    float centre_max_mm = 450;
    float radius_min_mm = 88, radius_max_mm = 208;
};

/// 8x8 grid of trial centres over the square centre +- half_width_mm, with a histogram of hit distances for each cell.
struct HistogramParameters {
    float half_width_mm = 160;
    float bin_mm = 26, fine_bin_mm = 15;
    std::uint32_t threshold = 6;
};

/// The defaults are NA62's offline values.
struct AlmagestParameters {
    float min_pair_mm = 90;
    float max_triplet_radius_mm = 200;
    float ptolemy_mm2 = 40;
    float attach_mm = 29;
    float sigma_mm = 4.7f;
    float max_pull2 = 16;
    std::uint32_t max_drops = 5;
    std::uint32_t min_ring_hits = 4;
};

/// The robust single-ring fit: Crawford's fit to all hits, re-weighted fits with narrowing windows, geometric steps.
struct SingleParameters {
    float window_mm[5] = {60, 36, 24, 18, 15};
    float final_window_mm = 15;
    float flatness = 3;
    std::uint32_t geometric_steps = 1;
    float count_window_mm = 12;
    std::uint32_t min_ring_hits = 6;
    std::uint32_t max_hits = 32;
    std::uint32_t max_unexplained = 5;
    float max_unexplained_share = 0.5f;
};

/// The second tier: candidates, cover, refit by likelihood, exchange. The last members describe the detector.
struct MultiRingParameters {
    std::uint32_t min_hits = 6;
    std::uint32_t groups = 1, groups_many = 4;
    std::uint32_t many_hits = 44;
    std::uint32_t triplets_per_lane = 4, triplets_many = 4;
    std::uint32_t draws_per_triplet = 2;
    float seed_window_mm = 11;
    float refine_window_mm = 14;
    float flatness = 3;
    float distinct_mm = 3.5f;
    float min_strength = 3.5f;
    std::uint32_t pool_size = 32;
    std::uint32_t score_unit = 10;
    float score_window_mm = 11.5f;
    float ring_cost_hits = 5;
    std::uint32_t beam_width = 2;
    float beam_margin_hits = 1.5f;
    std::uint32_t refit_steps = 2;
    float refit_stride = 1.2f;
    float refit_widening = 0.5f;
    float min_own_hits = 4.5f;
    std::uint32_t retry_hits = 5;
    std::uint32_t max_retries = 1;
    float retry_strength = 3.5f;
    float doubt_share = 0.9f;
    float doubt_rest_hits = 2;
    std::uint32_t max_restarts = 1;
    std::uint32_t max_exchanges = 3;
    float exchange_loss = 5;
    float twin_mm = 10;
    std::uint32_t single_steps = 2;
    std::uint32_t max_work = 100;
    float yield_hits = 15.8f;
    float noise_hits = 2.5f;
    float smear_mm = 2;
    float pmt_radius_mm = 9;
    float ring_prior = 13;
    float radius_mean_mm = 175;
    float radius_sd_mm = 0;
};

extern const Keys<Acceptance> acceptance_keys;
extern const Keys<HistogramParameters> histogram_keys;
extern const Keys<AlmagestParameters> almagest_keys;
extern const Keys<SingleParameters> single_keys;
extern const Keys<MultiRingParameters> multiring_keys;

struct RingFinderConfig {
    Algorithm algorithm = Algorithm::multiring;
    Isa isa = Isa::automatic;
    Acceptance acceptance;
    HistogramParameters histogram;
    AlmagestParameters almagest;
    SingleParameters single;
    MultiRingParameters multiring;
    void validate() const;  ///< throws ConfigError
};

/// Sums over events; the caller keeps them, because the finder has no state.
struct RingCounts {
    std::uint64_t events = 0, rings = 0, events_truncated = 0, events_with_rejected_hits = 0, events_bad_offsets = 0,
                  events_rings_truncated = 0;
    void add(std::span<const EventRings> events_found) noexcept;
};

/// Finds rings on the CPU. Threads may share it, as it never changes; the constructor chooses the instruction set.
class RingFinder {
  public:
    explicit RingFinder(const RingFinderConfig& config);  ///< throws ConfigError
    /// Hot path: no allocation, no lock, no log, no throw. rings: [n_events]. Never writes NaN.
    void find(const HitsView& hits, EventRings* rings) const noexcept;
    Isa isa() const noexcept { return isa_; }
    const RingFinderConfig& config() const noexcept { return config_; }

  private:
    using FindFunction = void (*)(const RingFinderConfig&, const HitsView&, EventRings*) noexcept;
    RingFinderConfig config_;
    Isa isa_;
    FindFunction find_;
};

}  // namespace anello::rich

namespace anello {

template <>
inline constexpr std::array<const char*, 7> words_of<rich::Algorithm>{"crawford", "taubin", "histogram8x8", "histogram",
                                                                      "almagest", "single", "multiring"};

}  // namespace anello
