// SPDX-License-Identifier: Apache-2.0
#include "receive/card/card.hpp"

#include <gmock/gmock.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/errors.hpp"
#include "unit/receive/capture_writer.hpp"
#include "unit/receive/mgp_sender.hpp"
#include "unit/receive/udp_sender.hpp"

namespace anello::receive {
namespace {

using test::Bytes;

BackendConfig small_sockets() {
    return {.socket_buffer_bytes = std::size_t{4} << 20};
}

/// Two buffers of two datagrams, handed on as soon as there is anything.
ClopConfig two_by_two(FullPolicy policy) {
    return {.buffers = {.n_blocks = 2, .block_bytes = 65536, .max_datagrams = 2},
            .gathering_time_ns = 0,
            .full_policy = policy};
}

Bytes bytes_of(const ClopBuffer& buffer, std::size_t index) {
    const DatagramRecord& record = buffer.datagrams[index];
    const auto bytes = buffer.bytes.subspan(record.offset_bytes, record.length_bytes);
    return {bytes.begin(), bytes.end()};
}

/// The loopback delivers at once: a datagram that was sent can be read.
void read_all(Card& card) {
    for (int i = 0; i < 8; ++i) card.do_work();
}

bool is_readable(int descriptor) {
    pollfd asked{descriptor, POLLIN, 0};
    return poll(&asked, 1, 0) == 1;
}

TEST(Card, TwoListsDoNotShareMemory) {
    std::vector<std::byte> memory(8 * 65536 + 64);
    const std::span<std::byte> all(memory);
    const auto in = [](std::span<std::byte> given) { return ClopConfig{.buffers = {.n_blocks = 2, .given = given}}; };
    constexpr std::size_t half = 4 * 65536;
    Card card(small_sockets());
    card.register_buffers(in(all.first(half)));
    EXPECT_THROW(card.register_buffers(in(all)), ConfigError);
    EXPECT_THROW(card.register_buffers(in(all.subspan(half - 1, half))), ConfigError);
    card.register_buffers(in(all.subspan(half)));
    card.register_buffers({});
    card.register_buffers({});
}

TEST(Card, RingsForABufferAndThenNoMore) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({.gathering_time_ns = 0});
    card.open();
    test::UdpSender(clop.port()).send(Bytes(10));
    read_all(card);
    EXPECT_TRUE(is_readable(clop.descriptor()));
    ClopBuffer buffer;
    ASSERT_TRUE(clop.try_take(buffer));
    ClopBuffer none;
    EXPECT_FALSE(clop.try_take(none));
    read_all(card);
    EXPECT_FALSE(is_readable(clop.descriptor())) << "nothing came since";
}

/// A caller that asks whether it is finished, and then looks for a buffer, must not reset the bell of the end.
TEST(Card, TheEndRingsHoweverOftenItIsTaken) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({});
    card.stop();
    ClopBuffer none;
    EXPECT_FALSE(clop.try_take(none));
    EXPECT_TRUE(is_readable(clop.descriptor()));
    EXPECT_FALSE(clop.try_take(none));
    EXPECT_TRUE(is_readable(clop.descriptor()));
}

TEST(Card, GivesDatagramsWithStampsVerdictsAndSequence) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({.format = "mgp", .gathering_time_ns = 0});
    card.open();
    ASSERT_NE(clop.port(), 0);
    test::UdpSender sender(clop.port());
    test::MgpSender board(7);
    const Bytes first = board.data(3), second = board.data(2);
    Bytes spoilt = board.data(1);
    spoilt.back() ^= std::byte{1};
    for (const Bytes& datagram : {first, second, spoilt}) sender.send(datagram);
    read_all(card);
    std::vector<DatagramRecord> came;
    std::vector<Bytes> contents;
    for (ClopBuffer buffer; clop.try_take(buffer); clop.give_back(buffer))
        for (std::size_t i = 0; i < buffer.datagrams.size(); ++i) {
            came.push_back(buffer.datagrams[i]);
            contents.push_back(bytes_of(buffer, i));
        }
    EXPECT_EQ(contents, (std::vector<Bytes>{first, second, spoilt}));
    EXPECT_EQ(came[0].verdict, wire::Verdict::ok);
    EXPECT_EQ(came[2].verdict, wire::Verdict::wrong_checksum);
    EXPECT_EQ(came[2].has_sequence, 0);
    EXPECT_EQ(came[1].sequence, came[0].sequence + 1);
    EXPECT_EQ(came[0].source_id, 7U);
    EXPECT_EQ(came[0].n_items, 3U);
    EXPECT_EQ(SourceAddress(came[0].source_host, came[0].source_port), sender.source());
    EXPECT_GT(came[0].kernel_ns, 0);
    EXPECT_EQ(clop.counters()[PortCounter::datagrams], 3U);
    EXPECT_EQ(clop.counters()[PortCounter::bytes], first.size() + second.size() + spoilt.size());
    EXPECT_EQ(clop.verdicts()[wire::Verdict::ok], 2U);
    EXPECT_EQ(clop.verdicts()[wire::Verdict::wrong_checksum], 1U);
}

