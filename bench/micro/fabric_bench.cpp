// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "fabric/fabric_config.hpp"

/// Messages from one thread to another, by each transport of the build, and by plain blocking TCP as the measure of
/// what the machine gives. `cpu_ns` is what both threads took for a message. A thread with nothing to do looks some
/// times more, then sleeps until its fabric wakes it, as the nodes of a farm do.
namespace anello::fabric {
namespace {

constexpr std::size_t largest_bytes = std::size_t{1} << 20;
/// An event builder has as many slots under way; one alone would stay in the nearest cache.
constexpr std::size_t n_places = 16;

class Receiver final : public Listener {
  public:
    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t) noexcept override {
        return places_[n_placed_++ % places_.size()];
    }
    void on_message(Peer, std::span<const std::byte>, std::span<std::byte>) noexcept override {
        n_messages.store(n_messages.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    void on_lost(Peer, std::span<const std::byte>) noexcept override {}
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t, Status) noexcept override { ++n_done; }
    void on_peer(Peer, PeerState state) noexcept override { up = state == PeerState::up; }

    std::atomic<std::uint64_t> n_messages{0};
    std::uint64_t n_done = 0;
    bool up = false;

  private:
    std::vector<std::vector<std::byte>> places_{n_places, std::vector<std::byte>(largest_bytes)};
    std::size_t n_placed_ = 0;
};

/// Two fabrics that know each other.
class Pair {
  public:
    explicit Pair(Transport transport) {
        FabricConfig config;
        config.transport = transport;
        config.n_peers = 2;
        config.farm_id = static_cast<std::uint64_t>(getpid());
        if (transport == Transport::udp) config.datagram_bytes = 8972;
        for (Peer peer = 0; peer < 2; ++peer) {
            config.self = peer;
            fabrics[peer] = make_fabric(config, listeners[peer], SystemClock::instance(),
                                        page.add_block<FabricCounter>("fabric" + std::to_string(peer)));
        }
        for (Peer peer = 0; peer < 2; ++peer) {
            const Peer other = peer ^ 1;
            fabrics[peer]->connect(other, fabrics[other]->address());
        }
        for (int i = 0; i < 10'000'000 && !(listeners[0].up && listeners[1].up); ++i)
            for (const auto& fabric : fabrics) fabric->progress();
    }
    bool connected() const { return listeners[0].up && listeners[1].up; }

    CounterPage page;
    std::array<Receiver, 2> listeners;
    std::array<std::unique_ptr<Fabric>, 2> fabrics;
};

void step(Fabric& fabric) {
    constexpr int n_looks = 50;
    for (int i = 0; i < n_looks; ++i)
        if (fabric.progress() > 0) return;
    if (!fabric.arm()) return;
    pollfd waiting{fabric.descriptor(), POLLIN, 0};
    poll(&waiting, 1, 10);
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void report(benchmark::State& state, double cpu_s, std::size_t n_bytes) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(n_bytes));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
    state.counters["cpu_ns"] = cpu_s * 1e9 / static_cast<double>(state.iterations());
}

void messages(benchmark::State& state, Transport transport) {
    const auto n_bytes = static_cast<std::size_t>(state.range(0));
    std::unique_ptr<Pair> pair;
    try {
        pair = std::make_unique<Pair>(transport);
    } catch (const std::exception& error) {
        state.SkipWithError(error.what());
        return;
    }
    if (!pair->connected()) {
        state.SkipWithError("did not connect");
        return;
    }
    const std::vector<std::byte> header(32), payload(n_bytes, std::byte{0x5a});
    std::atomic<bool> stop{false};
    std::thread receiver([&] {
        while (!stop.load(std::memory_order_relaxed)) step(*pair->fabrics[1]);
    });
    Fabric& fabric = *pair->fabrics[0];
    const double before_s = cpu_seconds();
    std::uint64_t n_sent = 0;
    for (auto _ : state) {
        while (fabric.send(1, header, payload, n_sent) != Status::ok) step(fabric);
        ++n_sent;
    }
    const double cpu_s = cpu_seconds() - before_s;
    const auto all_there = [&] {
        return pair->listeners[0].n_done == n_sent &&
               pair->listeners[1].n_messages.load(std::memory_order_acquire) == n_sent;
    };
    for (int i = 0; i < 10'000 && !all_there(); ++i) step(fabric);
    stop = true;
    receiver.join();
    report(state, cpu_s, n_bytes);
    state.counters["lost"] = static_cast<double>(n_sent - pair->listeners[1].n_messages.load());
}

/// Does what iperf does: one blocking socket, whose receiver writes to as many places as in the other cases.
void raw_tcp(benchmark::State& state) {
    const auto n_bytes = static_cast<std::size_t>(state.range(0));
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listening, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listening, 1) != 0 ||
        getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        state.SkipWithError("cannot listen");
        return;
    }
    const int out = socket(AF_INET, SOCK_STREAM, 0);
    const int one = 1;
    setsockopt(out, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(out, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        state.SkipWithError("cannot connect");
        return;
    }
    const int in = accept(listening, nullptr, nullptr);
    std::thread receiver([in] {
        std::vector<std::byte> places(n_places * largest_bytes);
        for (std::size_t i = 0; recv(in, places.data() + i * largest_bytes, std::size_t{128} << 10, 0) > 0;)
            i = (i + 1) % n_places;
    });
    const std::vector<std::byte> payload(n_bytes, std::byte{0x5a});
    const double before_s = cpu_seconds();
    for (auto _ : state)
        for (std::size_t n_sent = 0; n_sent < n_bytes;) {
            const ssize_t n = send(out, payload.data() + n_sent, n_bytes - n_sent, 0);
            if (n <= 0) break;
            n_sent += static_cast<std::size_t>(n);
        }
    report(state, cpu_seconds() - before_s, n_bytes);
    close(out);
    receiver.join();
    close(in);
    close(listening);
}

void sizes(benchmark::internal::Benchmark* bench) {
    bench->ArgName("bytes")->Arg(1 << 10)->Arg(8 << 10)->Arg(64 << 10)->Arg(128 << 10)->Arg(1 << 20)->UseRealTime();
}
BENCHMARK(raw_tcp)->Apply(sizes);
BENCHMARK_CAPTURE(messages, tcp, Transport::tcp)->Apply(sizes);
BENCHMARK_CAPTURE(messages, udp, Transport::udp)->Apply(sizes);
BENCHMARK_CAPTURE(messages, ucx, Transport::ucx)->Apply(sizes);

}  // namespace
}  // namespace anello::fabric

BENCHMARK_MAIN();
