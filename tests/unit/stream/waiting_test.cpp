// SPDX-License-Identifier: Apache-2.0
// A wait alone, step by step in a time of its own: which call follows which, and what befalls between two of them.
#include "stream/ring/waiting.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "core/kernel_handle.hpp"

namespace anello::stream {
namespace {

using enum StreamStatus;

/// One side that waits for data, and its peer, which acts between two of its calls.
struct WatchedWait final : RingEnd {
    explicit WatchedWait(std::function<void(WatchedWait&)> peer) : act(std::move(peer)) {
        signal_event(always_readable);
    }

    std::byte* bytes() const noexcept override { return nullptr; }
    std::size_t size_bytes() const noexcept override { return 0; }
    void hang_up() noexcept override {}
    void quiet_bell() noexcept override {
        act(*this);
        is_rung = false;
        act(*this);
    }
    void take_wish_back() noexcept override { is_wished = false; }
    bool peer_alive() noexcept override {
        ++n_asked_alive;
        return is_alive;
    }
    /// Asked for when the side goes to sleep. Nobody else wakes it: if data are there, the bell must have rung.
    int descriptor() const noexcept override {
        n_slept_beside_it += is_there && !is_rung ? 1 : 0;
        return always_readable.number();
    }

    /// Acts as a peer that publishes: it rings the bell if this side asked for that.
    void publish() {
        is_there = true;
        is_rung = is_rung || is_wished;
        is_wished = false;
    }
    StreamStatus wait(const StreamConfig& config, Nanoseconds timeout_ns) {
        const auto look = [this] {
            act(*this);
            const StreamStatus found = is_there ? ok : would_block;
            act(*this);
            clock.advance(look_ns);
            return found;
        };
        const auto ask = [this] {
            act(*this);
            is_wished = true;
            act(*this);
        };
        return Waiting(config, timeout_ns, clock).wait(*this, n_sleeps, look, ask);
    }

    static constexpr Nanoseconds look_ns = 1'000;
    ManualClock clock{1'000'000'000};
    std::function<void(WatchedWait&)> act;
    bool is_there = false, is_rung = false, is_wished = false, is_alive = true;
    std::uint64_t n_sleeps = 0, n_asked_alive = 0;
    mutable int n_slept_beside_it = 0;

  private:
    const Descriptor always_readable = make_event_descriptor();
};

StreamConfig config_of(WaitMode mode) {
    StreamConfig config;
    config.wait = mode;
    return config;
}

/// Otherwise its wake-up is lost, and the side sleeps for as long as it may.
TEST(StreamWaiting, WhatIsPublishedBetweenAnyTwoOfItsCallsIsFound) {
    constexpr int n_moments = 12;  // of the first two rounds: quiet the bell, ask, look
    for (int moment = 0; moment < n_moments; ++moment) {
        int now = 0;
        WatchedWait side([&](WatchedWait& waiting) {
            if (now++ == moment) waiting.publish();
        });
        EXPECT_EQ(side.wait(config_of(WaitMode::block), 1'000'000), ok) << "published at moment " << moment;
        EXPECT_EQ(side.n_slept_beside_it, 0) << "published at moment " << moment;
        EXPECT_GT(now, moment);
        EXPECT_FALSE(side.is_wished) << "nobody would hear that bell";
    }
}

TEST(StreamWaiting, ADeadPeerIsNoticedSoonWhileItSpinsThoughNotAskedAtEachLook) {
    constexpr Nanoseconds ms = 1'000'000;
    for (const Nanoseconds lives_ns : {Nanoseconds{0}, 5 * ms, 3'000 * ms}) {
        WatchedWait side([](WatchedWait&) {});
        const Nanoseconds begin_ns = side.clock.monotonic_ns();
        side.act = [&](WatchedWait& waiting) { waiting.is_alive = waiting.clock.monotonic_ns() < begin_ns + lives_ns; };
        EXPECT_EQ(side.wait(config_of(WaitMode::spin), no_deadline_ns), peer_died);
        const Nanoseconds took_ns = side.clock.monotonic_ns() - begin_ns;
        EXPECT_LE(took_ns, lives_ns + 10 * ms);
        EXPECT_LE(side.n_asked_alive, static_cast<std::uint64_t>(took_ns / ms) + 1) << "it costs a system call";
    }
}

TEST(StreamWaiting, WhatAPeerPublishedBeforeItDiedIsFound) {
    for (const WaitMode mode : {WaitMode::spin, WaitMode::block}) {
        WatchedWait side([](WatchedWait& waiting) {
            if (waiting.n_asked_alive > 0) waiting.publish();  // of which the look before the question knew nothing
        });
        side.is_alive = false;
        EXPECT_EQ(side.wait(config_of(mode), no_deadline_ns), ok);
    }
}

}  // namespace
}  // namespace anello::stream
