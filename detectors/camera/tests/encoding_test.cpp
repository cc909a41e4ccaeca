// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/encoding.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"

namespace anello::camera::encoding_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 12, .boards_per_group = 5};
constexpr std::uint32_t n_lanes = 3, n_places = 64;

/// Events with a different number of boards take different times.
std::vector<std::unique_ptr<test::CameraEvent>> events_of_a_run(std::uint32_t n_events) {
    std::vector<std::unique_ptr<test::CameraEvent>> events;
    source::Random random(7);
    for (std::uint32_t e = 0; e < n_events; ++e) {
        events.push_back(std::make_unique<test::CameraEvent>(layout, e));
        test::fill_waveforms(*events.back(), random, 4, [](std::uint32_t p) { return p < 20 ? 12.0 : 0.0; });
        for (std::uint32_t board = 0; board < e % 11; ++board) events.back()->remove(board);
    }
    return events;
}

/// Records of all events in the order in which the sender finds them, and the events' numbers.
std::vector<std::vector<std::byte>> sent(KeptEvents& kept, std::size_t n_events) {
    std::vector<std::vector<std::byte>> records;
    while (records.size() < n_events) {
        KeptEvent* const event = kept.try_take();
        if (event == nullptr) {
            std::this_thread::yield();
            continue;
        }
        EXPECT_EQ(event->event.event_number, records.size());
        records.emplace_back(event->encoded.record.begin(), event->encoded.record.end());
        kept.give_back(*event);
    }
    return records;
}

TEST(CameraEncoding, ThreadsSideBySideMakeTheRecordsOfOneInItsOrder) {
    const auto events = events_of_a_run(200);
    const CameraShape shape = events[0]->view().shape;
    KeptEvents kept(n_places, 0, n_lanes);
    CompressionChoices choices({});
    CameraEncoding encoding({{.n_threads = static_cast<std::int32_t>(n_lanes)}}, choices, kept, shape);
    const pipeline::Stage stage = encoding.stage();
    ASSERT_EQ(stage.n_lanes, n_lanes);
    std::atomic<bool> done{false};
    std::vector<std::jthread> threads;
    for (std::uint32_t lane = 0; lane < n_lanes; ++lane)
        threads.emplace_back([&, lane] {
            while (!done.load(std::memory_order_relaxed))
                if (stage.do_work(lane) == 0) std::this_thread::yield();
        });
    std::vector<std::vector<std::byte>> records;
    std::jthread sender([&] { records = sent(kept, events.size()); });
    for (std::size_t n_given = 0, n_back = 0; n_back < events.size();) {
        if (n_given < events.size() && kept.try_give(events[n_given]->view(), {}, {})) ++n_given;
        if (kept.try_reclaim() != nullptr)
            ++n_back;
        else
            std::this_thread::yield();
    }
    sender.join();
    done = true;
    CameraEncoder one({}, shape);
    std::vector<std::byte> record(one.max_record_bytes());
    for (std::size_t e = 0; e < events.size(); ++e) {
        const auto expected = one.encode_event(events[e]->view(), record).record;
        ASSERT_TRUE(std::ranges::equal(records[e], expected)) << "event " << e;
    }
}

TEST(CameraEncoding, ALaneWaitsWhereTheSenderTakesNothingAndWritesOverNoRecord) {
    const auto events = events_of_a_run(40);
    KeptEvents kept(n_places, 0, 1);
    CompressionChoices choices({});
    CameraEncoding encoding({{.n_threads = 1}}, choices, kept, events[0]->view().shape);
    const pipeline::Stage stage = encoding.stage();
    for (const auto& event : events) ASSERT_TRUE(kept.try_give(event->view(), {}, {}));
    EXPECT_EQ(stage.longest_wait_ns(0), longest_idle_ns);
    std::uint32_t n_made = 0;
    while (stage.do_work(0) > 0) ++n_made;
    EXPECT_EQ(n_made, KeptEvents::most_behind_lane + 1) << "the last in the lane's hands";
    EXPECT_EQ(stage.longest_wait_ns(0), usual_wait_ns) << "the sender does not wake it";
    KeptEvent* const first = kept.try_take();
    const std::vector<std::byte> record(first->encoded.record.begin(), first->encoded.record.end());
    while (stage.do_work(0) > 0) {
    }
    EXPECT_TRUE(std::ranges::equal(record, first->encoded.record)) << "the sender still has it";
}

TEST(CameraEncoding, RefusesWhatTheEncoderRefuses) {
    KeptEvents kept(2, 0, 1);
    CompressionChoices choices({});
    const EncodingConfig config{.compression = {.level = 20, .n_threads = 1}};
    EXPECT_THROW(CameraEncoding(config, choices, kept, test::CameraEvent(layout).view().shape), ConfigError);
}

}  // namespace
}  // namespace anello::camera::encoding_test
