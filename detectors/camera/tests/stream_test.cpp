// SPDX-License-Identifier: Apache-2.0
#include "camera/send/streams/stream.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera::stream_test {
namespace {

using enum CameraStreamCounter;

/// A receiver on the loopback, at a port that the system chose. Not listening, the port is refused.
class Receiver {
  public:
    Receiver() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const int small = 8192;
        setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), length), 0);
        EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length), 0);
        port_ = ntohs(address.sin_port);
    }
    ~Receiver() {
        hang_up();
        close(listener_);
    }
    std::uint16_t port() const { return port_; }
    void listen() { EXPECT_EQ(::listen(listener_, 4), 0); }
    void accept() {
        connection_ = ::accept(listener_, nullptr, nullptr);
        EXPECT_GE(connection_, 0);
    }
    void hang_up() {
        if (connection_ >= 0) close(connection_);
        connection_ = -1;
    }
    /// Whatever is there now.
    void read() {
        std::vector<std::byte> piece(1 << 16);
        ssize_t n = 0;
        while ((n = recv(connection_, piece.data(), piece.size(), MSG_DONTWAIT)) > 0)
            bytes.insert(bytes.end(), piece.begin(), piece.begin() + n);
    }
    std::vector<std::vector<std::byte>> records() const {
        std::vector<std::vector<std::byte>> found;
        for (std::size_t at = 0; at + 4 <= bytes.size();) {
            const std::size_t n = wire::load_le<std::uint32_t>(bytes.data() + at);
            if (at + 4 + n > bytes.size()) break;
            const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at + 4);
            found.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(n));
            at += 4 + n;
        }
        return found;
    }
    std::vector<std::byte> bytes;

  private:
    int listener_, connection_ = -1;
    std::uint16_t port_ = 0;
};

std::vector<std::byte> record(std::size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + n);
    return bytes;
}

class Stream : public testing::Test {
  protected:
    CameraStream stream_to_receiver(std::size_t queue_bytes = 1 << 16) {
        return {{.port = receiver.port(), .queue_bytes = queue_bytes}, clock, page};
    }
    /// The loopback connects at once, yet in its own time: many short looks.
    void connect(CameraStream& stream) {
        for (int i = 0; i < 1'000'000 && !stream.is_connected(); ++i) stream.do_work();
        ASSERT_TRUE(stream.is_connected());
        receiver.accept();
    }
    void expect_balance(const CameraStream& stream) {
        const auto& c = stream.counters();
        EXPECT_EQ(c[events_in], c[events_sent] + c[dropped_queue_full] + c[dropped_not_connected] +
                                    c[lost_disconnected] + c[lost_at_end]);
    }
    Receiver receiver;
    ManualClock clock{1};
    CounterPage page;
};

TEST_F(Stream, RecordsArriveInOrderBehindTheirLengths) {
    receiver.listen();
    CameraStream stream = stream_to_receiver(5000);  // the ring wraps many times
    connect(stream);
    std::vector<std::vector<std::byte>> sent;
    for (std::size_t i = 0; i < 300; ++i) {
        sent.push_back(record(i * 13 % 1500));
        EXPECT_TRUE(stream.offer(sent.back()));
        for (int k = 0; k < 100'000 && !stream.is_drained(); ++k) {
            stream.do_work();
            receiver.read();
        }
    }
    for (int k = 0; k < 100'000 && receiver.records().size() < sent.size(); ++k) receiver.read();
    EXPECT_EQ(receiver.records(), sent);
    EXPECT_EQ(stream.counters()[events_sent], 300U);
    EXPECT_EQ(stream.counters()[bytes_sent], receiver.bytes.size());
}

TEST_F(Stream, ASlowReceiverCostsEventsNotTime) {
    receiver.listen();
    CameraStream stream = stream_to_receiver(1 << 16);
    connect(stream);
    for (int i = 0; i < 20'000; ++i) {
        stream.offer(record(1000));
        stream.do_work();
    }
    EXPECT_GT(stream.counters()[dropped_queue_full], 0U);
    for (int k = 0; k < 10'000'000 && !stream.is_drained(); ++k) {
        receiver.read();
        stream.do_work();
    }
    const std::uint64_t n_sent = stream.counters()[events_sent];
    for (int k = 0; k < 100'000 && receiver.records().size() < n_sent; ++k) receiver.read();
    EXPECT_EQ(receiver.records().size(), n_sent);
    for (const auto& each : receiver.records()) EXPECT_EQ(each, record(1000));
    stream.close();
    EXPECT_EQ(stream.counters()[lost_at_end], 0U);
    expect_balance(stream);
}

TEST_F(Stream, TriesAgainEachSecondUntilSomebodyListens) {
    CameraStream stream = stream_to_receiver();
    for (int i = 0; i < 1000; ++i) stream.do_work();
    EXPECT_EQ(stream.counters()[connection_failures], 1U);
    EXPECT_FALSE(stream.offer(record(10)));
    EXPECT_EQ(stream.counters()[dropped_not_connected], 1U);
    receiver.listen();
    for (int i = 0; i < 1000; ++i) stream.do_work();
    EXPECT_FALSE(stream.is_connected()) << "not before its time";
    clock.advance(1'000'000'000);
    connect(stream);
    EXPECT_EQ(stream.counters()[connections], 1U);
    stream.close();
    expect_balance(stream);
}

TEST_F(Stream, ABrokenConnectionIsNoticedAndMadeAgain) {
    receiver.listen();
    CameraStream stream = stream_to_receiver();
    connect(stream);
    receiver.hang_up();
    for (int i = 0; i < 1'000'000 && stream.is_connected(); ++i) {
        clock.advance(1'000'000);
        stream.do_work();
    }
    EXPECT_FALSE(stream.is_connected()) << "noticed without sending";
    clock.advance(1'000'000'000);
    connect(stream);
    EXPECT_TRUE(stream.offer(record(100)));
    receiver.hang_up();
    for (int i = 0; i < 100'000 && stream.is_connected(); ++i) {
        stream.offer(record(1000));
        stream.do_work();
    }
    EXPECT_FALSE(stream.is_connected()) << "noticed by sending";
    EXPECT_EQ(stream.counters()[connections], 2U);
    EXPECT_TRUE(stream.is_drained());
    stream.close();
    expect_balance(stream);
}

TEST_F(Stream, WhatWaitsAtTheEndIsLostAndCounted) {
    receiver.listen();
    CameraStream stream = stream_to_receiver();
    connect(stream);
    stream.offer(record(10));
    stream.offer(record(10));
    stream.close();
    EXPECT_EQ(stream.counters()[lost_at_end], 2U);
    EXPECT_FALSE(stream.offer(record(10)));
    EXPECT_EQ(stream.do_work(), 0U);
    expect_balance(stream);
}

TEST_F(Stream, RefusesWhatIsNoReceiver) {
    EXPECT_THROW(CameraStream({.port = 0}, clock, page), ConfigError);
    EXPECT_THROW(CameraStream({.host = "no.such.host.invalid", .port = 1}, clock, page), ConfigError);
    EXPECT_THROW(CameraStream({.port = 1, .queue_bytes = 10}, clock, page), ConfigError);
}

}  // namespace
}  // namespace anello::camera::stream_test
