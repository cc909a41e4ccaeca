// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "patience.hpp"
#include "receive/datagrams/backend.hpp"

/// What every backend must do. A carrier brings datagrams to a backend:
///   struct Carrier {
///     explicit Carrier(std::uint16_t n_streams);
///     void send(std::uint16_t stream, std::span<const std::byte> datagram);   // in this order
///     SourceAddress source(std::uint16_t stream);                            // that its datagrams come from
///     Backend& backend();                                                    // all that was sent is on its way
///     static constexpr std::size_t largest_datagram_bytes;                   // optional: longer ones are not sent
///     static constexpr bool never_waits;                                     // optional: all is there from the start
///     static std::string reason_to_skip();                                   // optional: empty where it works
///   };
namespace anello::receive::conformance {

using Bytes = std::vector<std::byte>;

struct Delivery {
    std::uint16_t stream;
    Bytes bytes;
    bool operator==(const Delivery&) const = default;
};

inline Bytes random_bytes(std::mt19937& random, std::size_t n_bytes) {
    Bytes bytes(n_bytes);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

/// Takes until `n_expected` datagrams came, or gives up after many calls without any.
inline std::vector<Delivery> take(Backend& backend, std::size_t n_expected, std::size_t batch_size = 32) {
    std::vector<Delivery> taken;
    std::vector<Datagram> batch(batch_size);
    for (int n_idle = 0; taken.size() < n_expected && n_idle < 20'000'000;) {
        const std::size_t n_datagrams = backend.receive(batch);
        n_idle = n_datagrams == 0 ? n_idle + 1 : 0;
        for (const Datagram& datagram : std::span(batch).first(n_datagrams)) {
            EXPECT_FALSE(datagram.cut);
            EXPECT_GE(datagram.kernel_ns, 0);
            taken.push_back({datagram.stream, Bytes(datagram.bytes.begin(), datagram.bytes.end())});
        }
    }
    return taken;
}

inline std::vector<Bytes> of_stream(const std::vector<Delivery>& all, std::uint16_t stream) {
    std::vector<Bytes> some;
    for (const Delivery& delivery : all)
        if (delivery.stream == stream) some.push_back(delivery.bytes);
    return some;
}

template <typename Carrier>
class BackendConformance : public testing::Test {
  protected:
    void SetUp() override {
        if constexpr (requires { Carrier::reason_to_skip(); })
            if (const std::string reason = Carrier::reason_to_skip(); !reason.empty()) GTEST_SKIP() << reason;
    }
    /// Sends all, takes all, and compares what each stream got, in order.
    void expect_delivered(std::uint16_t n_streams, const std::vector<Delivery>& sent, std::size_t batch_size = 32) {
        Carrier carrier(n_streams);
        for (const Delivery& delivery : sent) carrier.send(delivery.stream, delivery.bytes);
        Backend& backend = carrier.backend();
        ASSERT_EQ(backend.n_streams(), n_streams);
        const std::vector<Delivery> taken = take(backend, sent.size(), batch_size);
        EXPECT_EQ(taken.size(), sent.size());
        for (std::uint16_t stream = 0; stream < n_streams; ++stream)
            EXPECT_EQ(of_stream(taken, stream), of_stream(sent, stream)) << "stream " << stream;
        EXPECT_TRUE(take_nothing(backend));
        for (std::uint16_t stream = 0; stream < n_streams; ++stream) EXPECT_EQ(backend.kernel_dropped(stream), 0U);
        EXPECT_FALSE(backend.describe().empty());
    }
    static constexpr std::size_t largest_datagram_bytes() {
        if constexpr (requires { Carrier::largest_datagram_bytes; }) return Carrier::largest_datagram_bytes;
        return SIZE_MAX;
    }
    static bool take_nothing(Backend& backend) {
        std::vector<Datagram> batch(4);
        return backend.receive(batch) == 0;
    }

    std::mt19937 random_{20261120};
};

TYPED_TEST_SUITE_P(BackendConformance);

TYPED_TEST_P(BackendConformance, NothingIsThereBeforeSomethingIsSent) {
    this->expect_delivered(2, {});
}

TYPED_TEST_P(BackendConformance, KeepsOrderAndContentOfAllSizes) {
    std::vector<Delivery> sent;
    for (const std::size_t n_bytes : {1, 2, 17, 18, 19, 63, 64, 65, 511, 1024, 1472, 1473, 4096, 8192, 8972, 9000})
        if (n_bytes <= this->largest_datagram_bytes()) sent.push_back({0, random_bytes(this->random_, n_bytes)});
    this->expect_delivered(1, sent);
}

TYPED_TEST_P(BackendConformance, DeliversEmptyDatagrams) {
    this->expect_delivered(1, {{0, {}}, {0, random_bytes(this->random_, 5)}, {0, {}}});
}

TYPED_TEST_P(BackendConformance, KeepsStreamsApart) {
    std::vector<Delivery> sent;
    for (int i = 0; i < 120; ++i)
        sent.push_back({static_cast<std::uint16_t>(i * 7 % 5), random_bytes(this->random_, 1 + this->random_() % 900)});
    this->expect_delivered(5, sent);
}

TYPED_TEST_P(BackendConformance, KeepsRunsOfEqualSizeWhole) {
    std::vector<Delivery> sent;
    for (int i = 0; i < 100; ++i) sent.push_back({0, random_bytes(this->random_, 1000)});
    sent.push_back({0, random_bytes(this->random_, 300)});
    for (int i = 0; i < 10; ++i) sent.push_back({0, random_bytes(this->random_, 1000)});
    this->expect_delivered(1, sent);
}

TYPED_TEST_P(BackendConformance, ASmallBatchLosesNothing) {
    std::vector<Delivery> sent;
    for (int i = 0; i < 90; ++i) sent.push_back({static_cast<std::uint16_t>(i % 2), random_bytes(this->random_, 500)});
    this->expect_delivered(2, sent, 1);
    this->expect_delivered(2, sent, 7);
}

/// A thread sleeps on the descriptor until a datagram is there, and wakes only then.
TYPED_TEST_P(BackendConformance, ItsDescriptorIsReadableWhenSomethingIsThere) {
    TypeParam carrier(2);
    Backend& backend = carrier.backend();
    pollfd watched{backend.descriptor(), POLLIN, 0};
    if constexpr (requires { TypeParam::never_waits; }) GTEST_SKIP() << "nothing has to come";
    ASSERT_GE(watched.fd, 0);
    EXPECT_TRUE(this->take_nothing(backend));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(poll(&watched, 1, 0), 0) << "nothing is there: one that waits would wake for nothing";
        for (int n_sent = 0; n_sent < 1 + i % 3; ++n_sent)
            carrier.send(static_cast<std::uint16_t>(i % 2), random_bytes(this->random_, 100));
        carrier.backend();
        ASSERT_EQ(poll(&watched, 1, anello::test::patience_ms), 1) << "one that waits would not wake";
        EXPECT_EQ(take(backend, static_cast<std::size_t>(1 + i % 3)).size(), static_cast<std::size_t>(1 + i % 3));
        EXPECT_TRUE(this->take_nothing(backend));
    }
}

TYPED_TEST_P(BackendConformance, WhatIsNotWantedComesLaterInOrder) {
    TypeParam carrier(2);
    std::vector<Delivery> sent;
    for (int i = 0; i < 200; ++i) sent.push_back({static_cast<std::uint16_t>(i % 2), random_bytes(this->random_, 300)});
    for (const Delivery& delivery : sent) carrier.send(delivery.stream, delivery.bytes);
    Backend& backend = carrier.backend();
    std::vector<Delivery> taken;
    backend.set_wanted(0, false);
    std::vector<Datagram> batch(64);
    for (int i = 0; i < 1000; ++i)
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch))) {
            EXPECT_EQ(datagram.stream, 1);
            taken.push_back({datagram.stream, Bytes(datagram.bytes.begin(), datagram.bytes.end())});
        }
    backend.set_wanted(0, true);
    for (Delivery& delivery : take(backend, sent.size() - taken.size())) taken.push_back(std::move(delivery));
    for (std::uint16_t stream = 0; stream < 2; ++stream) EXPECT_EQ(of_stream(taken, stream), of_stream(sent, stream));
}

