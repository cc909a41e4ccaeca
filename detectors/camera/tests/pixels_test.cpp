// SPDX-License-Identifier: Apache-2.0
// The look at the pixels, by one thread and by several: the same samples, charges, verdicts, records and counters.
#include "camera/chain/pixels.hpp"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "camera/chain/encoding.hpp"
#include "camera/chain/selection.hpp"
#include "camera/tests/camera_event.hpp"
#include "camera/tests/fits_file.hpp"
#include "core/errors.hpp"
#include "pipeline/runner.hpp"
#include "wire/bytes.hpp"

namespace anello::camera::pixels_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 12, .n_samples = 40, .boards_per_group = 5};
constexpr std::uint32_t n_pixels = layout.n_boards * layout.n_pixels, n_places = 64;

/// Baselines of cells and heights of spikes, each pixel's its own.
test::FitsFile coefficients() {
    std::vector<float> baseline, spike;
    for (std::uint32_t channel = 0; channel < 2 * n_pixels; ++channel) {
        for (std::uint32_t cell = 0; cell < drs4_cells; ++cell)
            baseline.push_back(static_cast<float>(246 + (channel * 7 + cell * 13) % 8));
        for (const std::uint32_t step : {20U, 45U, 10U}) spike.push_back(static_cast<float>(step + channel % 5));
    }
    return test::FitsFile(
        {{"baseline_mean", {2, n_pixels, drs4_cells}, baseline}, {"spike_height", {2, n_pixels, 3}, spike}});
}

void set_readout(test::CameraEvent& event, std::uint32_t board, source::Random& random, std::uint64_t clock_ticks) {
    wire::camera::FirstCells cells{};
    for (auto& cell : cells) cell = static_cast<std::uint16_t>(random.below(drs4_cells));
    if (random.below(40) == 0) cells[3] = drs4_cells;
    event.add_first_cells(board, cells);
    wire::store_le(event.slot(board) + 54, clock_ticks);
}

