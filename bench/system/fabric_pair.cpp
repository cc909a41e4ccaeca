// SPDX-License-Identifier: Apache-2.0
/// Messages from one process to another over a transport of the fabric, for fabric_pair_bench.py:
///   fabric_pair transport=ucx|tcp|udp tls=T bytes=N messages=M window=W buffers=B wait=spin|sleep check=0|1
/// It forks; the receiver has the first core, the sender the last. Prints one JSON line: from the first send after the
/// warm-up until the receiver has said that it has all. buffers=1 receives all in one place, as ucx_perftest does;
/// check=1 looks at each payload's first and last bytes, which differ from message to message.
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "fabric/fabric_config.hpp"

namespace anello::fabric {
namespace {

using Options = std::map<std::string, std::string>;

constexpr Peer sender = 0, receiver = 1;
constexpr std::uint64_t farm_id = 0xbe4c4;

struct Plan {
    FabricConfig config;
    std::size_t n_bytes, n_buffers;
    std::uint64_t n_messages, n_warm_up;
    bool sleep, check;
};

Plan read_plan(const Options& options) {
    const auto number = [&](const char* name, std::uint64_t otherwise) {
        const auto found = options.find(name);
        return found == options.end() ? otherwise : std::stoull(found->second);
    };
    Plan plan{};
    plan.n_bytes = number("bytes", 131072);
    plan.n_buffers = number("buffers", 1);
    plan.n_messages = number("messages", 10'000);
    plan.n_warm_up = plan.n_messages / 10;
    plan.sleep = options.contains("wait") && options.at("wait") == "sleep";
    plan.check = number("check", 0) != 0;
    plan.config.transport =
        parse_word<Transport>(options.contains("transport") ? options.at("transport") : "ucx", "transport");
    plan.config.ucx_tls = options.contains("tls") ? options.at("tls") : "";
    plan.config.max_in_flight = static_cast<std::uint32_t>(number("window", 64));
    plan.config.max_message_bytes = std::max<std::size_t>(plan.n_bytes, 1);
    plan.config.n_peers = 2;
    plan.config.farm_id = farm_id;
    return plan;
}

void pin(bool to_last) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    int chosen = -1;
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && (to_last || chosen < 0)) chosen = core;
    CPU_SET(chosen, &one);
    sched_setaffinity(0, sizeof one, &one);
}

double cpu_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Either side: counts what comes and what is done.
class Side final : public Listener {
  public:
    Side(const Plan& plan, Peer self) : plan_(plan), places_(plan.n_buffers * plan.n_bytes, std::byte{1}) {
        FabricConfig config = plan.config;
        config.self = self;
        fabric = make_fabric(config, *this, SystemClock::instance(), page_.add_block<FabricCounter>("fabric"));
    }
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t n_bytes) noexcept override {
        return std::span(places_).subspan(n_placed++ % plan_.n_buffers * plan_.n_bytes, n_bytes);
    }
    void on_message(Peer, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        if (plan_.check && !payload.empty())
            n_wrong += payload.front() != header.front() || payload.back() != header.front() ? 1 : 0;
        ++n_received;
    }
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t, Status) noexcept override { ++n_done; }
    void on_peer(Peer, PeerState state) noexcept override {
        up = state == PeerState::up;
        lost = !up;
    }

    /// The other's address by way of `channel`.
    void meet(int channel, Peer other) {
        const std::vector<std::byte> mine = fabric->address();
        std::vector<std::byte> theirs(64 << 10);
        if (write(channel, mine.data(), mine.size()) < 0) throw SystemError("cannot send an address", errno, "");
        const ssize_t n_bytes = read(channel, theirs.data(), theirs.size());
        if (n_bytes <= 0) throw SystemError("the other side ended", errno, "");
        theirs.resize(static_cast<std::size_t>(n_bytes));
        fabric->connect(other, theirs);
        while (!up && !lost) turn();
        if (lost) throw SystemError("the other side does not answer", ETIMEDOUT, "");
    }
    void turn() {
        if (fabric->progress() > 0 || !plan_.sleep || !fabric->arm()) return;
        pollfd waiting{fabric->descriptor(), POLLIN, 0};
        poll(&waiting, 1, 100);
    }

    std::unique_ptr<Fabric> fabric;
    std::uint64_t n_placed = 0, n_received = 0, n_done = 0, n_wrong = 0;
    bool up = false, lost = false;

  private:
    const Plan& plan_;
    CounterPage page_;
    std::vector<std::byte> places_;
};

