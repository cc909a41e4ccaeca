// SPDX-License-Identifier: Apache-2.0
// Compares the rates of simulated background and muons, as the trigger finds them, with those known of the detector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "km3net/source/simulation.hpp"
#include "km3net/trigger/coincidences.hpp"
#include "km3net/trigger/event_finder.hpp"

namespace anello::km3net::rates_test {
namespace {

constexpr std::uint32_t n_slices = 10;

struct Counted {
    double seconds = 0, hits = 0, pairs = 0, l1 = 0, l2 = 0, supernova = 0, events = 0;
    std::vector<double> by_multiplicity = std::vector<double>(n_pmts + 1);
};

/// Fills `calibrated` from the frame as the board would send it.
void calibrate(const SimulatedFrame& simulated, const Dom& dom, CalibratedHits& calibrated) {
    const auto n_hits = static_cast<std::uint32_t>(simulated.hits.size());
    std::vector<std::byte> datagram(clb::header_bytes + n_hits * clb::hit_bytes);
    clb::write(datagram, {}, simulated.hits);
    Frame frame{};
    frame.n_pieces = 1;
    frame.pieces[0] = {0, 0, n_hits};
    ASSERT_EQ(calibrated.fill(frame, std::span(datagram).subspan(clb::header_bytes), dom.t0_ns), FrameFate::used);
}

std::uint32_t n_of(std::span<const PackedHit> hits, double window_ns, auto is_one, auto use) {
    std::uint32_t n = 0;
    for_each_coincidence(hits, std::llround(window_ns * 16), is_one, [&](const Coincidence& found) {
        ++n;
        use(found);
    });
    return n;
}

Counted count(const SimulationConfig& config, const LineConfig& line, const EventFinderConfig& events) {
    const std::vector<Dom> doms = make_line(line);
    const Simulation simulation(config, doms);
    CalibratedHits calibrated(65'536);
    EventFinder finder(events, doms, 65'536);
    Counted counted{.seconds = n_slices * slice_ns * 1e-9};
    for (std::uint32_t i = 0; i < n_slices; ++i) {
        const std::vector<SimulatedFrame> frames = simulation.slice(i);
        std::vector<L1Hit> l1;
        for (std::uint32_t dom = 0; dom < doms.size(); ++dom) {
            calibrate(frames[dom], doms[dom], calibrated);
            const auto hits = calibrated.hits();
            counted.hits += static_cast<double>(hits.size());
            const auto nothing = [](const Coincidence&) {};
            counted.l1 += n_of(
                hits, 25, [](const auto& one) { return one.n_pmts() > 1; },
                [&](const auto& one) {
                    l1.push_back({one.hits.front().time(), dom});
                    ++counted.by_multiplicity[one.n_pmts()];
                });
            counted.l2 += n_of(
                hits, 10, [](const auto& one) { return has_near_pair(one, 0); }, nothing);
            counted.supernova += n_of(
                hits, 10, [](const auto& one) { return one.n_pmts() >= 4; }, nothing);
        }
        std::ranges::sort(l1, {}, &L1Hit::time);
        counted.events += static_cast<double>(finder.find(l1).size());
    }
    return counted;
}

const Counted& background() {
    static const Counted counted = count({.muon_hz = 0, .seed = 11}, {}, {});
    return counted;
}
const double dom_seconds = 18 * n_slices * 0.1;

TEST(Rates, OneHitsRateIsThatAskedFor) {
    // singles 31 x 7 kHz, two or more hits of each 40K decay, 0.5 % afterpulses; dead time takes 0.02 %
    const double expected_hz = (31 * 7000 + 656 * 2.08) * 1.005;
    EXPECT_NEAR(background().hits / dom_seconds, expected_hz, 0.01 * expected_hz);
}

TEST(Rates, L1IsRandomPairsAndPotassium) {
    // 465 pairs x 2 R^2 x 25 ns = 1139 Hz, and 656 Hz of 40K; clusters of an independent toy: 1730, 49, 5, 0.5 Hz
    EXPECT_NEAR(background().l1 / dom_seconds, 1139 + 656, 0.03 * 1795);
    EXPECT_NEAR(background().by_multiplicity[2] / dom_seconds, 1730, 0.03 * 1730);
    EXPECT_NEAR(background().by_multiplicity[3] / dom_seconds, 49, 8);
    EXPECT_NEAR(background().by_multiplicity[4] / dom_seconds, 5, 2);
}

TEST(Rates, L2IsPairsWithin10NsThatLookToOneSide) {
    // 231 of 465 pairs x 2 R^2 x 10 ns = 226 Hz, and 94 % of 40K within 3.5 standard deviations of two PMTs
    EXPECT_NEAR(background().l2 / dom_seconds, 226 + 600, 0.06 * 826);
}

TEST(Rates, SupernovaIsFiveHertz) {
    EXPECT_NEAR(background().supernova / dom_seconds, 5, 1.7);
}

TEST(Rates, NoiseAloneMakesNoEventOfALine) {
    EXPECT_EQ(background().events, 0);
}

TEST(Rates, WithoutCalibrationPotassiumIsSmearedOverTheWindow) {
    const std::vector<Dom> doms = make_line({});
    const Simulation simulation({.muon_hz = 0, .seed = 11}, doms);
    CalibratedHits calibrated(65'536);
    double n = 0;
    for (std::uint32_t i = 0; i < 2; ++i)
        for (const SimulatedFrame& frame : simulation.slice(i)) {
            calibrate(frame, {}, calibrated);
            n += n_of(
                calibrated.hits(), 10, [](const auto& one) { return has_near_pair(one, 0); }, [](const auto&) {});
        }
    EXPECT_LT(n / (18 * 0.2), 0.85 * background().l2 / dom_seconds);
}

TEST(Rates, AtTwentyKilohertzTheBoardSwitchesChannelsOff) {
    const std::vector<Dom> doms = make_line({.n_doms = 1});
    const auto frames = Simulation({.singles_hz = 30'000, .muon_hz = 0}, doms).slice(0);
    EXPECT_EQ(frames[0].vetoed, (1U << n_pmts) - 1);
    EXPECT_EQ(frames[0].hits.size(), 2000U * n_pmts);
}

// --- Muons: the expected numbers are from an independent toy of a minimum-ionising muon that passes parallel to the
// line

struct Seen {
    double n_pe = 0, n_doms = 0, share = 0;
};

Seen seen_at(double distance_m) {
    constexpr int n_muons = 200;
    const std::vector<Dom> doms = make_line({});
    const Simulation simulation({}, doms);
    EventFinder finder({}, doms, 1000);
    source::Random random(5);
    Seen seen;
    for (int i = 0; i < n_muons; ++i) {
        const Muon muon{.point_m = {distance_m, 0, 371}, .time_ns = 1e6, .direction = {0, 0, -1}};
        std::vector<L1Hit> l1;
        for (std::uint32_t dom = 0; dom < doms.size(); ++dom) {
            std::vector<Simulation::TrueHit> hits;
            simulation.add_muon(muon, doms[dom], random, hits);
            std::vector<PackedHit> packed;
            for (const auto& hit : hits) packed.emplace_back(std::llround(hit.time_ns * 16), hit.channel, hit.tot_ns);
            std::sort(packed.begin(), packed.end());
            seen.n_pe += static_cast<double>(hits.size()) / n_muons;
            bool is_first = true;
            n_of(
                packed, 25, [](const auto& one) { return one.n_pmts() > 1; },
                [&](const auto& one) {
                    l1.push_back({one.hits.front().time(), dom});
                    seen.n_doms += is_first ? 1.0 / n_muons : 0;
                    is_first = false;
                });
        }
        std::ranges::sort(l1, {}, &L1Hit::time);
        seen.share += finder.find(l1).empty() ? 0 : 1.0 / n_muons;
    }
    return seen;
}

TEST(Muons, AreSeenByAsManyDomsAsTheirDistanceLets) {
    EXPECT_NEAR(seen_at(5).n_doms, 17.5, 1.2);
    EXPECT_NEAR(seen_at(10).n_doms, 12, 2);
    EXPECT_NEAR(seen_at(20).n_doms, 4, 1.5);
    EXPECT_NEAR(seen_at(30).n_doms, 1.3, 0.8);
}

TEST(Muons, NearOnesAreEventsAndFarOnesAreNot) {
    EXPECT_GT(seen_at(5).share, 0.99);
    EXPECT_GT(seen_at(10).share, 0.97);
    EXPECT_NEAR(seen_at(20).share, 0.55, 0.25);
    EXPECT_LT(seen_at(30).share, 0.15);
}

// --- The finder alone

TEST(EventFinder, AcceptsWhatOneMuonCanHaveMadeAndNothingElse) {
    const std::vector<Dom> doms = make_line({});
    const EventFinder finder({}, doms, 100);
    const auto after = [](double ns) { return std::int64_t(std::llround(ns * 16)); };
    EXPECT_TRUE(finder.is_causal({0, 0}, {after(120), 1})) << "36 m at the speed of light";
    EXPECT_TRUE(finder.is_causal({0, 0}, {after(36 * 1.38009 / 0.299792458 + 24), 1}));
    EXPECT_FALSE(finder.is_causal({0, 0}, {after(36 * 1.38009 / 0.299792458 + 26), 1})) << "slower than light in water";
    EXPECT_FALSE(finder.is_causal({0, 0}, {after(100), 10})) << "faster than light";
    EXPECT_FALSE(finder.is_causal({0, 0}, {after(1700), 14})) << "504 m are beyond the reach";
    EXPECT_TRUE(finder.is_causal({0, 0}, {after(1560), 13}));
}

TEST(EventFinder, NeedsHitsOnSeveralDomsAndJoinsWhatOverlaps) {
    const std::vector<Dom> doms = make_line({});
    EventFinder finder({}, doms, 100);
    std::vector<L1Hit> hits;
    for (std::uint32_t dom = 0; dom < 3; ++dom) hits.push_back({dom * 120 * 16, dom});
    hits.push_back({2 * 120 * 16 + 8, 2});
    EXPECT_TRUE(finder.find(hits).empty()) << "four hits on three DOMs";
    for (std::uint32_t dom = 3; dom < 7; ++dom) hits.push_back({dom * 120 * 16, dom});
    const auto events = finder.find(hits);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].n_doms, 7U);
    EXPECT_EQ(events[0].n_hits, 8U);
    EXPECT_EQ(events[0].mask, EventSpan::muon);
    EXPECT_GT(events[0].n_overlays, 0U);
    for (std::uint32_t dom = 0; dom < 18; ++dom) hits.push_back({100'000 + dom * 120 * 16, dom});
    ASSERT_EQ(finder.find(hits).size(), 2U);
    const auto first = finder.members(0), second = finder.members(1);
    EXPECT_EQ(std::vector(first.begin(), first.end()), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(second.size(), 18U) << "those out of reach of the first hit, found with later ones, too";
    EXPECT_EQ(second.back(), 25U);
}

/// The two events are at the two ends of the line, so that no hit of one is causal with a hit of the other.
TEST(EventFinder, AnEventThatBeginsWhereTheLastOneEndsIsOneWithIt) {
    const std::vector<Dom> doms = make_line({});
    EventFinder finder({}, doms, 100);
    constexpr std::int64_t step = 120 * 16, end = 3 * step;
    for (const std::int64_t later : {0, 1}) {
        std::vector<L1Hit> hits;
        for (std::uint32_t i = 0; i < 4; ++i) hits.push_back({i * step, i});
        for (std::uint32_t i = 0; i < 4; ++i) hits.push_back({end + later + i * step, 14 + i});
        const auto events = finder.find(hits);
        ASSERT_EQ(events.size(), later == 0 ? 1U : 2U) << later << "/16 ns after it";
        EXPECT_EQ(events[0].begin, 0);
        EXPECT_EQ(events[0].end, later == 0 ? 2 * end : end);
        EXPECT_EQ(events[0].n_overlays, later == 0 ? 1U : 0U);
        EXPECT_EQ(finder.members(0).size(), later == 0 ? 8U : 4U);
    }
}

/// All hits are causal with the first; two DOMs at 36 m are causal with each other for 190 ns.
TEST(EventFinder, AsManyHitsAsAreNeededMustAllBeCausalWithEachOther) {
    const std::vector<Dom> doms = make_line({});
    EventFinder finder({}, doms, 100);
    for (const std::int64_t last_ns : {195, 300}) {
        const std::vector<L1Hit> hits{{0, 5}, {10 * 16, 4}, {100 * 16, 6}, {last_ns * 16, 3}};
        EXPECT_EQ(finder.find(hits).size(), last_ns == 195 ? 1U : 0U) << last_ns - 10 << " ns";
    }
}

TEST(EventFinder, TooManyHitsAreAnEventWithoutLookingFurther) {
    const std::vector<Dom> doms = make_line({});
    EventFinder finder({}, doms, 1000);
    std::vector<L1Hit> hits;
    for (int i = 0; i < 150; ++i) hits.push_back({i, 0});
    const auto events = finder.find(hits);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_NE(events[0].mask & EventSpan::over_limit, 0U);
}

// --- Frames that take no part

TEST(CalibratedHits, RejectsFramesAsTheExperimentDoesAndJoinsLongPulses) {
    CalibratedHits calibrated(100);
    const auto fate_of = [&](std::vector<clb::Hit> hits, std::vector<Frame::Piece> pieces) {
        std::vector<std::byte> datagram(clb::header_bytes + hits.size() * clb::hit_bytes);
        clb::write(datagram, {}, hits);
        Frame frame{};
        frame.n_pieces = static_cast<std::uint32_t>(pieces.size());
        std::ranges::copy(pieces, frame.pieces);
        frame.sort_pieces();
        return calibrated.fill(frame, std::span(datagram).subspan(clb::header_bytes), {});
    };
    EXPECT_EQ(fate_of({{1, 105'000'001, 5}}, {{0, 0, 1}}), FrameFate::out_of_range);
    EXPECT_EQ(fate_of({{1, 500, 5}, {1, 499, 5}}, {{0, 0, 2}}), FrameFate::out_of_order);
    EXPECT_EQ(fate_of({{1, 500, 5}, {2, 499, 5}}, {{0, 0, 2}}), FrameFate::used) << "channels have no order";
    EXPECT_EQ(calibrated.hits()[0].channel(), 2U);
    EXPECT_EQ(fate_of({{1, 900, 5}, {1, 500, 5}}, {{1, 0, 1}, {0, 1, 1}}), FrameFate::used) << "datagrams overtook";
    EXPECT_EQ(fate_of({{1, 500, 255}, {1, 755, 255}, {1, 1010, 9}, {1, 1500, 9}}, {{0, 0, 4}}), FrameFate::used);
    EXPECT_EQ(calibrated.hits().size(), 2U);
    EXPECT_EQ(calibrated.n_continued(), 2U);
}

}  // namespace
}  // namespace anello::km3net::rates_test
