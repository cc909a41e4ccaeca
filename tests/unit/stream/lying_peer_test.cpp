// SPDX-License-Identifier: Apache-2.0
#include "unit/stream/lying_peer.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "core/errors.hpp"

/// A peer that came in as it should, and other users' programs. Whatever they do with what they can reach, nothing here
/// waits longer than it said.
namespace anello::stream::lying_peer_test {
namespace {

using test::Listening;
using test::LyingPeer;
using test::patience_ns;
using test::small_config;
using enum StreamStatus;

constexpr Nanoseconds short_ns = 20'000'000;

struct LyingPeerTest : testing::Test {
    /// A stream with a peer that lies.
    void meet(WaitMode wait = WaitMode::block) {
        StreamConfig config = small_config();
        config.wait = wait;
        config.spin_ns = 1'000'000;
        listening = std::make_unique<Listening>(config);
        auto accepted =
            std::async(std::launch::async, [&] { return listening->listener.accept(counters, patience_ns); });
        peer = std::make_unique<LyingPeer>(listening->listener.address(), 3);
        stream = accepted.get();
        ASSERT_NE(stream, nullptr);
    }

    CounterPage page;
    Counters<StreamCounter> counters = page.add_block<StreamCounter>("stream");
    std::unique_ptr<Listening> listening;
    std::unique_ptr<LyingPeer> peer;
    std::unique_ptr<Stream> stream;
};

TEST_F(LyingPeerTest, AsksForABellAgainAndAgainAndTakesNone) {
    meet();
    const std::array<std::byte, 8> bytes{};
    RingHeader& header = peer->own.header();
    for (std::uint64_t n = 1; n <= 20'000; ++n) {
        header.receiver_waits = 1;
        ASSERT_EQ(stream->send(bytes, 0).status, ok);
        header.tail = 8 * n;
    }
    EXPECT_EQ(counters[StreamCounter::data_bells_rung], 20'000U);
}

TEST_F(LyingPeerTest, MakesItsEndBlockingAndFullBeforeAnEndOfStream) {
    meet();
    const int flags = fcntl(peer->socket.number(), F_GETFL);
    ASSERT_EQ(fcntl(peer->socket.number(), F_SETFL, flags & ~O_NONBLOCK), 0);
    peer->flood();
    peer->own.header().receiver_waits = 1;
    ASSERT_EQ(stream->send(std::array<std::byte, 8>{}, 0).status, ok);
    stream->close();
    EXPECT_EQ(peer->own.header().sender_ended, 1U);
}

TEST_F(LyingPeerTest, RingsWithoutAnythingToTell) {
    for (const WaitMode wait : {WaitMode::spin, WaitMode::spin_then_sleep, WaitMode::block}) {
        meet(wait);
        std::atomic<bool> over{false};
        std::thread ringing([&] {
            while (!over) peer->flood();
        });
        std::array<std::byte, 8> room;
        EXPECT_EQ(stream->recv(room, short_ns).status, timeout);
        EXPECT_EQ(stream->recv_all(room, short_ns).status, timeout);
        const std::vector<std::byte> more(2 * smallest_ring_bytes);
        const Transfer sent = stream->send(more, short_ns);
        EXPECT_EQ(sent.status, timeout);
        EXPECT_EQ(sent.n_bytes, smallest_ring_bytes);
        over = true;
        ringing.join();
    }
}

/// The words of the ring are the peer's to change at any time, our own wishes among them.
TEST_F(LyingPeerTest, TakesOurWishesAwayAndNeverRings) {
    meet();
    const RingMemory theirs = RingMemory::attach(std::move(peer->theirs.descriptors.at(0)), smallest_ring_bytes);
    std::atomic<bool> over{false};
    std::thread taking([&] {
        while (!over) theirs.header().receiver_waits = 0;
    });
    std::array<std::byte, 8> room;
    EXPECT_EQ(stream->recv(room, short_ns).status, timeout);
    over = true;
    taking.join();
}

TEST_F(LyingPeerTest, GivesBackByteByByteAndIsWaitedForNoLongerThanOnce) {
    meet();
    std::atomic<bool> over{false};
    std::thread giving([&] {
        RingHeader& header = peer->own.header();
        while (!over && header.tail < header.head) ++header.tail;
    });
    const std::vector<std::byte> more(8 * smallest_ring_bytes);
    const Transfer sent = stream->send(more, short_ns);
    EXPECT_TRUE(sent.status == timeout || sent.status == ok);
    over = true;
    giving.join();
}

/// A process that does this as another user.
template <typename Step>
pid_t as_user(uid_t user, Step step) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (setgid(user) != 0 || setuid(user) != 0) _exit(100);
    try {
        _exit(step());
    } catch (const std::exception&) {
        _exit(101);
    }
}
int exit_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr uid_t nobody = 65534;

struct OtherUserTest : testing::Test {
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    }
    /// A listener of nobody's, with an abstract name.
    pid_t nobody_listens(const std::string& address) {
        return as_user(nobody, [&] {
            CounterPage own;
            Listener listener(address, small_config(), own.add_block<ListenerCounter>("listener"));
            const auto stream = listener.accept(own.add_block<StreamCounter>("stream"), patience_ns);
            std::array<std::byte, 8> room;
            return stream != nullptr && stream->recv(room, patience_ns).status == ok ? 7 : 8;
        });
    }
    CounterPage page;
    Counters<StreamCounter> counters = page.add_block<StreamCounter>("stream");
};

TEST_F(OtherUserTest, WhoListensIsAskedForItsNameToo) {
    const std::string address = test::unused_address();
    const pid_t child = nobody_listens(address);
    try {
        connect(address, small_config(), counters);
        ADD_FAILURE() << "was taken";
    } catch (const ConfigError& error) {
        EXPECT_NE(error.rule().find("listened at by our own user"), std::string::npos) << "asked after a word was said";
    }
    kill(child, SIGKILL);
    exit_of(child);
}

TEST_F(OtherUserTest, AnAllowedUserMayListen) {
    const std::string address = test::unused_address();
    const pid_t child = nobody_listens(address);
    StreamConfig config = small_config();
    config.allowed_users = {nobody};
    const auto stream = connect(address, config, counters);
    EXPECT_EQ(stream->send(std::array<std::byte, 8>{}, patience_ns).status, ok);
    EXPECT_EQ(exit_of(child), 7);
}

TEST_F(OtherUserTest, AStrangerIsRefusedAndAnAllowedOneIsTaken) {
    for (const bool is_allowed : {false, true}) {
        StreamConfig config = small_config();
        if (is_allowed) config.allowed_users = {nobody};
        Listening listening(config);
        const pid_t child = as_user(nobody, [&] {
            CounterPage own;
            return connect(listening.listener.address(), small_config(), own.add_block<StreamCounter>("own")) ? 7 : 8;
        });
        const auto stream = listening.listener.accept(counters, is_allowed ? patience_ns : 500'000'000);
        EXPECT_EQ(stream != nullptr, is_allowed);
        EXPECT_EQ(listening.counters[ListenerCounter::refused_user], is_allowed ? 0U : 1U);
        EXPECT_EQ(exit_of(child), is_allowed ? 7 : 101);
    }
}

/// Root opened the socket, then became somebody else before it spoke.
TEST_F(OtherUserTest, WhoSpeaksIsAskedNotOnlyWhoConnected) {
    Listening listening(small_config());
    const Descriptor ours =
        connect_to(listening.listener.address(), SystemClock::instance().monotonic_ns() + patience_ns);
    const pid_t child = as_user(nobody, [&] {
        const test::PlainHello hello;
        const RingMemory ring = RingMemory::create(smallest_ring_bytes);
        const std::array given{ring.descriptor()};
        return send_packet(ours, std::as_bytes(std::span(&hello, 1)), given) ? 7 : 8;
    });
    EXPECT_EQ(exit_of(child), 7);
    EXPECT_EQ(listening.listener.accept(counters, 0), nullptr);
    EXPECT_EQ(listening.counters[ListenerCounter::refused_user], 1U);
}

TEST_F(OtherUserTest, AnAllowedUserReachesASocketFile) {
    const std::string path = std::filesystem::temp_directory_path() / ("anello-allowed-" + std::to_string(getpid()));
    StreamConfig config = small_config();
    config.allowed_users = {nobody};
    CounterPage own;
    Listener listener(path, config, own.add_block<ListenerCounter>("listener"));
    const pid_t child = as_user(nobody, [&] {
        CounterPage theirs;
        return connect(path, small_config(), theirs.add_block<StreamCounter>("theirs")) ? 7 : 8;
    });
    EXPECT_NE(listener.accept(counters, patience_ns), nullptr);
    EXPECT_EQ(exit_of(child), 7);
}

/// The peer is a process that forks a child, which holds all its descriptors and lives on.
TEST(Fork, TheDeathOfAPeerWhoseChildLivesOnIsSeen) {
    for (const bool is_asleep : {true, false}) {
        Listening listening(small_config());
        int pipe_of_child[2];
        ASSERT_EQ(pipe(pipe_of_child), 0);
        const pid_t holder = fork();
        if (holder == 0) {
            CounterPage own;
            const auto stream =
                connect(listening.listener.address(), small_config(), own.add_block<StreamCounter>("far"));
            const pid_t child = fork();
            if (child == 0) {
                for (;;) pause();
            }
            [[maybe_unused]] const auto told = write(pipe_of_child[1], &child, sizeof child);
            stream->send(std::array<std::byte, 8>{});
            for (;;) pause();
        }
        CounterPage page;
        const auto stream = listening.listener.accept(page.add_block<StreamCounter>("near"), patience_ns);
        ASSERT_NE(stream, nullptr);
        pid_t child = 0;
        ASSERT_EQ(read(pipe_of_child[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
        std::array<std::byte, 8> room;
        ASSERT_EQ(stream->recv_all(room, patience_ns).status, ok);
        if (!is_asleep) kill(holder, SIGKILL), exit_of(holder);
        std::thread killing([&] {
            if (is_asleep) kill(holder, SIGKILL), exit_of(holder);
        });
        EXPECT_EQ(stream->recv(room, patience_ns).status, peer_died);
        EXPECT_EQ(stream->check_peer(), peer_died);
        killing.join();
        EXPECT_EQ(kill(child, SIGKILL), 0) << "the child that holds the socket had ended before";
        for (const int end : pipe_of_child) close(end);
    }
}

TEST(Fork, AChildThatEndsDoesNotEndItsParentsStream) {
    test::SharedPair pair;
    const pid_t child = fork();
    if (child == 0) {
        pair.near->close();
        pair.near.reset();
        _exit(0);
    }
    EXPECT_EQ(exit_of(child), 0);
    std::array<std::byte, 8> room;
    EXPECT_EQ(pair.far->try_recv(room).status, would_block);
    EXPECT_EQ(pair.near->send(room, patience_ns).status, ok);
    EXPECT_EQ(pair.far->recv(room, patience_ns).n_bytes, 8U);
}

TEST(LetGo, MemoryAndDescriptorsGoBackAndTheEndStaysTheEnd) {
    const auto n_open = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    test::SharedPair pair;
    pair.near->send(std::array<std::byte, 8>{});
    pair.near->abandon();
    std::array<std::byte, 8> room;
    ASSERT_EQ(pair.far->recv(room, patience_ns).status, ok);
    EXPECT_FALSE(pair.far->receive_is_over());
    ASSERT_EQ(pair.far->recv(room, patience_ns).status, peer_died);
    ASSERT_TRUE(pair.far->is_over());
    const auto kept = pair.far->receive_memory();
    EXPECT_EQ(kept.use_count(), 2);
    const auto n_before = n_open();
    pair.far->let_go();
    EXPECT_LE(n_open(), n_before - 5);
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_EQ(pair.far->recv(room, patience_ns).status, peer_died);
    EXPECT_EQ(pair.far->send(room, patience_ns).status, peer_died);
    ConstBytes found;
    EXPECT_EQ(pair.far->peek(found, 1, patience_ns), peer_died);
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(pair.far->data_descriptor(), -1);
}

}  // namespace
}  // namespace anello::stream::lying_peer_test
