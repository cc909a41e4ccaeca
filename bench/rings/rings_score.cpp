// SPDX-License-Identifier: Apache-2.0
/// Quality and speed of the ring finders, on simulated events (`rings_score`) or on real ones
/// (`rings_score --events hits.csv --rings rings.csv`). Tune on seeds below 100, report on others. Times are thread CPU
/// time: median of the passes and, in brackets, quartiles; x: the ratio to the first row, pass by pass.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "rich/rings/ring_finder.hpp"
#include "rich/tests/rings/sample.hpp"
#include "rich/tests/rings/score.hpp"
#include "rings/na62_sample.hpp"
#include "rings/parameters.hpp"
#include "rings/place.hpp"
#include "rings/real_events.hpp"
#include "rings/sample_file.hpp"

namespace {

using namespace anello::rich;

struct Options {
    std::string sample = "brief", events_path, rings_path, dump_path;
    std::vector<std::string> algorithms{"crawford", "taubin", "histogram8x8", "histogram",
                                        "almagest", "single", "multiring"};
    std::vector<std::string> isas{"automatic"}, assignments, variants{""};
    std::vector<int> kinds{0, 1, 2, 3, 4, -1};
    std::uint64_t seed = 101;
    int n_seeds = 4, n_events = 5000, passes = 9;
    bool json = false;
};

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts{""};
    for (const char c : text)
        if (c == ',')
            parts.emplace_back();
        else
            parts.back().push_back(c);
    return parts;
}

[[noreturn]] void usage(int status) {
    fmt::print(
        "rings_score [--sample brief|phys|na62] [--seed 101] [--seeds 4] [--n-events 5000] [--passes 9]\n"
        "            [--algorithms a,b] [--isas automatic,avx2,cuda] [--rings-per-event 1,2,mix] [--set name=value]... "
        "[--json]\n"
        "            [--variant name=value,...]...: besides the finder as it is, one with these changes, in turn with "
        "it\n"
        "            [--dump FILE]: one sample (one --rings-per-event, --seeds 1) with its truth, for other programs\n"
        "rings_score --events hits.csv --rings rings.csv [--algorithms a,b] [--set name=value]... [--json]\n");
    std::exit(status);
}

Options parse_options(int argc, char** argv) {
    Options o;
    for (int k = 1; k < argc; ++k) {
        const std::string name = argv[k];
        if (name == "--json") {
            o.json = true;
            continue;
        }
        if (name == "--help" || k + 1 == argc) usage(name == "--help" ? 0 : 2);
        const std::string value = argv[++k];
        if (name == "--sample")
            o.sample = value;
        else if (name == "--seed")
            o.seed = std::stoull(value);
        else if (name == "--seeds")
            o.n_seeds = std::stoi(value);
        else if (name == "--n-events")
            o.n_events = std::stoi(value);
        else if (name == "--passes")
            o.passes = std::stoi(value);
        else if (name == "--algorithms")
            o.algorithms = split(value);
        else if (name == "--isas")
            o.isas = split(value);
        else if (name == "--set")
            o.assignments.push_back(value);
        else if (name == "--variant")
            o.variants.push_back(value);
        else if (name == "--events")
            o.events_path = value;
        else if (name == "--dump")
            o.dump_path = value;
        else if (name == "--rings")
            o.rings_path = value;
        else if (name == "--rings-per-event") {
            o.kinds.clear();
            for (const auto& kind : split(value)) o.kinds.push_back(kind == "mix" ? -1 : std::stoi(kind));
        } else
            usage(2);
    }
    if (o.sample != "brief" && o.sample != "phys" && o.sample != "na62") usage(2);
    if (!o.dump_path.empty() && (o.kinds.size() != 1 || o.n_seeds != 1)) usage(2);
    return o;
}

double clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double thread_cpu_ns() {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

double wall_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}

HitsView view_of(const rings::Sample& s) {
    return {s.n_events(), s.hit_offset.data(), s.x_mm.data(), s.y_mm.data()};
}

/// One finder under test, with the time of each of its passes.
struct Contender {
    std::string algorithm, variant;
    rings::Place place;
    std::vector<double> ns_per_event;
};

RingFinderConfig config_of(const std::string& algorithm, const Options& o, const std::string& variant) {
    RingFinderConfig config;
    config.algorithm = parse_algorithm(algorithm);
    for (const auto& assignment : o.assignments) rings::set_parameter(config, assignment);
    if (!variant.empty())
        for (const auto& assignment : split(variant)) rings::set_parameter(config, assignment);
    return config;
}

