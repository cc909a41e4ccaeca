// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_handle.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>

#include <utility>

namespace anello {
namespace {

bool readable(const Descriptor& descriptor, int timeout_ms = 0) {
    pollfd watched{.fd = descriptor.number(), .events = POLLIN, .revents = 0};
    return poll(&watched, 1, timeout_ms) == 1;
}

TEST(Descriptor, ClosesItselfOnce) {
    Descriptor moved;
    EXPECT_FALSE(moved.open());
    int number = -1;
    {
        Descriptor first = make_event_descriptor();
        number = first.number();
        moved = std::move(first);
    }
    EXPECT_NE(fcntl(number, F_GETFD), -1) << "it has another owner";
    moved = Descriptor();
    EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(Descriptor, AnEventIsTakenOnce) {
    const Descriptor event = make_event_descriptor();
    EXPECT_FALSE(take_event(event));
    signal_event(event);
    signal_event(event);
    EXPECT_TRUE(readable(event));
    EXPECT_TRUE(take_event(event));
    EXPECT_FALSE(take_event(event));
}

TEST(Descriptor, ATimerIsReadableFromItsTimeOn) {
    constexpr Nanoseconds an_hour_ns = 3'600'000'000'000;
    constexpr int limit_ms = 10'000;
    const Descriptor timer = make_timer_descriptor();
    EXPECT_FALSE(readable(timer)) << "it was never set";
    for (const Nanoseconds after_ns : {Nanoseconds{1'000'000}, Nanoseconds{0}, Nanoseconds{-5}}) {
        set_timer(timer, after_ns);
        EXPECT_TRUE(readable(timer, limit_ms));
        set_timer(timer, an_hour_ns);
        EXPECT_FALSE(readable(timer));
    }
    set_timer(timer, 0);
    EXPECT_TRUE(readable(timer, limit_ms));
    stop_timer(timer);
    EXPECT_FALSE(readable(timer));
}

TEST(Descriptor, AnEpollTellsWhatItWatches) {
    const Descriptor epoll = make_epoll(), event = make_event_descriptor();
    watch(epoll, event.number(), 17, EPOLLIN);
    EXPECT_FALSE(readable(epoll));
    signal_event(event);
    epoll_event told{};
    ASSERT_EQ(epoll_wait(epoll.number(), &told, 1, 0), 1);
    EXPECT_EQ(told.data.u64, 17U);
    watch(epoll, event.number(), 17, 0);
    EXPECT_FALSE(readable(epoll)) << "watched for something else";
}

}  // namespace
}  // namespace anello
