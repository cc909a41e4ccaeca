// SPDX-License-Identifier: Apache-2.0
// Two processes over UCX: what happens when one is killed, or stopped and goes on.
#ifdef ANELLO_UCX
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric_config.hpp"

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
    config.peer_timeout_ns = 500'000'000;
    return config;
}

/// Takes into a ring of places and counts; all payloads of these tests are one byte, repeated.
class Side final : public Listener {
  public:
    Side(const std::string& tls, Peer self)
        : places(n_places, std::vector<std::byte>(std::size_t{1} << 20)),
          counters(page.add_block<FabricCounter>("fabric")),
          fabric(make_fabric(config_of(tls, self), *this, SystemClock::instance(), counters)) {}
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t n_bytes) noexcept override {
        EXPECT_FALSE(down);
        return std::span(places[n_placed++ % n_places]).first(n_bytes);
    }
    void on_message(Peer, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        EXPECT_FALSE(down);
        const bool as_sent = std::all_of(payload.begin(), payload.end(),
                                         [&](std::byte byte) { return !header.empty() && byte == header[0]; });
        n_wrong += as_sent ? 0 : 1;
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
    bool until(const std::function<bool()>& holds, int seconds = 10) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
        while (!holds()) {
            fabric->progress();
            if (std::chrono::steady_clock::now() > end) return false;
        }
        return true;
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
    /// Fills all that may be on its way.
    std::uint64_t send_all(Peer to, std::span<const std::byte> payload) {
        std::uint64_t n_sent = 0;
        const std::byte header = payload[0];
        while (n_sent < 10'000 && fabric->send(to, {&header, 1}, payload, n_sent) == Status::ok) ++n_sent;
        return n_sent;
    }

    CounterPage page;
    std::vector<std::vector<std::byte>> places;
    Counters<FabricCounter> counters;
    std::uint64_t n_placed = 0, n_received = 0, n_wrong = 0, n_ok = 0, n_lost = 0, n_downs = 0;
    bool up = false, down = false;
    std::unique_ptr<Fabric> fabric;
};

/// A process that runs `work` with its end of a channel, and is gone at the end.
class Process {
  public:
    explicit Process(const std::function<void(int)>& work) {
        int ends[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            work(ends[1]);
            _exit(0);
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

  private:
    pid_t pid_ = -1;
    int channel_ = -1;
};

class UcxProcesses : public testing::TestWithParam<std::string> {};

std::string name_of_case(const testing::TestParamInfo<std::string>& info) {
    return info.param == "tcp" ? "tcp" : "shared_memory";
}

void work_for_ever(Side& side) {
    side.until([] { return false; }, 60);
}

TEST_P(UcxProcesses, AKilledReceiverIsDownAndAllThatWasSentIsReported) {
    Process process([](int channel) {
        Side side(GetParam(), child);
        if (side.meet(channel, parent)) work_for_ever(side);
    });
    Side side(GetParam(), parent);
    ASSERT_TRUE(side.meet(process.channel(), child));
    const std::vector<std::byte> large(std::size_t{1} << 20, std::byte{7}), small(100, std::byte{9});
    std::uint64_t n_sent = side.send_all(child, large);
    ASSERT_TRUE(side.until([&] { return side.n_ok > 10; }));
    n_sent += side.send_all(child, large);
    process.stop(SIGKILL);
    n_sent += side.send_all(child, small);
    EXPECT_TRUE(side.until([&] { return side.down; }));
    EXPECT_EQ(side.n_downs, 1U);
    EXPECT_EQ(side.n_ok + side.n_lost, n_sent);
    EXPECT_EQ(side.counters[FabricCounter::messages_sent], n_sent);
    EXPECT_EQ(side.counters[FabricCounter::messages_failed], side.n_lost);
}

TEST_P(UcxProcesses, AfterAKilledSenderNothingIsWrittenAndANewOneConnects) {
    const auto send_for_ever = [](int channel) {
        Side side(GetParam(), child);
        if (!side.meet(channel, parent)) return;
        const std::vector<std::byte> large(std::size_t{1} << 20, std::byte{7});
        side.until([&] { return side.send_all(parent, large) > 9'999; }, 60);
    };
    std::list<Process> processes;  // forked before this one has anything of UCX's
    for (int i = 0; i < 3; ++i) processes.emplace_back(send_for_ever);
    Side side(GetParam(), parent);
    for (int round = 1; round <= 3; ++round) {
        Process& process = processes.front();
        const std::uint64_t n_before = side.n_received;
        ASSERT_TRUE(side.meet(process.channel(), child));
        ASSERT_TRUE(side.until([&] { return side.n_received > n_before + 20; }));
        process.stop(SIGKILL);
        ASSERT_TRUE(side.until([&] { return side.down; }));
        processes.pop_front();
        EXPECT_EQ(side.n_downs, static_cast<std::uint64_t>(round));
        for (auto& place : side.places) std::fill(place.begin(), place.end(), std::byte{1});
        for (int i = 0; i < 10'000; ++i) side.fabric->progress();
        for (const auto& place : side.places)
            EXPECT_TRUE(std::all_of(place.begin(), place.end(), [](std::byte byte) { return byte == std::byte{1}; }));
    }
    EXPECT_EQ(side.n_wrong, 0U);
}

/// What a stopped process had been sent, and what it was about to send, must not appear when it goes on: the memory
/// behind both has other uses by then.
TEST_P(UcxProcesses, AStoppedProcessFindsItselfLeftWhenItGoesOn) {
    Process process([](int channel) {
        Side side(GetParam(), child);
        if (!side.meet(channel, parent)) return;
        const std::vector<std::byte> large(std::size_t{1} << 20, std::byte{7});
        side.until([&] {
            side.send_all(parent, large);
            return side.down;
        });
        const std::uint64_t report[2] = {side.n_downs, side.n_wrong};
        (void)!write(channel, report, sizeof report);
    });
    Side side(GetParam(), parent);
    ASSERT_TRUE(side.meet(process.channel(), child));
    std::vector<std::byte> large(std::size_t{1} << 20, std::byte{3});
    ASSERT_TRUE(side.until([&] {
        side.send_all(child, large);
        return side.n_received > 20 && side.n_ok > 20;
    }));
    process.tell(SIGSTOP);
    side.send_all(child, large);
    ASSERT_TRUE(side.until([&] { return side.down; }));
    std::fill(large.begin(), large.end(), std::byte{4});
    for (auto& place : side.places) std::fill(place.begin(), place.end(), std::byte{1});
    process.tell(SIGCONT);
    std::uint64_t report[2] = {};
    ASSERT_TRUE(side.until([&] { return recv(process.channel(), report, sizeof report, MSG_DONTWAIT) > 0; }));
    EXPECT_EQ(report[0], 1U);
    EXPECT_EQ(report[1], 0U) << "payloads of reused memory were told";
    EXPECT_EQ(side.n_downs, 1U);
    EXPECT_EQ(side.n_wrong, 0U);
    for (const auto& place : side.places)
        EXPECT_TRUE(std::all_of(place.begin(), place.end(), [](std::byte byte) { return byte == std::byte{1}; }));
}

INSTANTIATE_TEST_SUITE_P(Transports, UcxProcesses, testing::Values("tcp", "shm,self"), name_of_case);

}  // namespace
}  // namespace anello::fabric
#endif