std::vector<Contender> make_contenders(const Options& o) {
    std::vector<Contender> contenders;
    for (const auto& isa : o.isas)
        for (const auto& algorithm : o.algorithms)
            for (const auto& variant : o.variants) {
                const RingFinderConfig config = config_of(algorithm, o, variant);
                if (auto place = rings::place_of(isa, config, static_cast<std::uint32_t>(o.n_events)))
                    contenders.push_back({algorithm, variant, std::move(*place), {}});
            }
    return contenders;
}

/// Median and quartiles of a sample.
struct Spread {
    double low, median, high;
};

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {0, 0, 0};
    std::sort(values.begin(), values.end());
    const std::size_t last = values.size() - 1;
    return {values[last / 4], values[last / 2], values[last - last / 4]};
}

/// Ratio of times to those of `first`, pass by pass: a load that slows the machine for a while slows both.
Spread ratio_to(const Contender& first, const Contender& c) {
    std::vector<double> ratios;
    for (std::size_t pass = 0; pass < c.ns_per_event.size(); ++pass)
        ratios.push_back(c.ns_per_event[pass] / first.ns_per_event[pass]);
    return spread_of(std::move(ratios));
}

std::vector<rings::FoundRing> found_of(const EventRings& event) {
    std::vector<rings::FoundRing> found;
    for (int k = 0; k < event.n_rings; ++k)
        found.push_back({event.ring[k].x_mm, event.ring[k].y_mm, event.ring[k].radius_mm});
    return found;
}

rings::Score score_of(const rings::Place& place, const rings::Sample& sample) {
    std::vector<EventRings> out(sample.n_events());
    place.find(view_of(sample), out.data());
    rings::Score score;
    for (std::size_t e = 0; e < out.size(); ++e) {
        const std::size_t first = sample.ring_offset[e], last = sample.ring_offset[e + 1];
        score.add({sample.ring.data() + first, last - first}, found_of(out[e]));
    }
    return score;
}

/// All contenders take turns, pass by pass, so that a slow moment of the machine hits all.
void time_passes(std::vector<Contender>& contenders, const rings::Sample& sample, int passes) {
    std::vector<EventRings> out(sample.n_events());
    for (int pass = 0; pass < passes; ++pass)
        for (Contender& contender : contenders) {
            const auto now_ns = contender.place.on_device ? &wall_ns : &thread_cpu_ns;
            const double start = now_ns();
            contender.place.find(view_of(sample), out.data());
            contender.ns_per_event.push_back((now_ns() - start) / sample.n_events());
        }
}

