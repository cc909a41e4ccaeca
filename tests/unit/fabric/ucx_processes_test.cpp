// SPDX-License-Identifier: Apache-2.0
// Two processes over UCX: what happens when one is killed, or is stopped and runs again.
#ifdef ANELLO_UCX
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/fabric_config.hpp"
#include "moved_clock.hpp"
#include "patience.hpp"

namespace anello::fabric {
namespace {

constexpr Peer parent = 0, child = 1;
constexpr std::size_t n_places = 8;

FabricConfig config_of(const std::string& tls, Peer self) {
    FabricConfig config;
    config.self = self;
    config.n_peers = 2;
    config.farm_id = 0x70c;
    config.ucx_tls = tls;
    config.heartbeat_ns = 100'000'000;
    config.peer_timeout_ns = anello::test::far_off_ns;
    return config;
}

/// PERF NOTE: a loop over a megabyte without optimisation and with sanitizers takes longer than the way through UCX.
bool is_all(std::span<const std::byte> bytes, std::byte value) {
    return bytes.empty() || (bytes[0] == value && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

/// Takes into a ring of places and counts; all payloads of these tests are one byte, repeated.
class Side final : public Listener {
  public:
    Side(const std::string& tls, Peer self)
        : places(n_places, std::vector<std::byte>(std::size_t{1} << 20)),
          counters(page.add_block<FabricCounter>("fabric")),
          fabric(make_fabric(config_of(tls, self), *this, clock, counters)) {}
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t n_bytes) noexcept override {
        EXPECT_FALSE(down);
        return std::span(places[n_placed++ % n_places]).first(n_bytes);
    }
    void on_message(Peer, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        EXPECT_FALSE(down);
        n_wrong += !header.empty() && is_all(payload, header[0]) ? 0 : 1;
        ++n_received;
    }
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t, Status status) noexcept override {
        EXPECT_FALSE(down);
        ++(status == Status::ok ? n_ok : n_lost);
    }
    void on_peer(Peer, PeerState state) noexcept override {
        up = state == PeerState::up;
        n_downs += up ? 0 : 1;
        down = !up;
    }
    bool until(const std::function<bool()>& holds) {
        return anello::test::comes_true(holds, [this] { fabric->progress(); });
    }
    /// True if our side reports the other's death. Over memory only silence shows it, so the clock is moved.
    bool sees_the_death(const std::string& tls) {
        return until([&] {
            if (tls != "tcp") clock.move(10'000'000);
            return down;
        });
    }
    bool meet(int channel, Peer other) {
        const std::vector<std::byte> mine = fabric->address();
        std::vector<std::byte> theirs(64 << 10);
        if (write(channel, mine.data(), mine.size()) < 0) return false;
        const ssize_t n_bytes = read(channel, theirs.data(), theirs.size());
        if (n_bytes <= 0) return false;
        down = false;
        fabric->connect(other, std::span(theirs).first(static_cast<std::size_t>(n_bytes)));
        return until([&] { return up; });
    }
    /// Sends until as many messages are under way as are allowed.
    std::uint64_t send_all(Peer to, std::span<const std::byte> payload) {
        std::uint64_t n_sent = 0;
        const std::byte header = payload[0];
        while (n_sent < 10'000 && fabric->send(to, {&header, 1}, payload, n_sent) == Status::ok) ++n_sent;
        return n_sent;
    }

    anello::test::MovedClock clock;
    CounterPage page;
    std::vector<std::vector<std::byte>> places;
    Counters<FabricCounter> counters;
    std::uint64_t n_placed = 0, n_received = 0, n_wrong = 0, n_ok = 0, n_lost = 0, n_downs = 0;
    bool up = false, down = false;
    std::unique_ptr<Fabric> fabric;
};

constexpr const char* role_variable = "ANELLO_UCX_PROCESSES_TEST";

/// Starts this program once more, with a role: a fork alone would inherit UCX's state of this process.
class Process {
  public:
    Process(const std::string& role, const std::string& tls, std::size_t n_bytes) {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        std::string variable = std::string(role_variable) + "=" + role + ":" + tls + ":" + std::to_string(n_bytes) +
                               ":" + std::to_string(ends[1]);
        std::string program = "test";
        char* const arguments[] = {program.data(), nullptr};
        std::vector<char*> environment{variable.data()};  // the rest is ours: the same UCX is found, and so configured
        for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
        environment.push_back(nullptr);
        pid_ = vfork();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);  // one that stands still would outlive a test that crashes
            execve("/proc/self/exe", arguments, environment.data());
            _exit(1);
        }
        close(ends[1]);
        channel_ = ends[0];
    }
    ~Process() {
        stop(SIGKILL);
        close(channel_);
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    int channel() const { return channel_; }
    void tell(int signal_number) const { kill(pid_, signal_number); }
    void stop(int signal_number) {
        if (pid_ <= 0) return;
        kill(pid_, signal_number);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    /// Over TCP it is killed at any instant. Over memory the process kills itself between two calls of UCX: one killed
    /// while it writes into our queue blocks it for ever (docs/reference/fabric.md), and no later process would
    /// connect.
    void stop_sender(const std::string& tls) {
        if (tls == "tcp") return stop(SIGKILL);
        EXPECT_EQ(::send(channel_, "x", 1, MSG_NOSIGNAL), 1);
        int status = 0;
        waitpid(std::exchange(pid_, -1), &status, 0);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "ended by itself: " << status;
    }

  private:
    pid_t pid_ = -1;
    int channel_ = -1;
};

/// UCX_TLS, and the size of messages, which are sent at once or fetched.
class UcxProcesses : public testing::TestWithParam<std::tuple<std::string, std::size_t>> {};

const std::string& tls() {
    return std::get<0>(UcxProcesses::GetParam());
}
std::size_t payload_bytes() {
    return std::get<1>(UcxProcesses::GetParam());
}

std::string name_of_case(const testing::TestParamInfo<UcxProcesses::ParamType>& info) {
    return std::string(std::get<0>(info.param) == "tcp" ? "tcp_" : "shared_memory_") +
           std::to_string(std::get<1>(info.param));
}

using Bytes = std::vector<std::byte>;

/// Clock of the process that is stopped: the test moves it by the time that the process was to stand still.
anello::test::MovedClock* stopped_clock = nullptr;

/// What the other process does, by its role, until it is killed; `leaver` until it is left, `sender` until ordered.
void work(const std::string& role, const std::string& tls, std::size_t n_bytes, int channel) {
    Side side(tls, child);
    stopped_clock = &side.clock;
    std::signal(SIGCONT, [](int) { stopped_clock->move(anello::test::far_off_ns + 100'000'000); });
    if (!side.meet(channel, parent)) return;
    const Bytes large(n_bytes, std::byte{7});
    const auto end = [&] { return role == "leaver" && side.down; };
    side.until([&] {
        if (role != "receiver") side.send_all(parent, large);
        char word = 0;
        if (role == "sender" && recv(channel, &word, 1, MSG_DONTWAIT) > 0) kill(getpid(), SIGKILL);
        return end();
    });
    const std::uint64_t report[2] = {side.n_downs, side.n_wrong};
    (void)!write(channel, report, sizeof report);
}

/// Before main(): whether this is such a process.
const bool is_the_test = [] {
    const char* const role = std::getenv(role_variable);
    if (role == nullptr) return true;
    std::vector<std::string> words{""};
    for (const char* at = role; *at != 0; ++at) *at == ':' ? words.emplace_back() : words.back() += *at;
    if (words.size() == 4) work(words[0], words[1], std::stoul(words[2]), std::stoi(words[3]));
    _exit(0);
}();

TEST_P(UcxProcesses, AKilledReceiverIsDownAndAllThatWasSentIsReported) {
    Process process("receiver", tls(), payload_bytes());
    Side side(tls(), parent);
    ASSERT_TRUE(side.meet(process.channel(), child));
    const Bytes large(payload_bytes(), std::byte{7}), small(100, std::byte{9});
    std::uint64_t n_sent = side.send_all(child, large);
    ASSERT_TRUE(side.until([&] { return side.n_ok > 10; })) << side.n_ok << " went";
    n_sent += side.send_all(child, large);
    process.stop(SIGKILL);
    n_sent += side.send_all(child, small);
    EXPECT_TRUE(side.sees_the_death(tls()));
    EXPECT_EQ(side.n_downs, 1U);
    EXPECT_EQ(side.n_ok + side.n_lost, n_sent);
    EXPECT_EQ(side.counters[FabricCounter::messages_sent], n_sent);
    EXPECT_EQ(side.counters[FabricCounter::messages_failed], side.n_lost);
}

TEST_P(UcxProcesses, AfterAKilledSenderNothingIsWrittenAndANewOneConnects) {
    Side side(tls(), parent);
    for (int round = 1; round <= 3; ++round) {
        Process process("sender", tls(), payload_bytes());
        const std::uint64_t n_before = side.n_received;
        ASSERT_TRUE(side.meet(process.channel(), child));
        ASSERT_TRUE(side.until([&] { return side.n_received > n_before + 20; }))
            << side.n_received - n_before << " came";
        process.stop_sender(tls());
        ASSERT_TRUE(side.sees_the_death(tls()));
        EXPECT_EQ(side.n_downs, static_cast<std::uint64_t>(round));
        for (auto& place : side.places) std::fill(place.begin(), place.end(), std::byte{1});
        for (int i = 0; i < 10'000; ++i) side.fabric->progress();
        for (const auto& place : side.places) EXPECT_TRUE(is_all(place, std::byte{1}));
    }
    EXPECT_EQ(side.n_wrong, 0U);
}

/// Up to 64 messages each way.
TEST_P(UcxProcesses, WhoIsKilledWithMuchUnderWayInBothDirectionsTakesNobodyAlong) {
    Side side(tls(), parent);
    const Bytes large(payload_bytes(), std::byte{3});
    std::uint64_t n_sent = 0;
    for (int round = 1; round <= 3; ++round) {
        Process process("sender", tls(), payload_bytes());
        const std::uint64_t n_came = side.n_received + 50, n_went = side.n_ok + 50;
        ASSERT_TRUE(side.meet(process.channel(), child));
        ASSERT_TRUE(side.until([&] {
            n_sent += side.send_all(child, large);
            return side.n_received > n_came && side.n_ok > n_went;
        })) << side.n_received
            << " came, " << side.n_ok << " went";
        n_sent += side.send_all(child, large);
        process.stop_sender(tls());
        ASSERT_TRUE(side.sees_the_death(tls()));
        EXPECT_EQ(side.n_downs, static_cast<std::uint64_t>(round));
    }
    EXPECT_EQ(side.n_ok + side.n_lost, n_sent);
    EXPECT_EQ(side.n_wrong, 0U);
}

/// Messages to a stopped process, and those that it was about to send, must not appear when it runs again: the memory
/// of both has other uses by then.
TEST_P(UcxProcesses, AStoppedProcessFindsItselfLeftWhenItGoesOn) {
    Process process("leaver", tls(), payload_bytes());
    Side side(tls(), parent);
    ASSERT_TRUE(side.meet(process.channel(), child));
    Bytes large(payload_bytes(), std::byte{3});
    ASSERT_TRUE(side.until([&] {
        side.send_all(child, large);
        return side.n_received > 20 && side.n_ok > 20;
    })) << side.n_received
        << " came, " << side.n_ok << " went";
    process.tell(SIGSTOP);
    side.send_all(child, large);
    ASSERT_TRUE(side.until([&] {
        side.clock.move(10'000'000);
        return side.down;
    }));
    std::fill(large.begin(), large.end(), std::byte{4});
    for (auto& place : side.places) std::fill(place.begin(), place.end(), std::byte{1});
    process.tell(SIGCONT);
    std::uint64_t report[2] = {};
    ASSERT_TRUE(side.until([&] { return recv(process.channel(), report, sizeof report, MSG_DONTWAIT) > 0; }));
    EXPECT_EQ(report[0], 1U);
    EXPECT_EQ(report[1], 0U) << "payloads of reused memory were reported";
    EXPECT_EQ(side.n_downs, 1U);
    EXPECT_EQ(side.n_wrong, 0U);
    for (const auto& place : side.places) EXPECT_TRUE(is_all(place, std::byte{1}));
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxProcesses,
                         testing::Combine(testing::Values("tcp", "shm,self"),
                                          testing::Values(std::size_t{50'000}, std::size_t{1} << 20)),
                         name_of_case);

}  // namespace
}  // namespace anello::fabric
#endif
