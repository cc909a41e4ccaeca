// SPDX-License-Identifier: Apache-2.0
#include "stand_in.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "effort.hpp"
#include "memory/persistent_buffers.hpp"
#include "rich/rings/kernels/team_search.kernel.hpp"
#include "rich/rings/lanes/lanes_cuda.hpp"
#include "rich/rings/ring_finder_cuda.hpp"
#include "rich/tests/cuda_parts.hpp"
#include "rich/tests/ring_conformance.hpp"

/// Tests the whole CUDA backend, kernels, copies and streams, without a device.
namespace anello::rich {
namespace {

using anello::test::some_of;
using conformance::sample_of;
using conformance::values_of;
using conformance::view_of;
using cuda_stand_in::Collective;
using cuda_stand_in::Order;

class CudaStandIn : public testing::Test {
  protected:
    ~CudaStandIn() override {
        cuda_stand_in::mend_all();
        cuda_stand_in::shorten("");
        cuda_stand_in::watch(false);
        cuda_stand_in::set_order(Order::first_ahead, 1);
        EXPECT_EQ(cuda_stand_in::take_complaint(), "");
    }
};

using Rings = std::vector<EventRings>;

/// Returns the rings that the CUDA backend finds; empty if it fails.
Rings found_by_device(const rings::Sample& sample, const RingFinderConfig& config = {}) {
    Rings found(sample.n_events());
    CudaRingFinder finder(config, 64, 64 * max_hits_per_event);
    return finder.find(view_of(sample), found.data()) ? found : Rings{};
}

bool nearly_same(const EventRings& a, const EventRings& b) {
    constexpr float tolerance_mm = 0.2f;
    if (a.n_rings != b.n_rings || a.flags != b.flags) return false;
    for (int k = 0; k < a.n_rings; ++k) {
        const Ring &p = a.ring[k], &q = b.ring[k];
        if (std::max({std::abs(p.x_mm - q.x_mm), std::abs(p.y_mm - q.y_mm), std::abs(p.radius_mm - q.radius_mm)}) >
            tolerance_mm)
            return false;
    }
    return true;
}

bool are_equal(const Rings& a, const Rings& b) {
    return std::ranges::equal(a, b,
                              [](const EventRings& p, const EventRings& q) { return values_of(p) == values_of(q); });
}

TEST_F(CudaStandIn, NoOrderOfThreadsBlocksAndStreamsChangesTheRings) {
    for (const int n_rings : {1, 2, 3, 4}) {
        const auto sample = sample_of(n_rings, 9100, some_of(100));
        const Rings first = found_by_device(sample);
        cuda_stand_in::set_order(Order::last_ahead, 1);
        EXPECT_TRUE(are_equal(first, found_by_device(sample))) << n_rings << " rings, the last ones ahead";
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            cuda_stand_in::set_order(Order::random, seed);
            EXPECT_TRUE(are_equal(first, found_by_device(sample))) << n_rings << " rings, seed " << seed;
        }
        cuda_stand_in::set_order(Order::first_ahead, 1);
    }
}

/// Compares the rings event by event.
TEST_F(CudaStandIn, EachAlgorithmFindsWhatTheScalarBuildFinds) {
    RingFinderConfig config;
    config.isa = Isa::scalar;
    for (const Algorithm algorithm :
         {Algorithm::crawford, Algorithm::taubin, Algorithm::histogram8x8, Algorithm::histogram, Algorithm::almagest,
          Algorithm::single, Algorithm::multiring}) {
        config.algorithm = algorithm;
        int n_events = 0, n_same = 0, n_rings_found = 0;
        for (const int n_rings : {1, 2, 3, 4}) {
            const auto sample = sample_of(n_rings, 9200, 40);
            const Rings on_device = found_by_device(sample, config);
            Rings scalar(sample.n_events());
            RingFinder(config).find(view_of(sample), scalar.data());
            for (std::size_t event = 0; event < scalar.size(); ++event, ++n_events) {
                n_same += nearly_same(on_device.at(event), scalar[event]) ? 1 : 0;
                n_rings_found += on_device[event].n_rings;
            }
        }
        EXPECT_GE(n_same, 0.97 * n_events) << name_of(algorithm);
        EXPECT_GT(n_rings_found, n_events / 4) << name_of(algorithm);
    }
}

TEST_F(CudaStandIn, EventsOfAnyKindGiveWhatTheScalarBuildGives) {
    const float nan = std::nanf(""), infinite = HUGE_VALF;
    std::vector<float> x{nan, infinite, 1e9f, 100, 0}, y{0, 0, 0, 0, nan};
    std::vector<std::uint32_t> offset{0, 0, 5, 4};  // empty, unusable, decreasing
    for (int i = 0; i < 100; ++i) {                 // more hits than are used, in one place, then on a line
        x.push_back(i < 70 ? 50.0f : static_cast<float>(i));
        y.push_back(20);
    }
    offset.insert(offset.end(), {75, 105});
    const HitsView hits{static_cast<std::uint32_t>(offset.size() - 1), offset.data(), x.data(), y.data()};
    RingFinderConfig config;
    config.isa = Isa::scalar;
    Rings on_device(hits.n_events), scalar(hits.n_events);
    RingFinder(config).find(hits, scalar.data());
    for (const Order order : {Order::first_ahead, Order::last_ahead, Order::random}) {
        cuda_stand_in::set_order(order, 3);
        CudaRingFinder finder(config, 64, 64 * max_hits_per_event);
        ASSERT_TRUE(finder.find(hits, on_device.data()));
        for (std::uint32_t event = 0; event < hits.n_events; ++event)
            EXPECT_TRUE(nearly_same(on_device[event], scalar[event])) << event;
    }
}

/// Any stream may be ahead of the others; the host cannot access device memory.
TEST_F(CudaStandIn, ABatchOfManyPartsGivesTheRingsThatSmallBatchesGive) {
    RingFinderConfig config;
    config.algorithm = Algorithm::crawford;
    cuda_stand_in::set_order(Order::random, 5);
    conformance::expect_parts_agree(config, 40'001);  // five parts, the last of an odd size
}

/// A sample's hits by id, with others that are out of time or have no position; and the same hits with positions.
struct ById {
    Placement placement;
    std::vector<std::uint32_t> offset{0}, placed_offset{0};
    std::vector<std::uint16_t> id;
    std::vector<std::int16_t> time_fine;
    std::vector<float> x_mm, y_mm;
    PlacedHits placed;

    ById(int n_rings, int n_events, std::uint64_t seed) {
        constexpr int window_fine = 80, n_positions = 3000;
        placement = {std::vector<HitPosition>(n_positions), window_fine};
        std::mt19937_64 random(seed);
        for (int k = 0; k < rings::PmtLattice::n_pmts; ++k)
            placement.position[static_cast<std::size_t>(k)] = {lattice.x_mm[static_cast<std::size_t>(k)],
                                                               lattice.y_mm[static_cast<std::size_t>(k)]};
        const auto sample = sample_of(n_rings, seed, n_events);
        for (std::uint32_t event = 0; event < sample.n_events(); ++event) {
            for (std::uint32_t i = sample.hit_offset[event]; i < sample.hit_offset[event + 1]; ++i) {
                const auto any = static_cast<std::int16_t>(random() % (window_fine + 1));
                const std::uint16_t of_hit = id_of({sample.x_mm[i], sample.y_mm[i]});
                add(of_hit, static_cast<std::int16_t>(random() % 2 == 0 ? any : -any));
                if (i % 5 == 0) add(of_hit, static_cast<std::int16_t>(window_fine + 1 + any));
                if (i % 7 == 0) add(of_hit, static_cast<std::int16_t>(-window_fine - 1 - any));
                if (i % 9 == 0) add(static_cast<std::uint16_t>(n_positions + any), 0);
                placed.n_unknown += i % 9 == 0 ? 1 : 0;
                x_mm.push_back(sample.x_mm[i]);
                y_mm.push_back(sample.y_mm[i]);
            }
            offset.push_back(static_cast<std::uint32_t>(id.size()));
            placed_offset.push_back(static_cast<std::uint32_t>(x_mm.size()));
        }
        placed.n_in_time = static_cast<std::uint32_t>(x_mm.size());
    }
    HitIdsView ids() const { return {n_events(), offset.data(), id.data(), time_fine.data()}; }
    HitsView positions() const { return {n_events(), placed_offset.data(), x_mm.data(), y_mm.data()}; }
    std::uint32_t n_events() const { return static_cast<std::uint32_t>(offset.size() - 1); }

  private:
    std::uint16_t id_of(HitPosition at) const {
        for (std::size_t k = 0; k < lattice.x_mm.size(); ++k)
            if (lattice.x_mm[k] == at.x_mm && lattice.y_mm[k] == at.y_mm) return static_cast<std::uint16_t>(k);
        ADD_FAILURE() << "no PMT at " << at.x_mm << ", " << at.y_mm;
        return 0;
    }
    void add(std::uint16_t of_hit, std::int16_t time) {
        id.push_back(of_hit);
        time_fine.push_back(time);
    }
    const rings::PmtLattice lattice;
};

/// Two batches are on the device at a time: it places one while it searches the other.
TEST_F(CudaStandIn, HitsByIdGiveTheRingsOfTheirPositions) {
    for (const int n_rings : {1, 3}) {
        const ById first(n_rings, some_of(60), 9600), second(n_rings, some_of(50), 9601);
        CudaRingFinder finder({}, 64, 256 * max_hits_per_event, first.placement);
        ASSERT_EQ(finder.max_under_way(), 2U);
        Rings of_first(first.n_events()), of_second(second.n_events());
        ASSERT_TRUE(finder.find(first.positions(), of_first.data()));
        ASSERT_TRUE(finder.find(second.positions(), of_second.data()));
        cuda_stand_in::watch(true);
        for (const Order order : {Order::first_ahead, Order::last_ahead, Order::random}) {
            cuda_stand_in::set_order(order, 7);
            ASSERT_TRUE(finder.send(first.ids()));
            for (int turn = 0; turn < 3; ++turn) {
                const bool is_first = turn % 2 == 0;
                const ById& sent = is_first ? first : second;
                ASSERT_TRUE(finder.send((is_first ? second : first).ids()));
                EXPECT_FALSE(finder.send(first.ids())) << "three at a time";
                Rings found(sent.n_events());
                PlacedHits placed;
                ASSERT_TRUE(finder.collect(found.data(), placed));
                EXPECT_TRUE(are_equal(found, is_first ? of_first : of_second)) << "turn " << turn;
                EXPECT_EQ(placed.n_in_time, sent.placed.n_in_time);
                EXPECT_EQ(placed.n_unknown, sent.placed.n_unknown);
            }
            Rings found(64);
            PlacedHits placed;
            ASSERT_TRUE(finder.collect(found.data(), placed));
        }
        cuda_stand_in::set_order(Order::first_ahead, 1);
    }
}

TEST_F(CudaStandIn, IdsWithoutPositionsOrWithOffsetsThatDecreaseAreRefused) {
    ById hits(1, 10, 9602);
    EXPECT_EQ(CudaRingFinder({}, 64, 4096).max_under_way(), 0U);
    EXPECT_FALSE(CudaRingFinder({}, 64, 4096).send(hits.ids()));
    EXPECT_EQ(CudaRingFinder({}, 10'000, 20'000, hits.placement).max_under_way(), 0U) << "batches of several parts";
    CudaRingFinder finder({}, 64, 4096, hits.placement);
    std::swap(hits.offset[3], hits.offset[4]);
    EXPECT_FALSE(finder.send(hits.ids()));
    std::swap(hits.offset[3], hits.offset[4]);
    EXPECT_FALSE(CudaRingFinder({}, 9, 4096, hits.placement).send(hits.ids())) << "too many events";
    EXPECT_FALSE(CudaRingFinder({}, 64, 100, hits.placement).send(hits.ids())) << "too many hits";
    Rings found(hits.n_events());
    PlacedHits placed;
    EXPECT_TRUE(finder.send(hits.ids()));
    EXPECT_TRUE(finder.collect(found.data(), placed));
}

TEST_F(CudaStandIn, NoThreadReadsOrWritesWhatAnotherMayWrite) {
    cuda_stand_in::watch(true);
    for (const int n_rings : {1, 2, 3, 4}) {
        found_by_device(sample_of(n_rings, 9500, some_of(60)));
        ASSERT_EQ(cuda_stand_in::take_complaint(), "") << n_rings << " rings";
    }
}

/// Data copied to a device buffer come back unchanged, and the host cannot access them meanwhile (the page is closed).
TEST_F(CudaStandIn, BuffersLieOnTheDevice) {
    memory::PersistentBuffers on_device({.n_buffers = 3, .buffer_bytes = 1000, .kind = memory::Kind::device});
    memory::PersistentBuffers here({.n_buffers = 3, .buffer_bytes = 1000, .kind = memory::Kind::pinned});
    ASSERT_EQ(on_device.kind(), memory::Kind::device);
    cudaPointerAttributes attributes{};
    cudaPointerGetAttributes(&attributes, on_device.bytes(2).data() + 1000);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    std::uint32_t buffer = 0;
    for (std::uint8_t turn = 1; on_device.try_take_free(buffer); ++turn) {
        here.bytes(0)[7] = std::byte{turn};
        cudaMemcpyAsync(on_device.bytes(buffer).data(), here.bytes(0).data(), 1000, cudaMemcpyHostToDevice, stream);
        cudaMemcpyAsync(here.bytes(1).data(), on_device.bytes(buffer).data(), 1000, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        EXPECT_EQ(here.bytes(1)[7], std::byte{turn});
    }
    EXPECT_EQ(on_device.n_free(), 0U);
    cudaStreamDestroy(stream);
}

/// This is like an abandoned run: memory must not be freed before the device has finished.
TEST_F(CudaStandIn, ABatchThatNobodyCollectsIsWaitedFor) {
    const ById hits(1, 20, 9604);
    CudaRingFinder finder({}, 64, 4096, hits.placement);
    ASSERT_TRUE(finder.send(hits.ids()));
    ASSERT_TRUE(finder.send(hits.ids()));
}

/// Each column is used up to its last entry and not beyond: the test notices one that is shorter by an entry.
TEST_F(CudaStandIn, AnIndexBeyondAColumnIsNoticed) {
    cuda_stand_in::watch(true);
    const ById hits(1, 64, 9603);
    CudaRingFinder finder({}, 64, hits.offset.back(), hits.placement);
    Rings found(hits.n_events());
    PlacedHits placed;
    const auto by_positions = [&] { return finder.find(hits.positions(), found.data()); };
    const auto by_ids = [&] { return finder.send(hits.ids()) && finder.collect(found.data(), placed); };
    ASSERT_TRUE(by_positions() && by_ids());
    ASSERT_EQ(cuda_stand_in::take_complaint(), "");
    const auto expect_noticed = [](const char* name, const auto& search) {
        cuda_stand_in::shorten(name);
        search();
        EXPECT_NE(cuda_stand_in::take_complaint(), "") << name;
    };
    for (const char* const name : {"hit_offset", "event", "tally", "x_mm", "y_mm"}) expect_noticed(name, by_positions);
    for (const char* const name : {"n_events", "hit_offset", "id", "time_fine", "span"}) expect_noticed(name, by_ids);
}

/// Events with three rings, so that all parts of the kernels run.
class CudaMutants : public CudaStandIn {
  protected:
    void SetUp() override {
        if (!anello::test::is_long()) GTEST_SKIP() << "a matter of minutes: ANELLO_LONG=1 runs it";
        cuda_stand_in::watch(true);
        cuda_stand_in::forget_sites();
        right_ = found_by_device(sample_);
        sites_ = cuda_stand_in::sites();
    }
    /// A fault is noticed by wrong rings, by threads that meet in different operations, or by wrong accesses.
    bool is_noticed() const {
        const bool is_same = are_equal(right_, found_by_device(sample_));
        return !cuda_stand_in::take_complaint().empty() || !is_same;
    }
    std::vector<const void*> sites_of(Collective kind) const {
        std::vector<const void*> found;
        for (const auto& [site, seen] : sites_)
            if (seen.kind == kind) found.push_back(site);
        return found;
    }

  private:
    const rings::Sample sample_ = sample_of(3, 9400, 12);
    Rings right_;
    std::map<const void*, cuda_stand_in::Site> sites_;
};

/// Many barriers are in pairs, at the end of one step and the begin of the next, and one of the two is not needed. The
/// test removes those that are not needed one after another; then each of the rest is needed.
TEST_F(CudaMutants, ABarrierThatIsTakenOutIsMissed) {
    const std::vector<const void*> barriers = sites_of(Collective::sync);
    std::size_t n_needed = 0;
    for (const void* const barrier : barriers) {
        cuda_stand_in::spoil(barrier);
        if (!is_noticed()) continue;
        cuda_stand_in::mend(barrier);
        ++n_needed;
    }
    std::printf("%zu of %zu barriers are needed\n", n_needed, barriers.size());
    EXPECT_GE(n_needed, 20U);
}

/// A few wrong values have no effect, because nothing uses them.
TEST_F(CudaMutants, AWrongValueFromAnotherThreadIsNoticed) {
    std::size_t n_noticed = 0, n_all = 0;
    for (const Collective kind : {Collective::ballot, Collective::exchange, Collective::broadcast})
        for (const void* const site : sites_of(kind)) {
            cuda_stand_in::spoil(site);
            n_noticed += is_noticed() ? 1 : 0;
            cuda_stand_in::mend(site);
            ++n_all;
        }
    std::printf("%zu of %zu are noticed\n", n_noticed, n_all);
    EXPECT_GT(n_all, 15U);
    EXPECT_GE(n_noticed + 3, n_all);
}

/// Shared memory limits the number of teams on a multiprocessor: sixteen blocks of two teams on an A100, whose
/// multiprocessors have 164 kB; each block takes 1 kB more than its teams.
TEST(CudaMemory, SixteenBlocksFitAMultiprocessor) {
    struct Threads;
    const std::size_t of_block = 2 * (sizeof(SearchSpace<TeamLanes<Threads>>) + sizeof(EventHits));
    EXPECT_LE(16 * (of_block + 1024), 164U << 10);
    EXPECT_GT(sizeof(MixtureTable<ScalarLanes>), sizeof(MixtureTable<TeamLanes<Threads>>));
}

TEST(CudaBytes, FourAtATimeAreFourOfOne) {
    std::mt19937 random(9300);
    for (int k = 0; k < 1000; ++k) {
        const auto a = static_cast<std::uint32_t>(random()), b = static_cast<std::uint32_t>(random());
        for (int shift = 0; shift < 32; shift += 8) {
            const auto p = static_cast<std::uint8_t>(a >> shift), q = static_cast<std::uint8_t>(b >> shift);
            const auto at = [shift](std::uint32_t four) { return static_cast<std::uint8_t>(four >> shift); };
            EXPECT_EQ(at(FourBytes::max(a, b)), ScalarLanes::byte_max(p, q));
            EXPECT_EQ(at(FourBytes::add(a, b)), ScalarLanes::byte_add(p, q));
            EXPECT_EQ(at(FourBytes::subtract(a, b)), ScalarLanes::byte_subtract(p, q));
        }
    }
}

}  // namespace
}  // namespace anello::rich
