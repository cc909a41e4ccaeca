// SPDX-License-Identifier: Apache-2.0
#include "camera/send/streams/r1_streams.hpp"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "core/errors.hpp"
#include "wire/bytes.hpp"

namespace anello::camera::r1_streams_test {
namespace {

using enum CameraStreamCounter;

/// Both ends of a connection; the writer's end reads all bytes that have arrived.
class Connection {
  public:
    Connection() {
        std::array<int, 2> ends{};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        ours = ends[0];
        theirs_ = ends[1];
    }
    ~Connection() {
        close(ours);
        hang_up();
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void hang_up() {
        if (theirs_ >= 0) close(theirs_);
        theirs_ = -1;
    }
    /// The first byte of each record that has come, and -1 at the stream's end.
    std::vector<int> read() {
        std::vector<std::byte> piece(1 << 20);
        ssize_t n = 0;
        while ((n = recv(theirs_, piece.data(), piece.size(), MSG_DONTWAIT)) > 0)
            bytes_.insert(bytes_.end(), piece.begin(), piece.begin() + n);
        std::vector<int> found;
        for (std::size_t at = 0; at + 4 < bytes_.size(); at += 4 + wire::load_le<std::uint32_t>(bytes_.data() + at))
            found.push_back(std::to_integer<int>(bytes_[at + 4]));
        if (n == 0) found.push_back(-1);
        return found;
    }

    int ours = -1;

  private:
    int theirs_ = -1;
    std::vector<std::byte> bytes_;
};

struct R1 : testing::Test {
    void offer(int number, std::size_t n_bytes = 10) {
        std::vector<std::byte> record(n_bytes, static_cast<std::byte>(number));
        streams.offer(record);
    }
    std::uint64_t sum(const std::string& prefix, const std::string& name) const {
        std::uint64_t n = 0;
        for (const auto& sample : page.read())
            if (sample.block.starts_with(prefix) && sample.name == name) n += sample.value;
        return n;
    }

    std::array<Connection, 3> connections;
    ManualClock clock{1};
    CounterPage page;
    R1Streams streams{{connections[0].ours, connections[1].ours, connections[2].ours}, clock, page};
};

using testing::ElementsAre;

TEST_F(R1, EachRecordGoesToOneWriterInTurn) {
    for (int number = 0; number < 7; ++number) offer(number);
    EXPECT_TRUE(streams.is_waiting());
    while (streams.do_work() > 0) {
    }
    EXPECT_FALSE(streams.is_waiting());
    EXPECT_THAT(connections[0].read(), ElementsAre(0, 3, 6));
    EXPECT_THAT(connections[1].read(), ElementsAre(1, 4));
    EXPECT_THAT(connections[2].read(), ElementsAre(2, 5));
}

/// The caller that gave the connection may close it, as the stream has its own descriptor.
TEST_F(R1, AStreamEndsForItsWriterWithClose) {
    close(connections[0].ours);
    connections[0].ours = -1;
    offer(5);
    streams.do_work();
    EXPECT_THAT(connections[0].read(), ElementsAre(5));
    streams.close();
    EXPECT_THAT(connections[0].read(), ElementsAre(5, -1));
}

TEST_F(R1, OthersTakeWhatAWriterWouldHaveGotThatIsGone) {
    connections[1].hang_up();
    for (int i = 0; i < 10; ++i) {  // a look now and then
        clock.advance(100'000'000);
        streams.do_work();
    }
    for (int number = 0; number < 6; ++number) offer(number);
    while (streams.do_work() > 0) {
    }
    EXPECT_THAT(connections[0].read(), ElementsAre(0, 3));
    EXPECT_THAT(connections[2].read(), ElementsAre(1, 2, 4, 5));
    EXPECT_EQ(sum("r1_stream", "dropped_not_connected"), 0U);
    connections[0].hang_up();
    connections[2].hang_up();
    clock.advance(100'000'000);
    streams.do_work();
    offer(6);
    EXPECT_EQ(sum("r1_stream", "dropped_not_connected"), 1U) << "nobody is left";
    EXPECT_EQ(sum("r1_stream", "events_in"), 7U);
    EXPECT_EQ(sum("r1_stream", "connections"), 3U) << "nobody connects again";
}

TEST_F(R1, OthersTakeWhatASlowWriterHasNoRoomFor) {
    constexpr std::size_t n_bytes = 30 << 20;  // two of them fill a queue
    for (int number = 0; number < 6; ++number) offer(number, n_bytes);
    EXPECT_EQ(sum("r1_stream", "dropped_queue_full"), 0U);
    offer(6, n_bytes);
    EXPECT_EQ(sum("r1_stream", "dropped_queue_full"), 1U);
    pipeline::Notices notices;
    streams.add_notices(notices);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_THAT(notices[0].text, testing::StartsWith("1 events are not in R1v1 files"));
    for (int k = 0; k < 1'000'000 && streams.is_waiting(); ++k) {  // the first writer alone reads
        connections[0].read();
        if (streams.do_work() == 0) break;
    }
    for (int number = 7; number < 9; ++number) offer(number, n_bytes);
    EXPECT_EQ(sum("r1_stream", "dropped_queue_full"), 1U) << "it takes both, though it is the turn of others";
    streams.close();
    EXPECT_EQ(sum("r1_stream", "events_in"), 9U);
    EXPECT_EQ(sum("r1_stream", "events_in"), sum("r1_stream", "events_sent") + sum("r1_stream", "lost_at_end") + 1);
}

TEST_F(R1, WritersCountersAreSetByName) {
    EXPECT_TRUE(streams.set_of_writer(2, "events_written", 17));
    EXPECT_EQ(sum("r1_writer2", "events_written"), 17U);
    EXPECT_FALSE(streams.set_of_writer(3, "events_written", 1));
    EXPECT_FALSE(streams.set_of_writer(0, "nothing", 1));
}

TEST(R1Streams, RefusesWhatIsNoConnection) {
    const ManualClock clock{1};
    CounterPage page;
    EXPECT_THROW(R1Streams({1 << 20}, clock, page), SystemError);
}

}  // namespace
}  // namespace anello::camera::r1_streams_test
