// SPDX-License-Identifier: Apache-2.0
// Frames of four boards through the card's model and its merger, to batches of events.
#include "events/card_events.hpp"

#include <gmock/gmock.h>

#include <map>
#include <optional>

#include "core/errors.hpp"
#include "receive/card/make_backend.hpp"
#include "unit/events/merger_rig.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/mgp_sender.hpp"
#include "unit/receive/nanet_library.hpp"

namespace anello::events {
namespace {

using receive::test::MgpSender;
using test::TestEvent;
using testing::HasSubstr;
namespace mgp = wire::mgp;

constexpr std::uint32_t n_boards = 4, n_channels = 488;
constexpr std::uint16_t first_port = 6000;

/// Takes batches; gives buffers back when the test says so.
class KeepingSink final : public BatchSink {
  public:
    explicit KeepingSink(memory::PersistentBuffers& buffers, const BatchShape& shape)
        : buffers_(buffers), shape_(shape) {}
    bool try_give(const BatchCompletion& batch) noexcept override {
        if (held.has_value()) return false;
        held = batch;
        return true;
    }
    void release() {
        if (!held) return;
        test::read_batch(columns_of(buffers_.bytes(held->buffer), shape_), *held, events);
        n_ends += held->end_of_burst ? 1 : 0;
        buffers_.give_back(held->buffer);
        held.reset();
    }
    std::optional<BatchCompletion> held;
    std::vector<TestEvent> events;
    int n_ends = 0;

  private:
    memory::PersistentBuffers& buffers_;
    BatchShape shape_;
};

class CardEventsTest : public testing::Test {
  protected:
    void SetUp() override {
        if (const std::string reason = receive::test::reason_without_nanet(); !reason.empty()) GTEST_SKIP() << reason;
        for (std::uint16_t b = 0; b < n_boards; ++b) {
            boards_.emplace_back(b, mgp::with_checksum | mgp::hits_with_time);
            boards_.back().begin_burst(3, 1000);
        }
    }
    void send(std::uint32_t board, const std::vector<std::byte>& datagram) {
        const receive::UdpRoute route{{2, 1},
                                      {2, 2},
                                      receive::test::captured_source,
                                      {0x0a000001, static_cast<std::uint16_t>(first_port + board)}};
        std::vector<std::byte> frame(
            std::max(receive::udp_header_bytes + datagram.size(), receive::shortest_frame_bytes));
        receive::write_udp_frame(route, datagram, frame);
        capture_.add(frame);
    }
    void send_all(std::uint32_t n_packets, std::uint32_t n_events) {
        for (std::uint32_t i = 0; i < n_packets; ++i)
            for (std::uint32_t b = 0; b < n_boards; ++b) send(b, boards_[b].data(n_events));
    }
    void end_all() {
        for (std::uint32_t b = 0; b < n_boards; ++b) send(b, boards_[b].marker(mgp::end_of_burst));
    }
    static receive::NanetMergeConfig merge_config() {
        return {.library = receive::test::nanet_library(),
                .source_ids = {0, 1, 2, 3},
                .n_channels = n_channels,
                .timeout_ns = 1'000'000};
    }
    std::unique_ptr<receive::NanetFrames> frames(std::uint16_t n_ports = n_boards) {
        std::vector<std::uint16_t> ports;
        for (std::uint16_t b = 0; b < n_ports; ++b) ports.push_back(static_cast<std::uint16_t>(first_port + b));
        return std::make_unique<receive::CaptureNanetFrames>(capture_.finish(), ports, 0, SystemClock::instance());
    }
    /// Runs all of the capture, until it has drained.
    void run(const receive::NanetMergeConfig& merge = merge_config()) {
        card_ = std::make_unique<receive::NanetMerger>(merge, frames(), page_);
        events_ = std::make_unique<CardEvents>(MergerConfig{.batch = shape_}, n_channels, *card_, buffers_, sink_,
                                               SystemClock::instance(), page_);
        for (int i = 0; i < 200'000 && !events_->is_drained(); ++i) {
            if (events_->do_work() > 0) continue;
            sink_.release();
            if (card_->finished()) events_->finish();
        }
        ASSERT_TRUE(events_->is_drained());
        sink_.release();
    }
    std::uint64_t count(BuildCounter counter) const { return events_->counters()[counter]; }
    std::uint64_t count(receive::NanetMergeCounter counter) const { return card_->counters()[counter]; }
    std::uint64_t count(std::uint32_t board, BoardCounter counter) const {
        return events_->board_counters(board)[counter];
    }

