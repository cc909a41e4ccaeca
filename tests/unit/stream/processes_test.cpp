// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "core/errors.hpp"
#include "unit/stream/lying_peer.hpp"

/// Peers that are processes of their own: killed, of other users, with children, or short of memory.
namespace anello::stream {
namespace {

using anello::test::patience_ns;
using test::Listening;
using test::small_config;
using enum StreamStatus;

/// The far side is a process of its own, and is killed while a message is half sent.
TEST(RingProcesses, AProcessKilledWithinAMessage) {
    const std::string address = test::unused_address();
    CounterPage page;
    Listener listener(address, small_config(), page.add_block<ListenerCounter>("listener"));
    const pid_t child = fork();
    if (child == 0) {
        CounterPage own;
        const auto stream = connect(address, small_config(), own.add_block<StreamCounter>("far"));
        const std::array<std::uint64_t, 3> half{1000, 1, 2};  // says 1000 bytes, and brings 16
        stream->send(std::as_bytes(std::span(half)));
        kill(getpid(), SIGKILL);
        _exit(1);
    }
    const auto stream = listener.accept(page.add_block<StreamCounter>("near"), patience_ns);
    ASSERT_NE(stream, nullptr);
    ConstBytes message;
    EXPECT_EQ(stream->peek_message(message, patience_ns), peer_died);
    EXPECT_TRUE(message.empty());
    ConstBytes rest;
    EXPECT_EQ(stream->peek(rest, 1000, patience_ns), peer_died);
    EXPECT_EQ(rest.size(), 24U);
    waitpid(child, nullptr, 0);
}

/// Makes a ring in a process with a lowered limit; says how that process ended: 3 if the error names this remedy.
int exit_below_limit(int resource, rlim_t limit, const std::string& remedy) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit lowered{limit, limit};
        setrlimit(static_cast<__rlimit_resource_t>(resource), &lowered);
        try {
            const RingMemory ring = RingMemory::create(std::size_t{16} << 20);
            _exit(0);
        } catch (const SystemError& error) {
            _exit(std::string(error.what()).find(remedy) != std::string::npos ? 3 : 4);
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RingProcesses, MemoryAndDescriptorsThatRunOutAreErrorsWithARemedy) {
    EXPECT_EQ(exit_below_limit(RLIMIT_FSIZE, 1 << 20, "raise the limits"), 3);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need descriptors and memory of their own
    EXPECT_EQ(exit_below_limit(RLIMIT_NOFILE, 0, "limit of open files"), 3);
    EXPECT_EQ(exit_below_limit(RLIMIT_AS, 24 << 20, "raise the limits"), 3);
#endif
}

/// Starts a process that does this as another user.
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

struct OtherUserProcesses : testing::Test {
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    }
    /// A listener of the user nobody, with an abstract name.
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

TEST_F(OtherUserProcesses, WhoListensIsAskedForItsNameToo) {
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

TEST_F(OtherUserProcesses, AnAllowedUserMayListen) {
    const std::string address = test::unused_address();
    const pid_t child = nobody_listens(address);
    StreamConfig config = small_config();
    config.allowed_users = {nobody};
    const auto stream = connect(address, config, counters);
    EXPECT_EQ(stream->send(std::array<std::byte, 8>{}, patience_ns).status, ok);
    EXPECT_EQ(exit_of(child), 7);
}

TEST_F(OtherUserProcesses, AStrangerIsRefusedAndAnAllowedOneIsTaken) {
    for (const bool is_allowed : {false, true}) {
        StreamConfig config = small_config();
        if (is_allowed) config.allowed_users = {nobody};
        Listening listening(config);
        const pid_t child = as_user(nobody, [&] {
            CounterPage own;
            return connect(listening.listener.address(), small_config(), own.add_block<StreamCounter>("own")) ? 7 : 8;
        });
        std::unique_ptr<Stream> stream;
        EXPECT_TRUE(anello::test::comes_true([&] {
            stream = listening.listener.accept(counters, 1'000'000);
            return stream != nullptr || listening.counters[ListenerCounter::refused_user] > 0;
        }));
        EXPECT_EQ(stream != nullptr, is_allowed);
        EXPECT_EQ(listening.counters[ListenerCounter::refused_user], is_allowed ? 0U : 1U);
        EXPECT_EQ(exit_of(child), is_allowed ? 7 : 101);
    }
}

/// Root opened the socket, then became another user before it sent anything.
TEST_F(OtherUserProcesses, WhoSpeaksIsAskedNotOnlyWhoConnected) {
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

TEST_F(OtherUserProcesses, AnAllowedUserReachesASocketFile) {
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
TEST(ForkProcesses, TheDeathOfAPeerWhoseChildLivesOnIsSeen) {
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

TEST(ForkProcesses, AChildThatEndsDoesNotEndItsParentsStream) {
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

}  // namespace
}  // namespace anello::stream
