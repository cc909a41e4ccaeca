// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/receiver.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "receive/boards/mgp_unpacker.hpp"
#include "receive/datagrams/socket_backend.hpp"
#include "unit/receive/mgp_sender.hpp"
#include "unit/receive/udp_sender.hpp"

namespace anello::receive::receiver_test {
namespace {

using test::Bytes;
using test::MgpSender;
using enum ReceiveCounter;

/// Lends what a test put into its queue, some at a time.
class QueueBackend final : public Backend {
  public:
    explicit QueueBackend(std::size_t n_streams) : n_streams_(n_streams) {}
    void add(std::uint16_t stream, Bytes datagram) { queue_.push_back({stream, std::move(datagram)}); }

    std::size_t n_streams() const noexcept override { return n_streams_; }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<Datagram> batch) noexcept override {
        std::size_t n_lent = 0;
        for (; n_lent < batch.size() && next_ < queue_.size(); ++n_lent, ++next_)
            batch[n_lent] = {
                .bytes = queue_[next_].bytes, .stream = queue_[next_].stream, .cut = false, .kernel_ns = 0};
        return n_lent;
    }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t) const noexcept override { return next_ == queue_.size(); }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override { return 100U + stream; }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return 7U + stream; }
    bool finished() const noexcept override { return next_ == queue_.size(); }
    std::string describe() const override { return "a queue"; }

  private:
    struct Queued {
        std::uint16_t stream;
        Bytes bytes;
    };
    std::size_t n_streams_, next_ = 0;
    std::vector<Queued> queue_;
};

struct Streams {
    explicit Streams(std::uint16_t n_streams, const StreamConfig& config, const Clock& clock) {
        for (std::uint16_t i = 0; i < n_streams; ++i) {
            blocks.push_back(std::make_unique<BlockStream>(BlockShape{}, 4U));
            counters.push_back({page.add_block<ReceiveCounter>("receive." + std::to_string(i)),
                                page.add_block<wire::Verdict>("verdict." + std::to_string(i))});
            receivers.push_back(std::make_unique<StreamReceiver>(
                config, i, std::make_unique<MgpUnpacker>(MgpBoard{.source_id = i}), *blocks[i], counters[i], clock));
        }
    }
    CounterPage page;
    std::vector<std::unique_ptr<BlockStream>> blocks;
    std::vector<StreamCounters> counters;
    std::vector<std::unique_ptr<StreamReceiver>> receivers;
};

/// Without a gathering time nothing waits for more to come, nor for the next call.
TEST(Receiver, PassesOnWhatAReadBroughtWhereNoTimeIsGiven) {
    Streams streams(2, {.gathering_time_ns = 0}, SystemClock::instance());
    auto queue = std::make_unique<QueueBackend>(2);
    MgpSender board0(0), board1(1);
    queue->add(0, board0.data(2));
    queue->add(1, board1.data(3));
    queue->add(0, board0.data(4));
    Receiver receiver(std::move(queue), std::move(streams.receivers), SystemClock::instance());
    EXPECT_FALSE(receiver.gathers());
    EXPECT_EQ(receiver.do_work(), 3U);
    Completion block{};
    ASSERT_TRUE(streams.blocks[0]->try_take(block));
    EXPECT_EQ(block.n_packets, 2U);
    EXPECT_FALSE(streams.blocks[0]->has_completions());
    ASSERT_TRUE(streams.blocks[1]->try_take(block));
    EXPECT_EQ(block.n_fragments, 3U);
}