TEST(Card, CountsWhatItDropsForWantOfABuffer) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers(two_by_two(FullPolicy::drop_new));
    card.open();
    test::UdpSender sender(clop.port());
    for (int i = 0; i < 10; ++i) sender.send(Bytes(10, static_cast<std::byte>(i)));
    read_all(card);
    ClopBuffer one, other, none;
    ASSERT_TRUE(clop.try_take(one));
    ASSERT_TRUE(clop.try_take(other));
    EXPECT_FALSE(clop.try_take(none));
    EXPECT_EQ(bytes_of(other, 1), Bytes(10, std::byte{3}));
    EXPECT_EQ(clop.counters()[PortCounter::datagrams], 10U);
    EXPECT_EQ(clop.counters()[PortCounter::blocks_dropped], 6U);
    clop.give_back(other);  // in any order
    sender.send(Bytes(20));
    read_all(card);
    ClopBuffer again;
    ASSERT_TRUE(clop.try_take(again));
    EXPECT_EQ(again.number, other.number);
    EXPECT_EQ(bytes_of(one, 0), Bytes(10, std::byte{0})) << "a buffer that is held is left alone";
    EXPECT_EQ(clop.counters()[PortCounter::blocks_dropped], 6U);
}

TEST(Card, OverwritesTheOldestBufferThatNobodyTook) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({.buffers = {.n_blocks = 3, .block_bytes = 65536, .max_datagrams = 2},
                                        .gathering_time_ns = 0,
                                        .full_policy = FullPolicy::overwrite_oldest});
    card.open();
    test::UdpSender sender(clop.port());
    const auto send = [&](int first, int n) {
        for (int i = first; i < first + n; ++i) sender.send(Bytes(10, static_cast<std::byte>(i)));
        read_all(card);
    };
    send(0, 2);
    ClopBuffer held;
    ASSERT_TRUE(clop.try_take(held));
    send(2, 8);  // two buffers for four pairs
    EXPECT_EQ(clop.losses()[CardCounter::overwritten], 4U);
    ClopBuffer third, fourth, none;
    ASSERT_TRUE(clop.try_take(third));
    ASSERT_TRUE(clop.try_take(fourth));
    EXPECT_FALSE(clop.try_take(none));
    EXPECT_EQ(bytes_of(third, 0), Bytes(10, std::byte{6}));
    EXPECT_EQ(bytes_of(fourth, 1), Bytes(10, std::byte{9}));
    EXPECT_EQ(bytes_of(held, 1), Bytes(10, std::byte{1})) << "a buffer that is held is left alone";
    send(10, 3);  // all are held: there is nothing to overwrite
    EXPECT_EQ(clop.counters()[PortCounter::blocks_dropped], 3U);
    EXPECT_EQ(clop.counters()[PortCounter::datagrams], 13U);
    EXPECT_EQ(clop.losses()[CardCounter::overwritten], 4U);
    clop.give_back(third);
    send(13, 2);
    ASSERT_TRUE(clop.try_take(third));
    EXPECT_EQ(bytes_of(third, 0), Bytes(10, std::byte{13}));
}

