// SPDX-License-Identifier: Apache-2.0
// What every way to publish must do.
#include "publish/stream_publisher.hpp"
#include "unit/publish/ways.hpp"

namespace anello::publish {
namespace {

using anello::test::comes_true;
using test::Publishing;
using test::Received;

constexpr std::size_t large = 4000;  // values of a record

template <typename Way>
class PublisherConformance : public testing::Test {};
using Ways = testing::Types<test::StreamWay, test::PushWay, test::PubWay>;
TYPED_TEST_SUITE(PublisherConformance, Ways);

template <typename Subscriber>
std::optional<Received> wait_for_next(Subscriber& subscriber) {
    std::optional<Received> received;
    comes_true([&] { return (received = subscriber.next()).has_value() || subscriber.has_ended(); });
    return received;
}

/// Numbers of all records until the end; -1 for a wrong record.
template <typename Subscriber>
std::vector<std::uint64_t> read_to_the_end(Subscriber& subscriber) {
    std::vector<std::uint64_t> numbers;
    while (const auto received = wait_for_next(subscriber)) numbers.push_back(test::checked_number(*received));
    EXPECT_TRUE(subscriber.has_ended());
    return numbers;
}

TYPED_TEST(PublisherConformance, RecordsComeWholeAndInOrderAndThenTheEnd) {
    ManualClock clock(stall_ns);
    Publishing publishing(TypeParam::config(WhenFull::wait), clock);
    typename TypeParam::Subscriber subscriber(publishing.address());
    for (std::uint64_t number = 0; number < 200; ++number) {
        ASSERT_TRUE(publishing.next(number % 50 == 0 ? large : number));
        const auto received = wait_for_next(subscriber);
        ASSERT_TRUE(received);
        EXPECT_EQ(test::checked_number(*received), number);
        clock.advance(stall_ns);
    }
    EXPECT_TRUE(publishing.publisher().notices().empty()) << "it did not stand still";
    publishing.publisher().close();
    EXPECT_FALSE(wait_for_next(subscriber));
    EXPECT_TRUE(subscriber.has_ended());
    EXPECT_EQ(publishing[PublishCounter::records_sent], 200U);
    EXPECT_EQ(publishing[PublishCounter::records_left_at_end], 0U);
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, WithoutSubscriberRecordsAreDroppedAndCounted) {
    Publishing publishing(TypeParam::config(WhenFull::drop));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(publishing.try_next());
    publishing.publisher().close();
    EXPECT_EQ(publishing[PublishCounter::records_dropped_full] + publishing[PublishCounter::records_dropped_nobody],
              10U);
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, WhoWaitsGivesUpWhenTold) {
    Publishing publishing(TypeParam::config(WhenFull::wait));
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(publishing.try_next());
    EXPECT_EQ(publishing[PublishCounter::records_in], 0U);
    publishing.publisher().give_up();
    EXPECT_TRUE(publishing.try_next());
    publishing.publisher().close();
    EXPECT_EQ(publishing[PublishCounter::records_dropped_at_end], 1U);
    EXPECT_EQ(publishing[PublishCounter::records_waited], 1U);
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, AWaitingPublisherLosesNothingToASlowSubscriber) {
    Publishing publishing(TypeParam::config(WhenFull::wait));
    typename TypeParam::Subscriber subscriber(publishing.address());
    ASSERT_TRUE(publishing.next(large));
    ASSERT_TRUE(comes_true([&] { return !publishing.try_next(large); })) << "it never waits";
    int n_more = 20;
    for (std::uint64_t number = 0; number < publishing.n_taken(); ++number) {
        const auto received = wait_for_next(subscriber);
        ASSERT_TRUE(received);
        EXPECT_EQ(test::checked_number(*received), number);
        n_more -= n_more > 0 && publishing.try_next(large) ? 1 : 0;
    }
    EXPECT_EQ(n_more, 0);
    publishing.publisher().close();
    EXPECT_EQ(publishing[PublishCounter::records_sent], publishing.n_taken());
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, WhatASlowSubscriberMissesIsCountedAndSeenAsGaps) {
    PublishConfig config = TypeParam::config(WhenFull::drop);
    config.end_timeout_ns = config.read_timeout_ns = anello::test::patience_ns;  // however busy the machine is
    Publishing publishing(config);
    typename TypeParam::Subscriber subscriber(publishing.address());
    ASSERT_TRUE(comes_true([&] { return publishing.try_next() && publishing[PublishCounter::records_sent] > 0; }));
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(publishing.try_next(large));
    std::vector<std::uint64_t> numbers;
    if (const auto first = wait_for_next(subscriber)) numbers.push_back(test::checked_number(*first));
    std::thread closing([&] { publishing.publisher().close(); });  // ZeroMQ waits for readers
    for (const std::uint64_t number : read_to_the_end(subscriber)) numbers.push_back(number);
    subscriber.die();
    closing.join();
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_LT(numbers.size(), 1000U);
    if (TypeParam::shows_all_drops) {
        EXPECT_EQ(numbers.size(), publishing[PublishCounter::records_sent]);
        EXPECT_GT(publishing[PublishCounter::records_dropped_full], 0U);
    }
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, ADeadSubscriberHoldsNobodyUpForEver) {
    Publishing publishing(TypeParam::config(WhenFull::wait));
    auto dying = std::make_unique<typename TypeParam::Subscriber>(publishing.address());
    ASSERT_TRUE(publishing.next(large));
    ASSERT_TRUE(comes_true([&] { return !publishing.try_next(large); }));
    dying->die();
    const std::uint64_t n_before = publishing.n_taken();
    typename TypeParam::Subscriber next(publishing.address());
    std::optional<Received> received;  // ZeroMQ loses the records that it gives to the dead one before it knows
    ASSERT_TRUE(comes_true([&] {
        publishing.try_next(large);
        return (received = next.next()).has_value();
    }));
    EXPECT_GE(test::checked_number(*received), n_before);
    publishing.publisher().close();
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, ASubscriberThatStandsStillIsToldOfOnce) {
    ManualClock clock;
    Publishing publishing(TypeParam::config(WhenFull::wait), clock);
    typename TypeParam::Subscriber subscriber(publishing.address());
    ASSERT_TRUE(publishing.next(large));
    Notices lines;
    ASSERT_TRUE(comes_true([&] {
        if (!publishing.try_next(large)) clock.advance(stall_ns / 100);  // queues on the way may have room again
        return !(lines = publishing.publisher().notices()).empty();
    }));
    EXPECT_NE(lines.front().text.find(publishing.address()), std::string::npos) << lines.front().text;
    if (std::is_same_v<TypeParam, test::StreamWay>) {
        EXPECT_NE(lines.back().text.find("publish.subscriber0"), std::string::npos) << lines.back().text;
    }
    clock.advance(stall_ns);
    publishing.try_next(large);
    EXPECT_TRUE(publishing.publisher().notices().empty()) << "reported twice";
    subscriber.die();
}

TEST(StreamPublisher, WhoDiesIsFoundBehindAPlaceThatIsFree) {
    ManualClock clock;
    Publishing publishing(test::StreamWay::config(WhenFull::wait), clock);
    test::StreamWay::Subscriber first(publishing.address());
    auto& publisher = dynamic_cast<StreamPublisher&>(publishing.publisher());
    ASSERT_TRUE(comes_true([&] { return publisher.n_subscribers() == 1; }));
    test::StreamWay::Subscriber second(publishing.address());
    ASSERT_TRUE(comes_true([&] { return publisher.n_subscribers() == 2; }));
    for (test::StreamWay::Subscriber* const dying : {&first, &second}) {
        while (publishing.try_next(large)) {
        }
        dying->die();
        clock.advance(stall_ns);  // it is time to look for the dead
        publishing.try_next(large);
        EXPECT_EQ(publisher.n_subscribers(), dying == &first ? 1U : 0U);
    }
}

TEST(StreamPublisher, OfASubscriberThatIsGoneNobodyIsToldThatItStandsStill) {
    ManualClock clock;
    Publishing publishing(test::StreamWay::config(WhenFull::wait), clock);
    test::StreamWay::Subscriber subscriber(publishing.address());
    ASSERT_TRUE(publishing.next(large));
    ASSERT_TRUE(comes_true([&] { return !publishing.try_next(large); }));
    clock.advance(stall_ns);
    EXPECT_FALSE(publishing.try_next(large));
    subscriber.die();
    clock.advance(stall_ns);  // it is time to look for the dead
    EXPECT_FALSE(publishing.try_next(large));
    for (const Notice& notice : publishing.publisher().notices())
        EXPECT_EQ(notice.text.find("subscriber0"), std::string::npos) << notice.text;
}

TYPED_TEST(PublisherConformance, WhatIsLongerThanAnnouncedIsRefused) {
    Publishing publishing(TypeParam::config(WhenFull::wait));
    EXPECT_TRUE(publishing.try_next(test::largest_bytes / 8));
    EXPECT_EQ(publishing[PublishCounter::records_dropped_too_large], 1U);
    EXPECT_EQ(publishing.unbalanced(), "");
}

TYPED_TEST(PublisherConformance, TwoPublishersCannotHaveOneAddress) {
    const PublishConfig config = TypeParam::config(WhenFull::drop);
    Publishing first(config);
    if (config.to == PublishTo::stream) {  // ZeroMQ takes an ipc:// path from its present owner
        EXPECT_THROW(Publishing second(config), SystemError);
    }
    PublishConfig wrong = config;
    wrong.address = "";
    EXPECT_THROW(Publishing second(wrong), ConfigError);
    wrong.to = PublishTo::nothing;
    EXPECT_NO_THROW(wrong.validate()) << "nobody needs it";
}

}  // namespace
}  // namespace anello::publish
