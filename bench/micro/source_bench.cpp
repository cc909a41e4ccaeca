// SPDX-License-Identifier: Apache-2.0
// How many events per second one core makes for the RICH's boards, and how many fragments for a camera's: encoded only,
// and sent over the loopback.
#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

#include "camera/source/source.hpp"
#include "rich/source/simulation.hpp"
#include "rich/source/source.hpp"
#include "source/sinks/udp_sink.hpp"

namespace {

using namespace anello::camera;
using namespace anello::rich;
using namespace anello::source;

const EventSample& sample() {
    static const EventSample events = RichSimulation(RichSimulationConfig{}).simulate(32'768);
    return events;
}

struct NullSink final : PacketSink {
    void send(std::span<const OutgoingDatagram> datagrams, anello::Nanoseconds, SendResult* results) noexcept override {
        std::fill_n(results, datagrams.size(), SendResult::sent);
    }
};

/// Sockets that nobody reads: the kernel takes each datagram to the socket's queue and drops it there.
struct Listeners {
    explicit Listeners(std::uint16_t n_ports) : sockets(n_ports) {
        for (std::uint16_t board = 0; board < n_ports; ++board) {
            sockets[board] = socket(AF_INET, SOCK_DGRAM, 0);
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            socklen_t length = sizeof address;
            bind(sockets[board], reinterpret_cast<sockaddr*>(&address), length);
            getsockname(sockets[board], reinterpret_cast<sockaddr*>(&address), &length);
            endpoints.push_back({board, "127.0.0.1", ntohs(address.sin_port)});
        }
    }
    ~Listeners() {
        for (const int one : sockets) close(one);
    }
    std::vector<int> sockets;
    std::vector<BoardEndpoint> endpoints;
};

RichSourceConfig unpaced(std::uint32_t mtu_bytes, bool hit_times, bool checksum) {
    RichSourceConfig config;
    config.rate_hz = 5e6;
    config.burst_ms = 100'000;
    config.n_bursts = 0;
    config.paced = false;
    config.flush_us = 1000;
    config.mtu_bytes = mtu_bytes;
    config.hit_times = hit_times;
    config.checksum = checksum;
    config.max_truth_samples = 0;
    return config;
}

void run(benchmark::State& state, const RichSourceConfig& config, PacketSink& sink) {
    const EventPool pool(sample(), config.format, config.hit_times);
    anello::CounterPage page;
    RichSource source(config, pool, sink, anello::SystemClock::instance(), page);
    source.do_work();
    for (auto step : state) benchmark::DoNotOptimize(source.do_work());
    state.counters["events/s"] = benchmark::Counter(static_cast<double>(source.counters()[GeneratorCounter::events]),
                                                    benchmark::Counter::kIsRate);
}

void encode(benchmark::State& state) {
    NullSink sink;
    run(state, unpaced(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0, state.range(2) != 0), sink);
}

void encode_mep(benchmark::State& state) {
    NullSink sink;
    RichSourceConfig config = unpaced(static_cast<std::uint32_t>(state.range(0)), true, false);
    config.format = Format::mep;
    run(state, config, sink);
}

void send_loopback(benchmark::State& state) {
    const Listeners listeners(4);
    RichSourceConfig config = unpaced(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0, true);
    config.boards = listeners.endpoints;
    UdpSink sink(config.boards, state.range(2) != 0 ? Offload::gso : Offload::none);
    run(state, config, sink);
}

void simulate(benchmark::State& state) {
    RichSimulation simulation{RichSimulationConfig{}};
    std::uint64_t event = 0;
    for (auto step : state) benchmark::DoNotOptimize(simulation.simulate(100, event += 100));
    state.counters["events/s"] = benchmark::Counter(static_cast<double>(event), benchmark::Counter::kIsRate);
}

CameraSourceConfig unpaced_camera(std::uint32_t n_samples, bool checksum, CameraPayload payload) {
    CameraSourceConfig config;
    config.shape.n_samples = n_samples;
    config.ports = {6000};
    config.paced = false;
    config.checksum = checksum;
    config.payload = payload;
    config.max_truth_samples = 0;
    return config;
}

void run_camera(benchmark::State& state, const CameraSourceConfig& config, PacketSink& sink) {
    CameraPool pool(config);
    anello::CounterPage page;
    CameraSource source(config, pool, sink, anello::SystemClock::instance(), page);
    source.do_work();
    for (auto step : state) benchmark::DoNotOptimize(source.do_work());
    const auto n_datagrams = static_cast<double>(source.counters()[GeneratorCounter::events]) * config.n_own_boards();
    const auto bytes = static_cast<double>(anello::wire::camera::header_bytes + config.fragment_payload_bytes());
    state.counters["datagrams/s"] = benchmark::Counter(n_datagrams, benchmark::Counter::kIsRate);
    state.counters["Gb/s"] = benchmark::Counter(n_datagrams * bytes * 8e-9, benchmark::Counter::kIsRate);
}

void camera_encode(benchmark::State& state) {
    NullSink sink;
    const auto payload = state.range(2) != 0 ? CameraPayload::pattern : CameraPayload::waveforms;
    run_camera(state, unpaced_camera(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0, payload), sink);
}

void camera_loopback(benchmark::State& state) {
    const Listeners listeners(static_cast<std::uint16_t>(state.range(1)));
    auto config =
        unpaced_camera(static_cast<std::uint32_t>(state.range(0)), state.range(3) != 0, CameraPayload::waveforms);
    config.ports.clear();
    for (const BoardEndpoint& endpoint : listeners.endpoints) config.ports.push_back(endpoint.port);
    UdpSink sink(config.endpoints(), state.range(2) != 0 ? Offload::gso : Offload::none);
    run_camera(state, config, sink);
}

void camera_simulate(benchmark::State& state) {
    const CameraSourceConfig config = unpaced_camera(60, true, CameraPayload::waveforms);
    CameraSimulation simulation(config.simulation, config.shape, 1);
    std::vector<std::byte> payload(config.shape.payload_bytes());
    std::uint32_t event = 0;
    for (auto step : state) {
        simulation.begin_event(event++);
        for (std::uint32_t board = 0; board < config.shape.n_boards; ++board)
            simulation.write_waveforms(board, payload);
    }
    state.counters["events/s"] = benchmark::Counter(event, benchmark::Counter::kIsRate);
}

BENCHMARK(camera_simulate)->Unit(benchmark::kMicrosecond);
BENCHMARK(camera_encode)
    ->ArgNames({"samples", "checksum", "pattern"})
    ->Args({60, 0, 0})
    ->Args({60, 1, 0})
    ->Args({60, 0, 1})
    ->Args({60, 1, 1});
BENCHMARK(camera_loopback)
    ->ArgNames({"samples", "ports", "gso", "checksum"})
    ->Args({60, 265, 0, 1})
    ->Args({60, 265, 1, 1})
    ->Args({60, 1, 1, 0})
    ->Args({60, 1, 1, 1})
    ->Args({40, 4, 1, 1});
BENCHMARK(simulate)->Unit(benchmark::kMicrosecond);
BENCHMARK(encode)
    ->ArgNames({"mtu", "hit_times", "checksum"})
    ->Args({1500, 1, 1})
    ->Args({1500, 1, 0})
    ->Args({1500, 0, 1})
    ->Args({9000, 1, 1});
BENCHMARK(encode_mep)->ArgName("mtu")->Arg(1500);
BENCHMARK(send_loopback)
    ->ArgNames({"mtu", "hit_times", "gso"})
    ->Args({1500, 1, 0})
    ->Args({1500, 1, 1})
    ->Args({1500, 0, 1})
    ->Args({9000, 1, 0})
    ->Args({9000, 1, 1});

}  // namespace

BENCHMARK_MAIN();