/// The receiving thread takes buffers back while the program takes them: each datagram has one fate, and none is torn.
TEST(Card, OverwritesWhileTheProgramTakes) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({.buffers = {.n_blocks = 2, .block_bytes = 65536, .max_datagrams = 3},
                                        .format = "mgp",
                                        .gathering_time_ns = 0,
                                        .full_policy = FullPolicy::overwrite_oldest});
    card.start();
    test::UdpSender sender(clop.port());
    std::atomic<bool> all_sent{false};
    std::thread sending([&] {
        test::MgpSender board(7);
        for (int i = 0; i < 5000; ++i) sender.send(board.data(20));
        all_sent = true;
    });
    std::uint64_t n_taken = 0;
    for (ClopBuffer buffer; !all_sent || n_taken == 0;)
        if (clop.wait(buffer, 1'000'000)) {
            n_taken += buffer.datagrams.size();
            clop.give_back(buffer);
        }
    sending.join();
    card.stop();
    for (ClopBuffer buffer; clop.try_take(buffer); clop.give_back(buffer)) n_taken += buffer.datagrams.size();
    const auto& port = clop.counters();
    const auto& losses = clop.losses();
    EXPECT_EQ(clop.verdicts()[wire::Verdict::ok], n_taken) << "none was changed while it was read";
    EXPECT_EQ(port[PortCounter::datagrams],
              n_taken + port[PortCounter::blocks_dropped] + losses[CardCounter::overwritten]);
    EXPECT_EQ(losses[CardCounter::in_order], n_taken);
    ASSERT_EQ(clop.sources().size(), 1U);
    EXPECT_LE(losses[CardCounter::lost], 5000 - n_taken);
}

TEST(Card, TellsWhatIsMissingByTheNumbersOfAFormat) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers({.format = "mgp", .gathering_time_ns = 0});
    Clop& raw = card.register_buffers({.gathering_time_ns = 0});
    card.open();
    test::MgpSender board(7), other(8);
    std::vector<Bytes> sent;
    for (int i = 0; i < 6; ++i) sent.push_back(board.data(2));
    test::UdpSender sender(clop.port()), to_raw(raw.port());
    for (const std::size_t i : {0U, 2U, 1U, 2U, 5U}) sender.send(sent[i]);
    sender.send(other.data(1));
    sender.send(board.marker(wire::mgp::end_of_burst));
    to_raw.send(sent[0]);
    read_all(card);
    for (ClopBuffer buffer; clop.try_take(buffer);) clop.give_back(buffer);
    ClopBuffer one;
    ASSERT_TRUE(raw.try_take(one));
    const auto& losses = clop.losses();
    EXPECT_EQ(losses[CardCounter::numbered], 6U);
    EXPECT_EQ(losses[CardCounter::late], 1U);
    EXPECT_EQ(losses[CardCounter::duplicates], 1U);
    EXPECT_EQ(losses[CardCounter::lost], 2U);
    ASSERT_EQ(clop.sources().size(), 2U);
    EXPECT_EQ(clop.sources()[0].source_id, 7U);
    EXPECT_EQ(clop.sources()[0].address, sender.source());
    EXPECT_EQ(clop.sources()[0].n_lost, 2U);
    EXPECT_EQ(clop.sources()[1].n_lost, 0U);
    EXPECT_TRUE(raw.sources().empty());
}

TEST(Card, LeavesDatagramsInTheKernelUntilThereIsABuffer) {
    Card card(small_sockets());
    Clop& clop = card.register_buffers(two_by_two(FullPolicy::wait));
    card.open();
    test::UdpSender sender(clop.port());
    int n_came = 0;
    for (int i = 0; i < 10; ++i) sender.send(Bytes(10, static_cast<std::byte>(i)));
    while (n_came < 10) {
        read_all(card);
        ClopBuffer buffer;
        ASSERT_TRUE(clop.try_take(buffer));
        for (std::size_t i = 0; i < buffer.datagrams.size(); ++i, ++n_came)
            EXPECT_EQ(bytes_of(buffer, i), Bytes(10, static_cast<std::byte>(n_came)));
        clop.give_back(buffer);
    }
    EXPECT_EQ(clop.counters()[PortCounter::blocks_dropped], 0U);
    for (int i = 0; i < 10; ++i) sender.send(Bytes(10));
    read_all(card);
    card.stop();
    EXPECT_EQ(clop.counters()[PortCounter::datagrams], 20U);
    EXPECT_EQ(clop.counters()[PortCounter::blocks_dropped], 6U) << "read, and without a place at the end";
}