TYPED_TEST_P(BackendConformance, SaysWhereDatagramsComeFrom) {
    TypeParam carrier(2);
    for (int i = 0; i < 60; ++i)
        carrier.send(static_cast<std::uint16_t>(i / 3 % 2), random_bytes(this->random_, i % 3 == 2 ? 500 : 1000));
    Backend& backend = carrier.backend();
    std::vector<Datagram> batch(7);
    std::size_t n_taken = 0;
    for (int n_idle = 0; n_taken < 60 && n_idle < 20'000'000; ++n_idle)
        for (const Datagram& datagram : std::span(batch).first(backend.receive(batch))) {
            EXPECT_EQ(to_text(datagram.source), to_text(carrier.source(datagram.stream)));
            ++n_taken;
        }
    EXPECT_EQ(n_taken, 60U);
}

/// is_read() is never true while a datagram is left, nor for a stream that is not wanted, and soon when all are lent.
/// Stream 2's datagram was sent last: when it is there, so are all others.
TYPED_TEST_P(BackendConformance, SaysThatAStreamIsReadWhenNothingIsLeft) {
    for (const std::size_t batch_size : {1U, 7U, 64U}) {
        TypeParam carrier(3);
        std::array<std::size_t, 3> n_left{90, 30, 1};
        for (std::size_t stream = 0; stream < 3; ++stream)
            for (std::size_t i = 0; i < n_left[stream]; ++i)
                carrier.send(static_cast<std::uint16_t>(stream), random_bytes(this->random_, 1000));
        Backend& backend = carrier.backend();
        std::vector<Datagram> batch(batch_size);
        if constexpr (requires { TypeParam::never_waits; }) {  // nothing has come before it is read
            while (backend.receive(batch) > 0)
                for (std::uint16_t stream = 0; stream < 3; ++stream) ASSERT_TRUE(backend.is_read(stream));
            continue;
        }
        backend.set_wanted(1, false);
        constexpr std::array wanted{true, false, true};
        std::array<bool, 3> is_read{};
        for (int n_idle = 0; is_read != wanted && n_idle < 20'000'000; ++n_idle) {
            for (const Datagram& datagram : std::span(batch).first(backend.receive(batch))) --n_left[datagram.stream];
            for (std::uint16_t stream = 0; stream < 3; ++stream) {
                is_read[stream] = backend.is_read(stream) && n_left[2] == 0;
                if (is_read[stream] && backend.held_back_ns() == 0) ASSERT_EQ(n_left[stream], 0U) << stream;
            }
        }
        EXPECT_EQ(is_read, wanted);
    }
}

REGISTER_TYPED_TEST_SUITE_P(BackendConformance, SaysThatAStreamIsReadWhenNothingIsLeft, SaysWhereDatagramsComeFrom,
                            WhatIsNotWantedComesLaterInOrder, NothingIsThereBeforeSomethingIsSent,
                            KeepsOrderAndContentOfAllSizes, DeliversEmptyDatagrams, KeepsStreamsApart,
                            KeepsRunsOfEqualSizeWhole, ASmallBatchLosesNothing,
                            ItsDescriptorIsReadableWhenSomethingIsThere);

}  // namespace anello::receive::conformance