double quantile_68(std::vector<float> values) {
    if (values.empty()) return 0;
    const auto at = static_cast<std::ptrdiff_t>(0.68 * static_cast<double>(values.size()));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

void print_row(const Options& o, const std::string& kind, const Contender& first, const Contender& c,
               const rings::Score& score) {
    const auto five = rings::share(score.within_5, score.n_true), ten = rings::share(score.within_10, score.n_true);
    const auto ghosts = rings::share(score.n_ghosts, score.n_found);
    const double dr = quantile_68(score.dr_mm), dc = quantile_68(score.dc_mm);
    const Spread ns = spread_of(c.ns_per_event), ratio = ratio_to(first, c);
    if (o.json)
        fmt::print(R"({{"bench":"rings","sample":"{}","rings":"{}","algorithm":"{}","isa":"{}","variant":"{}",)"
                   R"("seed":{},"events":{},"eff5":{:.2f},"eff5_95":{:.2f},"eff10":{:.2f},"ghost":{:.2f},)"
                   R"("ghost_95":{:.2f},"dr68_mm":{:.2f},"dc68_mm":{:.2f},"passes":{},"ns_per_event":{:.1f},)"
                   R"("ns_quartiles":[{:.1f},{:.1f}],"ratio":{:.3f},"ratio_quartiles":[{:.3f},{:.3f}]}})"
                   "\n",
                   o.sample, kind, c.algorithm, c.place.name, c.variant, o.seed, o.n_seeds * o.n_events, five.per_cent,
                   five.half_width, ten.per_cent, ghosts.per_cent, ghosts.half_width, dr, dc, c.ns_per_event.size(),
                   ns.median, ns.low, ns.high, ratio.median, ratio.low, ratio.high);
    else
        fmt::print(
            "{:>4} {:<13}{:<8} eff5 {:5.2f} +-{:.2f}  eff10 {:5.2f}  ghost {:5.2f} +-{:.2f}  68% dr {:.2f} dc {:.2f} "
            "mm  {:6.0f} [{:.0f}..{:.0f}] ns/event  x{:.3f} [{:.3f}..{:.3f}]  {}\n",
            kind, c.algorithm, c.place.name, five.per_cent, five.half_width, ten.per_cent, ghosts.per_cent,
            ghosts.half_width, dr, dc, ns.median, ns.low, ns.high, ratio.median, ratio.low, ratio.high, c.variant);
    std::fflush(stdout);
}

void merge(rings::Score& into, const rings::Score& from) {
    into.n_true += from.n_true;
    into.within_5 += from.within_5;
    into.within_10 += from.within_10;
    into.n_found += from.n_found;
    into.n_ghosts += from.n_ghosts;
    into.dr_mm.insert(into.dr_mm.end(), from.dr_mm.begin(), from.dr_mm.end());
    into.dc_mm.insert(into.dc_mm.end(), from.dc_mm.begin(), from.dc_mm.end());
}

/// The k-th sample's seed: of its own for each kind of event.
std::uint64_t seed_of(const Options& o, int k, int kind) {
    return (o.seed + static_cast<std::uint64_t>(k)) * 100 + static_cast<std::uint64_t>(kind + 2);
}

rings::Sample sample_of(const Options& o, int kind, std::uint64_t seed) {
    static const rings::PmtLattice lattice;
    if (o.sample == "na62") return rings::simulate_na62(kind, seed, o.n_events);
    rings::SampleConfig config;
    config.n_rings = kind;
    config.physical = o.sample == "phys";
    return rings::simulate(lattice, config, seed, o.n_events);
}

void score_simulated(const Options& o) {
    for (const int kind : o.kinds) {
        std::vector<Contender> contenders = make_contenders(o);
        std::vector<rings::Score> scores(contenders.size());
        for (int k = 0; k < o.n_seeds; ++k) {
            const rings::Sample sample = sample_of(o, kind, seed_of(o, k, kind));
            if (!o.dump_path.empty()) rings::write_sample(sample, o.dump_path);
            for (std::size_t c = 0; c < contenders.size(); ++c) merge(scores[c], score_of(contenders[c].place, sample));
            if (k == 0) time_passes(contenders, sample, o.passes);
        }
        for (std::size_t c = 0; c < contenders.size(); ++c)
            print_row(o, kind < 0 ? "mix" : std::to_string(kind), contenders[0], contenders[c], scores[c]);
    }
}

/// An event counts when one of its rings lies within 15 mm (centre) and 6 mm (radius) of the experiment's own ring.
void score_real(const Options& o) {
    for (const bool in_time : {true, false}) {
        const rings::Sample sample = rings::read_events(o.events_path, o.rings_path, in_time);
        for (Contender& c : make_contenders(o)) {
            std::vector<EventRings> out(sample.n_events());
            c.place.find(view_of(sample), out.data());
            int agree = 0;
            double n_found = 0;
            for (std::size_t e = 0; e < out.size(); ++e) {
                n_found += out[e].n_rings;
                bool any = false;
                for (const auto& ring : found_of(out[e])) {
                    const auto miss = rings::miss_between(ring, sample.ring[e]);
                    any = any || (miss.centre_mm < 15 && std::abs(miss.radius_mm) < 6);
                }
                agree += any;
            }
            const char* which = in_time ? "in-time" : "all";
            if (o.json)
                fmt::print(
                    R"({{"bench":"rings-real","hits":"{}","algorithm":"{}","isa":"{}","events":{},"agree":{},"rings_per_event":{:.2f}}})"
                    "\n",
                    which, c.algorithm, c.place.name, sample.n_events(), agree, n_found / sample.n_events());
            else
                fmt::print("{:<8} hits  {:<13}{:<8} {} of {} events within 15 mm and 6 mm, {:.2f} rings per event\n",
                           which, c.algorithm, c.place.name, agree, sample.n_events(), n_found / sample.n_events());
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse_options(argc, argv);
        options.events_path.empty() ? score_simulated(options) : score_real(options);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "rings_score: {}\n", error.what());
        return 1;
    }
}