TEST(Card, HandsOnABufferWhenItsTimeIsOver) {
    ManualClock clock(1'000);
    Card card(small_sockets(), {.name = "card"}, clock);
    Clop& clop = card.register_buffers({.gathering_time_ns = 500});
    card.open();
    test::UdpSender sender(clop.port());
    sender.send(Bytes(10));
    read_all(card);
    ClopBuffer buffer;
    EXPECT_FALSE(clop.try_take(buffer));
    EXPECT_FALSE(is_readable(clop.descriptor()));
    clock.advance(499);
    sender.send(Bytes(10));
    read_all(card);
    EXPECT_FALSE(clop.try_take(buffer));
    clock.advance(1);
    card.do_work();
    EXPECT_TRUE(is_readable(clop.descriptor()));
    ASSERT_TRUE(clop.try_take(buffer));
    EXPECT_EQ(buffer.datagrams.size(), 2U);
    EXPECT_FALSE(clop.try_take(buffer));
    EXPECT_FALSE(is_readable(clop.descriptor()));
}

TEST(Card, WaitsInItsOwnThreadUntilItIsStopped) {
    Card card(small_sockets());
    Clop& raw = card.register_buffers({});
    Clop& other = card.register_buffers({});
    card.start();
    ASSERT_NE(raw.port(), other.port());
    constexpr std::uint32_t n_sent = 2000;
    std::uint64_t n_came = 0, n_bytes = 0;
    std::thread program([&] {
        for (ClopBuffer buffer; n_came < n_sent && raw.wait(buffer, -1); raw.give_back(buffer)) {
            n_came += buffer.datagrams.size();
            for (const DatagramRecord& record : buffer.datagrams) n_bytes += record.length_bytes;
        }
    });
    test::UdpSender sender(raw.port());
    for (std::uint32_t i = 0; i < n_sent; ++i) sender.send(Bytes(1 + i % 100));
    program.join();
    EXPECT_EQ(n_came, n_sent);
    EXPECT_EQ(n_bytes, raw.counters()[PortCounter::bytes]);
    ClopBuffer none;
    EXPECT_FALSE(other.wait(none, 0));
    EXPECT_FALSE(other.is_finished());
    std::thread waiting([&] { EXPECT_FALSE(other.wait(none, -1)); });
    card.stop();
    waiting.join();
    EXPECT_TRUE(other.is_finished());
    EXPECT_EQ(other.counters()[PortCounter::datagrams], 0U);
}

TEST(Card, ReadsACaptureToItsEnd) {
    test::CaptureWriter capture;
    test::MgpSender board(7);
    const Bytes one = board.data(0);
    Bytes joined = one;
    joined.insert(joined.end(), one.begin(), one.end());
    for (int i = 0; i < 100; ++i) capture.add(test::udp_frame(5005, joined));
    BackendConfig backend{.kind = BackendKind::pcap, .pcap_file = capture.finish(), .pcap_speed = 0};
    Card card(backend);
    Clop& clop = card.register_buffers({.port = 5005});
    card.start();
    std::size_t n_came = 0;
    for (ClopBuffer buffer; clop.wait(buffer, -1); clop.give_back(buffer)) n_came += buffer.datagrams.size();
    EXPECT_EQ(n_came, 200U);
    EXPECT_TRUE(clop.is_finished());
    card.stop();
    EXPECT_EQ(clop.counters()[PortCounter::super_packets], 100U);
}

TEST(Card, RefusesWhatCannotBe) {
    Card card(small_sockets());
    EXPECT_THROW(card.register_buffers({.format = "ogg"}), ConfigError);
    EXPECT_THROW(card.register_buffers({.format = "mgp", .max_sources = 0}), ConfigError);
    EXPECT_THROW(card.register_buffers({.buffers = {.n_blocks = 1}}), ConfigError);
    EXPECT_THROW(card.register_buffers({.buffers = {.block_bytes = 100}}), ConfigError);
    EXPECT_THROW(card.register_buffers({.gathering_time_ns = -1}), ConfigError);
    card.register_buffers({});
    card.open();
    EXPECT_THROW(card.register_buffers({}), ConfigError);
    card.stop();
    card.start();  // and does nothing
}

}  // namespace
}  // namespace anello::receive