/// Every other event has a shower. Boards are missing, have another shape, tell no cells or wrong ones.
std::vector<std::unique_ptr<test::CameraEvent>> events_of_a_run(std::uint32_t n_events) {
    std::vector<std::unique_ptr<test::CameraEvent>> events;
    source::Random random(20261126);
    for (std::uint32_t e = 0; e < n_events; ++e) {
        auto event = std::make_unique<test::CameraEvent>(layout, e);
        test::fill_waveforms(*event, random, 4, [&](std::uint32_t p) { return e % 2 == 0 && p < 20 ? 12.0 : 0.0; });
        for (std::uint32_t board = 0; board < layout.n_boards; ++board) {
            const auto fault = random.below(60);
            if (fault != 0) set_readout(*event, board, random, 20'000 * e + board);
            if (fault == 1) event->reshape(board, 39, 7, 2, 2 * 39 * 7 * 2);
            if (fault == 2) event->remove(board);
        }
        if (random.below(10) == 0) event->set_trigger_tag(wire::camera::tag_pedestal);
        events.push_back(std::move(event));
    }
    return events;
}

class Given final : public CameraEvents {
  public:
    explicit Given(std::uint32_t n_events) : events(events_of_a_run(n_events)) {}
    bool try_take(CameraEventView& view) noexcept override {
        if (is_empty()) return false;
        view = events[n_taken++]->view();
        return true;
    }
    void release(const CameraEventView&) noexcept override { ++n_released; }
    bool is_empty() const noexcept override { return n_taken == events.size(); }

    std::vector<std::unique_ptr<test::CameraEvent>> events;
    std::size_t n_taken = 0, n_released = 0;
};

struct Sent {
    std::uint32_t event_number;
    KeptBy kept_by;
    std::uint32_t multiplicity, n_pixels_above;
    float charge_sum;
    std::vector<float> charge;
    std::vector<std::uint16_t> peak_sample;
    std::vector<std::uint8_t> flags;
    std::vector<std::byte> record;
    bool operator==(const Sent&) const = default;
};

struct Outcome {
    std::vector<Sent> sent;
    std::map<std::string, std::uint64_t> counters;  ///< all but those of waiting
};

CameraOutletConfig config_of(std::int32_t n_threads, const std::string& file, std::uint32_t gain_threshold = 0) {
    CameraOutletConfig config;
    config.integrator.n_boards = layout.n_boards;
    config.integrator.n_samples = layout.n_samples;
    config.calibrate.file = file;
    config.calibrate.gain_threshold = gain_threshold;
    config.filter.pixel_threshold = 150;
    config.filter.fraction = 0.1;
    config.filter.prescale = 3;
    config.filter.n_threads = n_threads;
    return config;
}

/// The receiver after the threads that compress.
class Receiver {
  public:
    explicit Receiver(KeptEvents& kept) : kept_(kept) {}
    pipeline::Stage stage() {
        return {.name = "send",
                .do_work = [this](std::uint32_t) { return take(); },
                .has_input = [this](std::uint32_t) { return !kept_.is_empty(); },
                .is_drained = [this] { return kept_.is_empty(); }};
    }
    std::vector<Sent> sent;

  private:
    std::size_t take() {
        KeptEvent* const kept = kept_.try_take();
        if (kept == nullptr) return 0;
        const auto copied = []<typename T>(std::span<const T> from) {
            return std::vector<T>(from.begin(), from.end());
        };
        const Verdict& verdict = kept->verdict;
        sent.push_back({kept->event.event_number, verdict.kept_by, verdict.multiplicity, verdict.n_pixels_above,
                        verdict.charge_sum, copied(kept->pixels.charge), copied(kept->pixels.peak_sample),
                        copied(kept->pixels.flags), copied(kept->encoded.record)});
        kept_.give_back(*kept);
        return 1;
    }
    KeptEvents& kept_;
};

Outcome outcome_of(std::int32_t n_threads, std::uint32_t n_events, const std::string& file,
                   std::uint32_t gain_threshold) {
    const ManualClock clock{1};
    CounterPage page;
    Given given(n_events);
    KeptEvents kept(n_places, n_pixels, 2);
    CameraSelection selection(config_of(n_threads, file, gain_threshold), given, &kept, clock, page);
    CompressionChoices choices({});
    CameraEncoding encoding({{.n_threads = 2}}, choices, kept, given.events[0]->view().shape);
    Receiver receiver(kept);
    pipeline::Runner runner;
    std::vector<pipeline::Stage> stages{selection.stage()};
    if (selection.pixels().has_threads()) stages.push_back(selection.pixels().stage());
    stages.push_back(encoding.stage());
    stages.push_back(receiver.stage());
    runner.add({std::move(stages), {}});
    runner.start();
    runner.stop();
    EXPECT_EQ(runner.stuck_stage(), "");
    EXPECT_EQ(given.n_released, n_events);
    Outcome outcome{.sent = std::move(receiver.sent), .counters = {}};
    for (const auto& sample : page.read())
        if (sample.block != "waits") outcome.counters[sample.block + "." + sample.name] = sample.value;
    return outcome;
}

/// By the threshold above which the low gain is selected; 0: both gains stay.
class PixelsByGain : public testing::TestWithParam<std::uint32_t> {};

TEST_P(PixelsByGain, AnyNumberOfThreadsComesToTheSame) {
    const test::FitsFile file = coefficients();
    const Outcome one = outcome_of(0, 300, file.path, GetParam());
    for (const KeptBy kept_by : {KeptBy::signal, KeptBy::fraction, KeptBy::prescale, KeptBy::calibration})
        EXPECT_TRUE(std::ranges::any_of(one.sent, [&](const Sent& sent) { return sent.kept_by == kept_by; }));
    for (const char* name : {"boards_calibrated", "boards_without_cells", "boards_wrong_cells", "boards_other_shape"})
        EXPECT_GT(one.counters.at(std::string("calibrate.") + name), 0U) << name;
    for (const std::int32_t n_threads : {1, 2, 5, 13}) {  // 13: one has no board
        const Outcome many = outcome_of(n_threads, 300, file.path, GetParam());
        EXPECT_EQ(many.counters, one.counters) << n_threads;
        ASSERT_EQ(many.sent.size(), one.sent.size()) << n_threads;
        for (std::size_t i = 0; i < one.sent.size(); ++i)
            ASSERT_TRUE(many.sent[i] == one.sent[i]) << n_threads << " threads, event " << one.sent[i].event_number;
    }
}

INSTANTIATE_TEST_SUITE_P(CameraPixels, PixelsByGain, testing::Values(0U, 150U),
                         [](const auto& one) { return one.param == 0 ? "both" : "selected"; });

/// Both stages, worked by hand.
struct PixelsRig {
    explicit PixelsRig(std::int32_t n_threads, std::uint32_t n_events = 40)
        : given(n_events),
          selection(config_of(n_threads, ""), given, nullptr, clock, page),
          filter(selection.stage()),
          pixels(selection.pixels().stage()) {}
    std::uint64_t value(const std::string& block, const std::string& name) const {
        for (const auto& sample : page.read())
            if (sample.block == block && sample.name == name) return sample.value;
        return ~std::uint64_t{0};
    }

    ManualClock clock{1};
    CounterPage page;
    Given given;
    CameraSelection selection;
    pipeline::Stage filter, pixels;
};

TEST(CameraPixels, AnEventIsDecidedOnceAllThreadsHaveSeenIt) {
    PixelsRig rig(2);
    ASSERT_EQ(rig.pixels.n_lanes, 2U);
    EXPECT_FALSE(rig.pixels.has_input(0));
    EXPECT_EQ(rig.filter.do_work(0), 0U);
    EXPECT_TRUE(rig.pixels.has_input(0));
    EXPECT_EQ(rig.pixels.do_work(1), 1U);
    EXPECT_EQ(rig.pixels.do_work(1), 1U);
    EXPECT_TRUE(rig.pixels.has_given_back(1));
    EXPECT_FALSE(rig.pixels.has_given_back(0));
    EXPECT_EQ(rig.filter.do_work(0), 0U);
    EXPECT_EQ(rig.value("filter", "events_in"), 0U);
    EXPECT_EQ(rig.pixels.do_work(0), 1U);
    EXPECT_EQ(rig.filter.do_work(0), 1U);
    EXPECT_EQ(rig.value("filter", "events_in"), 1U);
    EXPECT_EQ(rig.given.n_released, 1U);
}

/// Events that no thread has time for stay with the builder.
TEST(CameraPixels, WaitingForThreadsIsCountedOnce) {
    PixelsRig rig(2);
    rig.filter.do_work(0);
    rig.filter.do_work(0);
    EXPECT_EQ(rig.given.n_taken, CameraPixels::n_in_flight);
    EXPECT_EQ(rig.value("waits", "for_pixels"), 1U);
    rig.filter.drain();
    rig.filter.do_work(0);
    EXPECT_FALSE(rig.filter.is_drained());
    for (const std::uint32_t lane : {0U, 1U})
        for (std::uint32_t i = 0; i < CameraPixels::n_in_flight; ++i) rig.pixels.do_work(lane);
    rig.filter.do_work(0);
    EXPECT_EQ(rig.given.n_released, CameraPixels::n_in_flight);
    while (rig.given.n_released < rig.given.events.size()) {
        rig.pixels.do_work(0);
        rig.pixels.do_work(1);
        rig.filter.do_work(0);
    }
    rig.filter.do_work(0);
    EXPECT_TRUE(rig.filter.is_drained());
}

/// Nothing is left with the builder, but one event is not decided.
TEST(CameraPixels, AnEventThatIsWithTheThreadsHoldsTheEndUp) {
    PixelsRig rig(2, 1);
    rig.filter.drain();
    for (const std::uint32_t lane : {0U, 1U}) {
        for (int i = 0; i < 3; ++i) rig.filter.do_work(0);
        EXPECT_FALSE(rig.filter.is_drained());
        EXPECT_EQ(rig.pixels.do_work(lane), 1U);
    }
    for (int i = 0; i < 2; ++i) rig.filter.do_work(0);
    EXPECT_TRUE(rig.filter.is_drained());
    EXPECT_EQ(rig.given.n_released, 1U);
}

TEST(CameraPixels, SaysHowManyThreadsLook) {
    pipeline::States states;
    PixelsRig(3).filter.add_states(states);
    EXPECT_THAT(states.at("filter"), testing::HasSubstr(" by 3 thread(s), filter on"));
    states.clear();
    PixelsRig alone(0);
    alone.filter.add_states(states);
    EXPECT_THAT(states.at("filter"), testing::Not(testing::HasSubstr("thread")));
    EXPECT_GT(alone.filter.do_work(0), 1U) << "looked at by the filter's thread itself";
}

TEST(CameraPixels, OneThreadForEachCoreIsNoneWhereThereIsOne) {
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(n_threads_of(-1), 0U);
    EXPECT_EQ(n_threads_of(3), 3U);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) > 1) {
        EXPECT_EQ(n_threads_of(-1), static_cast<std::uint32_t>(std::min(CPU_COUNT(&before), 24)));
    }
}

}  // namespace
}  // namespace anello::camera::pixels_test
