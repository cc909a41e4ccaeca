// SPDX-License-Identifier: Apache-2.0
// Records as they are made of multi-event packets, and as they are read.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/errors.hpp"
#include "publish/mep_publisher.hpp"
#include "publish/stream_publisher.hpp"
#include "unit/publish/record_copy.hpp"
#include "unit/publish/ways.hpp"
#include "unit/stream/lying_peer.hpp"
#include "wire/bytes.hpp"

namespace anello::publish {
namespace {

TEST(RecordWriter, EachArrayBeginsAtAMultipleOfTheAlignment) {
    std::vector<std::byte> bytes(2 * record_alignment + 1, std::byte{7});
    for (std::uint32_t n = 0; n <= bytes.size(); ++n) {
        RecordWriter writer(RecordKind::decisions, 2, 8);
        writer.begin(1);
        for (const char* const name : {"first", "second"}) {
            writer.open(name, ArrayType::u8, {n});
            writer.add_bytes(std::span(bytes).first(n));
            writer.close();
        }
        const OutgoingRecord record = writer.finish();
        EXPECT_EQ(record.length_bytes() % record_alignment, 0U) << n << " bytes";
        const test::Received copy = test::copy_of(record);
        EXPECT_EQ(test::array_of<std::uint8_t>(test::view_of(copy), "second"), std::vector<std::uint8_t>(n, 7));
    }
}

/// Has room for this number of records, and counts them.
struct CountingSink final : exchange::MepSink {
    explicit CountingSink(int& room_left) : room(room_left) {}
    bool try_take(const exchange::MepView&) noexcept override { return room-- > 0; }
    bool try_give_back(std::uint32_t&) noexcept override { return false; }
    int& room;
};

TEST(MepPublisher, PublishesOnceWhatTheStageBehindTakesLater) {
    const std::vector<std::byte> first(16, std::byte{0xa1}), second(21, std::byte{0xb2});
    const std::vector<std::span<const std::byte>> mfps{first, {}, second};
    const exchange::MepView mep{
        .mep = 3, .first_event = 15, .n_events = 5, .n_missing = 1, .built_ns = 7, .mfps = mfps};
    CounterPage page;
    int room = 0;
    MepPublisher publisher(test::StreamWay::config(WhenFull::drop), MepRecord(3, 24, 9),
                           std::make_unique<CountingSink>(room), SystemClock::instance(), page);
    test::StreamWay::Subscriber subscriber(publisher.publisher().address());
    auto& stream_publisher = dynamic_cast<StreamPublisher&>(publisher.publisher());
    ASSERT_TRUE(anello::test::comes_true([&] { return stream_publisher.n_subscribers() == 1; }));
    EXPECT_FALSE(publisher.try_take(mep));
    room = 1;
    EXPECT_TRUE(publisher.try_take(mep));
    publisher.close();
    const auto received = subscriber.next();
    ASSERT_TRUE(received);
    const RecordView view = test::view_of(*received);
    EXPECT_EQ(view.value<std::uint64_t>("mep"), 3U);
    EXPECT_EQ(view.value<std::uint64_t>("first_event"), 15U);
    EXPECT_EQ(view.value<std::uint32_t>("n_events"), 5U);
    EXPECT_EQ(view.value<std::uint32_t>("n_missing"), 1U);
    EXPECT_EQ(view.value<std::int64_t>("built_ns"), 7);
    EXPECT_EQ(test::array_of<std::uint64_t>(view, "mfp_offset"), (std::vector<std::uint64_t>{0, 16, 16}));
    EXPECT_EQ(test::array_of<std::uint32_t>(view, "mfp_bytes"), (std::vector<std::uint32_t>{16, 0, 21}));
    const auto bytes = view.array<std::uint8_t>("mfps");
    ASSERT_EQ(bytes.size(), 40U);
    EXPECT_EQ(bytes[16 + 20], 0xb2);
    EXPECT_EQ(bytes.back(), 0);
    EXPECT_FALSE(subscriber.next());
    EXPECT_EQ(publisher.publisher().counters()[PublishCounter::records_in], 1U);
}

template <typename Way>
class ZmqPublisher : public testing::Test {};
using ZmqWays = testing::Types<test::PushWay, test::PubWay>;
TYPED_TEST_SUITE(ZmqPublisher, ZmqWays);

/// With a subscriber that reads nothing. A full queue may have room again when it ends: then the test tries once more.
TYPED_TEST(ZmqPublisher, WhatLibzmqStillHasAtTheEndIsCounted) {
    PublishConfig config = TypeParam::config(WhenFull::wait);
    config.end_timeout_ns = 1'000'000;
    constexpr std::size_t n_values = 4'000;
    EXPECT_TRUE(anello::test::comes_true([&] {
        test::Publishing publishing(config);
        const typename TypeParam::Subscriber subscriber(publishing.address());
        EXPECT_TRUE(publishing.next(n_values));
        EXPECT_TRUE(anello::test::comes_true([&] { return !publishing.try_next(n_values); })) << "it never waits";
        publishing.publisher().close();
        EXPECT_LE(publishing[PublishCounter::records_left_at_end], publishing[PublishCounter::records_sent]);
        EXPECT_EQ(publishing.unbalanced(), "");
        return publishing[PublishCounter::records_left_at_end] > 0;
    })) << "nothing is ever left";
}

TEST(StreamPublisher, TurnsAwayWhoHasTooSmallARingOrComesTooLate) {
    PublishConfig config = test::StreamWay::config(WhenFull::drop);
    config.max_subscribers = 1;
    CounterPage page;
    StreamPublisher publisher(config, 1000, SystemClock::instance(), page);
    test::StreamWay::Subscriber first(publisher.address());
    ASSERT_TRUE(anello::test::comes_true([&] { return publisher.n_subscribers() == 1; }));
    test::StreamWay::Subscriber second(publisher.address());
    Notices notices;
    ASSERT_TRUE(anello::test::comes_true([&] { return !(notices = publisher.notices()).empty(); }));
    EXPECT_NE(notices.front().text.find("max_subscribers"), std::string::npos);
    config.address = test::StreamWay::config(WhenFull::drop).address;
    CounterPage other_page;
    StreamPublisher wide(config, stream::smallest_ring_bytes, SystemClock::instance(), other_page);
    test::StreamWay::Subscriber small(wide.address());
    ASSERT_TRUE(anello::test::comes_true([&] { return !(notices = wide.notices()).empty(); }));
    EXPECT_NE(notices.front().text.find("ring_bytes of 131072"), std::string::npos);
    EXPECT_EQ(wide.n_subscribers(), 0U);
    config.address = test::StreamWay::config(WhenFull::drop).address;
    CounterPage third_page;
    StreamPublisher fitting(config, stream::smallest_ring_bytes - stream::message_header_bytes, SystemClock::instance(),
                            third_page);
    test::StreamWay::Subscriber exact(fitting.address());
    EXPECT_TRUE(anello::test::comes_true([&] { return fitting.n_subscribers() == 1; }))
        << "a ring of one record is enough";
}

/// A subscriber that wants a bell for each record, takes none, and makes all that it holds blocking.
TEST(StreamPublisher, NoSubscriberStopsARunThatDrops) {
    CounterPage page;
    StreamPublisher publisher(test::StreamWay::config(WhenFull::drop), 1000, SystemClock::instance(), page);
    stream::test::LyingPeer subscriber(publisher.address(), stream::hello_receives);
    ASSERT_TRUE(anello::test::comes_true([&] { return publisher.n_subscribers() == 1; }));
    fcntl(subscriber.socket.number(), F_SETFL, 0);
    subscriber.flood();
    RecordWriter writer(RecordKind::end, 1, 0);
    constexpr std::uint64_t n_records = 20'000;
    for (std::uint64_t n = 0; n < n_records; ++n) {
        writer.begin(0);
        writer.add_value("number", n);
        subscriber.own.header().receiver_waits = 1;
        if (n < n_records / 2) subscriber.own.header().tail = subscriber.own.header().head.load();
        ASSERT_TRUE(publisher.try_publish(writer.finish()));
    }
    const auto& counters = publisher.counters();
    EXPECT_EQ(counters[PublishCounter::records_in], n_records);
    EXPECT_GT(counters[PublishCounter::records_dropped_full], 0U);
    EXPECT_GE(counters[PublishCounter::records_sent], n_records / 2);
    publisher.close();
    EXPECT_EQ(subscriber.own.header().sender_ended, 1U);
}

}  // namespace
}  // namespace anello::publish