    BatchShape shape_{.max_events = 16, .max_hits = 16 * 100};
    CounterPage page_;
    memory::PersistentBuffers buffers_{{.n_buffers = 2, .buffer_bytes = batch_bytes(shape_)}};
    KeepingSink sink_{buffers_, shape_};
    receive::test::CaptureWriter capture_;
    std::vector<MgpSender> boards_;
    std::unique_ptr<receive::NanetMerger> card_;
    std::unique_ptr<CardEvents> events_;
};

/// Batches have 16 events and two buffers: what the card has merged waits for them, and none is lost.
TEST_F(CardEventsTest, EventsAreThoseThatWereSentThoughBatchesAreFew) {
    send_all(60, 4);
    end_all();
    run();
    ASSERT_EQ(sink_.events.size(), 240U);
    EXPECT_EQ(sink_.n_ends, 1);
    for (std::uint32_t i = 0; i < sink_.events.size(); ++i) {
        const TestEvent& event = sink_.events[i];
        const std::uint32_t ticks = 1000 + 5 * i, n_hits = MgpSender::n_hits_of(ticks);
        EXPECT_EQ(event.event_key, event_key(3, ticks));
        EXPECT_EQ(event.fine_time, static_cast<std::uint8_t>(ticks));
        EXPECT_EQ(event.missing_boards, 0U);
        ASSERT_EQ(event.hit_id.size(), n_boards * n_hits) << i;
        for (std::uint32_t b = 0; b < n_boards; ++b)
            for (std::uint32_t j = 0; j < n_hits; ++j) {
                const mgp::Hit hit = MgpSender::hit_of(ticks, j);
                EXPECT_EQ(event.hit_id[b * n_hits + j], b * n_channels + hit.channel);
                EXPECT_EQ(event.hit_time_fine[b * n_hits + j], hit.time_fine);
            }
    }
    EXPECT_EQ(count(BuildCounter::events_complete), 240U);
    EXPECT_EQ(count(BuildCounter::fragments_merged), 960U);
    EXPECT_EQ(count(BuildCounter::fragments_in), 960U);
    EXPECT_EQ(count(receive::NanetMergeCounter::datagrams_ok), 244U);
    EXPECT_EQ(count(receive::NanetMergeCounter::hits), count(receive::NanetMergeCounter::hits_read));
    EXPECT_EQ(count(receive::NanetMergeCounter::records_malformed), 0U);
}

/// Each record is a buffer of its own then, and the card has 64 of them.
TEST_F(CardEventsTest, WithoutGatheringNoBufferIsMissingAndNoRecordIsDropped) {
    send_all(60, 8);
    end_all();
    receive::NanetMergeConfig merge = merge_config();
    merge.gathering_cycles = 0;
    run(merge);
    EXPECT_EQ(sink_.events.size(), 480U);
    EXPECT_EQ(card_->card_counters()[receive::NanetCounter::records_dropped], 0U);
    EXPECT_EQ(card_->card_counters()[receive::NanetCounter::buffers],
              card_->card_counters()[receive::NanetCounter::records_written]);
}

/// A drained card waits for no board, and a burst that was open ends.
TEST_F(CardEventsTest, WhatNobodyEndedIsMergedAtTheEnd) {
    send_all(5, 4);
    for (std::uint32_t b = 0; b < 3; ++b) send(b, boards_[b].data(4));
    run();
    EXPECT_EQ(sink_.events.size(), 24U);
    EXPECT_EQ(sink_.n_ends, 1);
    EXPECT_EQ(count(BuildCounter::events_incomplete), 4U);
    EXPECT_EQ(count(3, BoardCounter::missing), 4U);
    EXPECT_EQ(count(3, BoardCounter::silences), 1U);
    EXPECT_EQ(count(receive::NanetMergeCounter::bursts_ended), 0U);
}

TEST_F(CardEventsTest, RejectedEventsAreCountedByTheCard) {
    send_all(2, 4);
    for (std::uint32_t b = 0; b < 3; ++b) send(b, boards_[b].data(4));
    end_all();
    receive::NanetMergeConfig merge = merge_config();
    merge.keep_incomplete = false;
    run(merge);
    EXPECT_EQ(sink_.events.size(), 8U);
    EXPECT_EQ(count(BuildCounter::events_rejected), 4U);
    EXPECT_EQ(count(BuildCounter::events_built), 12U);
    EXPECT_EQ(count(BuildCounter::fragments_merged), 2U * 4 * 4 + 4 * 3);
}

TEST_F(CardEventsTest, OfWhatIsWrongEachHasItsCause) {
    send_all(3, 4);
    std::vector<std::byte> damaged = boards_[0].data(4), again = boards_[1].data(4);
    damaged[mgp::header_bytes] ^= std::byte{1};
    send(0, damaged);
    for (int i = 0; i < 2; ++i) send(1, again);
    for (std::uint32_t b = 2; b < n_boards; ++b) send(b, boards_[b].data(4));
    send(2, std::vector<std::byte>(3));
    end_all();
    run();
    EXPECT_EQ(count(receive::NanetMergeCounter::datagrams_wrong_checksum), 1U);
    EXPECT_EQ(count(receive::NanetMergeCounter::datagrams_too_short), 1U);
    EXPECT_EQ(count(0, BoardCounter::missing), 4U);
    EXPECT_EQ(count(1, BoardCounter::fragments_late) + count(1, BoardCounter::fragments_duplicate), 4U);
    EXPECT_EQ(count(1, BoardCounter::fragments_in), 20U);
}

TEST_F(CardEventsTest, MoreBoardsThanTheCardWasMadeForAreRefused) {
    receive::NanetMergeConfig merge = merge_config();
    for (std::uint16_t b = 4; b < 9; ++b) merge.source_ids.push_back(b);
    try {
        receive::NanetMerger(merge, frames(9), page_);
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("receive.nanet_merge"), HasSubstr("9 boards"), HasSubstr("false")));
    }
}

}  // namespace
}  // namespace anello::events