void send_one(Side& side, Peer to, std::span<std::byte> payload, std::uint64_t number) {
    const std::byte header{static_cast<unsigned char>(number)};
    while (side.fabric->send(to, {&header, 1}, payload, number) == Status::busy) side.turn();
}

/// Sends until `n_until`, then waits for the receiver's word that it has them.
void send_until(Side& side, const Plan& plan, std::vector<std::byte>& memory, std::uint64_t n_from,
                std::uint64_t n_until, std::uint64_t n_words) {
    // Checked payloads must stay as they are while they are on their way.
    const std::size_t n_slots = memory.size() / std::max<std::size_t>(plan.n_bytes, 1);
    for (std::uint64_t i = n_from; i < n_until && side.up; ++i) {
        const std::span payload = std::span(memory).subspan(i % n_slots * plan.n_bytes, plan.n_bytes);
        while (plan.check && i >= side.n_done + n_slots) side.turn();
        if (plan.check && !payload.empty()) payload.front() = payload.back() = std::byte{static_cast<unsigned char>(i)};
        send_one(side, receiver, payload, i);
        if (i % 8 == 0) side.fabric->progress();
    }
    while (side.n_received < n_words && side.up) side.turn();
}

int run_sender(const Plan& plan, int channel) {
    pin(true);
    Side side(plan, sender);
    side.meet(channel, receiver);
    std::vector<std::byte> memory((plan.check ? plan.config.max_in_flight * 2 : 1) * plan.n_bytes, std::byte{2});
    send_until(side, plan, memory, 0, plan.n_warm_up, 1);
    const Clock& clock = SystemClock::instance();
    const Nanoseconds begin_ns = clock.monotonic_ns();
    const double cpu_before = cpu_seconds();
    send_until(side, plan, memory, plan.n_warm_up, plan.n_warm_up + plan.n_messages, 2);
    const double seconds = static_cast<double>(clock.monotonic_ns() - begin_ns) * 1e-9;
    fmt::print(R"({{"bytes": {}, "messages": {}, "seconds": {:.6f}, "sender_cpu_s": {:.6f}, "complete": {}, )"
               R"("way": "{}"}})"
               "\n",
               plan.n_bytes, plan.n_messages, seconds, cpu_seconds() - cpu_before, side.up, side.fabric->describe());
    return side.up ? 0 : 1;
}

int run_receiver(const Plan& plan, int channel) {
    pin(false);
    Side side(plan, receiver);
    side.meet(channel, sender);
    for (const std::uint64_t n_until : {plan.n_warm_up, plan.n_warm_up + plan.n_messages}) {
        while (side.n_received < n_until && side.up) side.turn();
        send_one(side, sender, {}, n_until);
    }
    while (side.up) side.turn();  // until the sender has read it
    if (side.n_wrong > 0) fmt::print(stderr, "{} payloads are wrong\n", side.n_wrong);
    return side.n_wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace anello::fabric

int main(int argc, char** argv) {
    anello::fabric::Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::size_t equals = std::min(word.find('='), word.size() - 1);
        options[word.substr(0, equals)] = word.substr(equals + 1);
    }
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) != 0) return 1;
    const pid_t child = fork();
    try {
        const anello::fabric::Plan plan = anello::fabric::read_plan(options);
        if (child == 0) return anello::fabric::run_receiver(plan, channel[1]);
        const int result = anello::fabric::run_sender(plan, channel[0]);
        int status = 0;
        waitpid(child, &status, 0);
        return result != 0 ? result : WEXITSTATUS(status);
    } catch (const std::exception& error) {
        fmt::print(stderr, "fabric_pair: {}\n", error.what());
        return 1;
    }
}