/// The thread waits no longer than until the first open block is to be passed on.
TEST(Receiver, TellsHowLongItMayWait) {
    ManualClock clock;
    Streams streams(2, {.gathering_time_ns = 70'000}, clock);
    auto queue = std::make_unique<QueueBackend>(2);
    MgpSender board1(1);
    queue->add(1, board1.data(3));
    Receiver receiver(std::move(queue), std::move(streams.receivers), clock);
    EXPECT_TRUE(receiver.gathers());
    EXPECT_EQ(receiver.longest_wait_ns(), StreamReceiver::longest_wait_ns);
    receiver.do_work();
    EXPECT_EQ(receiver.longest_wait_ns(), 70'000);
    clock.advance(69'000);
    EXPECT_EQ(receiver.longest_wait_ns(), 1'000);
    clock.advance(5'000);
    EXPECT_EQ(receiver.longest_wait_ns(), 0);
    receiver.do_work();
    EXPECT_EQ(receiver.longest_wait_ns(), StreamReceiver::longest_wait_ns);
}

/// Policy wait over real sockets: a builder that is slow loses nothing, and a full stream does not stop another.
TEST(Receiver, LeavesDatagramsInTheSystemUntilThereIsRoom) {
    constexpr std::uint32_t n_datagrams = 40;
    Streams streams(2, {.gathering_time_ns = 0, .full_policy = FullPolicy::wait}, SystemClock::instance());
    auto sockets = std::make_unique<SocketBackend>(
        SocketBackendConfig{.address = "127.0.0.1", .ports = {0, 0}, .gro = false, .batch_messages = 1});
    test::UdpSender full(sockets->port(0)), other(sockets->port(1));
    MgpSender board0(0), board1(1);
    Receiver receiver(std::move(sockets), std::move(streams.receivers), SystemClock::instance());
    for (std::uint32_t i = 0; i < n_datagrams; ++i) full.send(board0.data(2));
    // A busy kernel delivers them a little after they were sent, so time counts from when the buffers are full.
    while (!receiver.is_waiting()) receiver.do_work();
    const Nanoseconds full_ns = SystemClock::instance().monotonic_ns();
    EXPECT_LT(streams.counters[0].stream[datagrams], n_datagrams);
    other.send(board1.data(2));
    for (int i = 0; i < 100; ++i) receiver.do_work();
    EXPECT_EQ(streams.counters[1].stream[packets], 1U);
    EXPECT_LE(streams.blocks[0]->read_until_ns(), full_ns) << "what is not read has yet to come";
    EXPECT_GT(streams.blocks[1]->read_until_ns(), full_ns);
    EXPECT_FALSE(streams.blocks[0]->is_wanted());
    EXPECT_TRUE(streams.blocks[1]->is_wanted());
    Completion completion;
    for (int i = 0; i < 1000; ++i) {
        receiver.do_work();
        if (streams.blocks[0]->try_take(completion)) streams.blocks[0]->give_back(completion.buffer);
    }
    EXPECT_EQ(streams.counters[0].stream[packets], n_datagrams);
    EXPECT_EQ(streams.counters[0].stream[dropped_packets], 0U);
    EXPECT_EQ(streams.counters[0].stream[kernel_dropped], 0U);
}

TEST(Receiver, LeadsEachDatagramToItsStreamAndWatchesTheTime) {
    ManualClock clock(1000);
    Streams streams(2, {.gathering_time_ns = 50}, clock);
    auto queue = std::make_unique<QueueBackend>(2);
    MgpSender first(0), second(1);
    queue->add(0, first.data(2));
    queue->add(1, second.data(3));
    queue->add(1, second.data(4));
    Receiver receiver(std::move(queue), std::move(streams.receivers), clock, 2);
    EXPECT_EQ(receiver.do_work(), 2U);
    EXPECT_EQ(receiver.do_work(), 1U);
    EXPECT_TRUE(receiver.finished());
    Completion completion;
    clock.advance(49);
    EXPECT_EQ(receiver.do_work(), 0U);
    EXPECT_FALSE(streams.blocks[0]->try_take(completion));
    clock.advance(1);
    EXPECT_EQ(receiver.do_work(), 0U);
    ASSERT_TRUE(streams.blocks[0]->try_take(completion));
    EXPECT_EQ(completion.stream, 0);
    EXPECT_EQ(completion.n_fragments, 2U);
    ASSERT_TRUE(streams.blocks[1]->try_take(completion));
    EXPECT_EQ(completion.stream, 1);
    EXPECT_EQ(completion.n_fragments, 7U);
    EXPECT_TRUE(receiver.finish());
    for (std::uint16_t stream = 0; stream < 2; ++stream) {
        EXPECT_EQ(streams.counters[stream].stream[kernel_dropped], 100U + stream);
        EXPECT_EQ(streams.counters[stream].stream[super_packets], 7U + stream);
    }
}

TEST(Receiver, NeedsAStreamPerPort) {
    ManualClock clock;
    Streams streams(1, {}, clock);
    EXPECT_THROW(Receiver(std::make_unique<QueueBackend>(2), std::move(streams.receivers), clock), ConfigError);
}

TEST(Receiver, CarriesABurstOverRealSockets) {
    const Clock& clock = SystemClock::instance();
    Streams streams(2, {}, clock);
    auto sockets = std::make_unique<SocketBackend>(
        SocketBackendConfig{.address = "127.0.0.1", .ports = {0, 0}, .receive_buffer_bytes = 4 << 20});
    test::UdpSender to_first(sockets->port(0)), to_second(sockets->port(1));
    Receiver receiver(std::move(sockets), std::move(streams.receivers), clock);
    MgpSender first(0), second(1);
    for (int i = 0; i < 20; ++i) {
        to_first.send(first.data(5));
        to_second.send(second.data(3));
    }
    to_first.send(first.marker(wire::mgp::end_of_burst));
    to_second.send(second.marker(wire::mgp::end_of_burst));
    std::size_t n_datagrams = 0;
    for (int n_idle = 0; n_datagrams < 42 && n_idle < 1'000'000; ++n_idle) n_datagrams += receiver.do_work();
    EXPECT_TRUE(receiver.finish());
    for (const StreamCounters& counters : streams.counters) {
        EXPECT_EQ(counters.stream[packets], 20U);
        EXPECT_EQ(counters.stream[lost_sequences], 0U);
        EXPECT_EQ(counters.stream[announced_packets], 20U);
        EXPECT_EQ(counters.stream[bursts_ended], 1U);
    }
    EXPECT_EQ(streams.counters[0].stream[fragments], 100U);
    EXPECT_EQ(streams.counters[1].stream[fragments], 60U);
}

}  // namespace
}  // namespace anello::receive::receiver_test
