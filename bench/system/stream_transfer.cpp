// SPDX-License-Identifier: Apache-2.0
// One transfer between two processes; `anello stream bench` drives it. Prints one line of JSON.
//
//   stream_transfer list
//   stream_transfer bandwidth transport=ring chunk=1048576 bytes=1073741824 [verify=1] ...
//   stream_transfer latency transport=ring chunk=64 rounds=20000 ...          ping-pong, half the round trip
//   stream_transfer paced transport=ring chunk=64 rounds=5000 interval_us=100 one way, by the clock that both share
//   stream_transfer idle transport=ring seconds=1                             CPU of a receiver to which nothing comes
//
// Everywhere: ring=BYTES grain=BYTES wait=MODE spin_us=N cores=SENDER,RECEIVER
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "stream/ring/wait_mode.hpp"
#include "stream_channel.hpp"

namespace anello::bench {
namespace {

using Options = std::map<std::string, std::string>;
using Chunk = std::vector<std::byte>;

Nanoseconds now_ns() {
    return SystemClock::instance().monotonic_ns();
}

/// Memory that both processes share: which side is ready, and when each was done.
struct Shared {
    std::atomic<int> n_ready{0};
    std::atomic<Nanoseconds> begin_ns{0}, sent_ns{0}, received_ns{0};
    std::atomic<std::uint64_t> n_wrong{0};
    std::atomic<std::uint64_t> n_full{0}, n_empty{0}, n_sleeps{0};  ///< of both sides
    std::atomic<bool> failed{false};

    void add(const RingWaits& waits) {
        n_full += waits.n_full;
        n_empty += waits.n_empty;
        n_sleeps += waits.n_sleeps;
    }

    /// Both begin together, neither counts its start-up.
    void meet() {
        ++n_ready;
        while (n_ready.load() < 2 && !failed.load()) std::this_thread::yield();
        begin_ns = now_ns();
    }
};

Shared& make_shared_page() {
    void* const page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("no memory");
    return *new (page) Shared;
}

std::string option(const Options& options, const std::string& name, const std::string& otherwise) {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
}
std::uint64_t number(const Options& options, const std::string& name, std::uint64_t otherwise) {
    return std::stoull(option(options, name, std::to_string(otherwise)));
}

void pin(const Options& options, bool is_receiver) {
    const std::string cores = option(options, "cores", "");
    if (cores.empty()) return;
    const std::size_t comma = cores.find(',');
    const int core = std::stoi(is_receiver ? cores.substr(comma + 1) : cores.substr(0, comma));
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(core), &set);
    sched_setaffinity(0, sizeof set, &set);
}

ChannelConfig channel_config(const Options& options) {
    ChannelConfig config;
    config.transport = option(options, "transport", "ring");
    config.chunk_bytes = number(options, "chunk", 65536);
    config.stream.ring_bytes = number(options, "ring", config.stream.ring_bytes);
    config.stream.grain_bytes = number(options, "grain", config.stream.grain_bytes);
    config.stream.spin_ns = static_cast<Nanoseconds>(number(options, "spin_us", 50)) * 1000;
    config.stream.wait = stream::parse_wait_mode(option(options, "wait", "spin_then_sleep"));
    return config;
}

/// Runs both sides; the receiver is this process, so that its measurements stay in it.
template <typename Send, typename Receive>
void run_both(Shared& shared, const Options& options, Channel& channel, Send send, Receive receive) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        int status = 0;
        try {
            pin(options, false);
            channel.open_sender();
            send();
        } catch (const std::exception& error) {
            fmt::print(stderr, "sender: {}\n", error.what());
            shared.failed = true;
            status = 1;
        }
        while (status == 0 && shared.received_ns.load() == 0 && !shared.failed.load()) usleep(100);
        _exit(status);
    }
    try {
        pin(options, true);
        channel.open_receiver();
        receive();
    } catch (...) {
        shared.failed = true;
        waitpid(child, nullptr, 0);
        throw;
    }
    if (shared.received_ns.load() == 0) shared.received_ns = now_ns();
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw std::runtime_error("the sender failed");
}

// --- Bandwidth
/// Words that follow from their place in the stream, so that every byte can be checked.
std::uint64_t word_at(std::uint64_t index) noexcept {
    return (index + 1) * 0x9E3779B97F4A7C15U;
}
void write_pattern(Chunk& chunk, std::uint64_t first_word) {
    for (std::size_t i = 0; i < chunk.size() / 8; ++i) {
        const std::uint64_t word = word_at(first_word + i);
        std::memcpy(chunk.data() + 8 * i, &word, 8);
    }
}
std::uint64_t count_wrong(const Chunk& chunk, std::uint64_t first_word) {
    std::uint64_t n_wrong = 0;
    for (std::size_t i = 0; i < chunk.size() / 8; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, chunk.data() + 8 * i, 8);
        n_wrong += word != word_at(first_word + i);
    }
    return n_wrong;
}

/// Sends all bytes once and checks each, outside of the timed part.
std::uint64_t verify(const ChannelConfig& config, const Options& options, std::uint64_t n_chunks) {
    if (config.transport == "memcpy") return 0;  // nothing is handed over
    Shared& shared = make_shared_page();
    const auto channel = make_channel(config);
    Chunk chunk(config.chunk_bytes);
    const std::uint64_t words = config.chunk_bytes / 8;
    run_both(
        shared, options, *channel,
        [&] {
            for (std::uint64_t n = 0; n < n_chunks; ++n) {
                write_pattern(chunk, n * words);
                channel->send(chunk);
            }
        },
        [&] {
            for (std::uint64_t n = 0; n < n_chunks; ++n) {
                channel->receive(chunk);
                shared.n_wrong += count_wrong(chunk, n * words);
            }
        });
    return shared.n_wrong.load();
}

void measure_bandwidth(const Options& options) {
    const ChannelConfig config = channel_config(options);
    const std::uint64_t n_bytes = number(options, "bytes", std::uint64_t{1} << 30);
    const std::uint64_t n_chunks = std::max<std::uint64_t>(1, n_bytes / config.chunk_bytes);
    const bool verified = number(options, "verify", 0) != 0;
    const std::uint64_t n_wrong = verified ? verify(config, options, n_chunks) : 0;
    Shared& shared = make_shared_page();
    const auto channel = make_channel(config);
    Chunk chunk(config.chunk_bytes);
    std::fill(chunk.begin(), chunk.end(), std::byte{1});
    run_both(
        shared, options, *channel,
        [&] {
            channel->send(chunk);  // caches and pages warm
            shared.meet();
            for (std::uint64_t n = 0; n < n_chunks; ++n) channel->send(chunk);
            const Nanoseconds sent_ns = now_ns();
            shared.add(channel->waits());
            shared.sent_ns = sent_ns;  // last: the thread that waits for it reads everything
        },
        [&] {
            channel->receive(chunk);
            shared.meet();
            for (std::uint64_t n = 0; n < n_chunks; ++n) channel->receive(chunk);
            shared.received_ns = now_ns();
            shared.add(channel->waits());
        });
    while (shared.sent_ns.load() == 0) std::this_thread::yield();
    const Nanoseconds end_ns = std::max(shared.sent_ns.load(), shared.received_ns.load());
    const double seconds = static_cast<double>(end_ns - shared.begin_ns.load()) * 1e-9;
    const double bytes = static_cast<double>(n_chunks * config.chunk_bytes);
    fmt::print(
        "{{\"bytes\": {}, \"seconds\": {:.6f}, \"megabytes_per_s\": {:.1f}, \"verified_bytes\": {}, "
        "\"wrong_words\": {}, \"ring_full\": {}, \"ring_empty\": {}, \"sleeps\": {}}}\n",
        n_chunks * config.chunk_bytes, seconds, bytes / seconds * 1e-6,
        verified && config.transport != "memcpy" ? n_chunks * config.chunk_bytes : 0, n_wrong, shared.n_full.load(),
        shared.n_empty.load(), shared.n_sleeps.load());
}

// --- Latency
void print_latency(std::vector<Nanoseconds>& taken_ns, double share) {
    std::sort(taken_ns.begin(), taken_ns.end());
    const auto quantile = [&](double q) {
        const auto place = static_cast<std::size_t>(q * static_cast<double>(taken_ns.size() - 1));
        return static_cast<double>(taken_ns[place]) * share * 1e-3;
    };
    fmt::print("{{\"rounds\": {}, \"p50_us\": {:.3f}, \"p99_us\": {:.3f}, \"p99.9_us\": {:.3f}}}\n", taken_ns.size(),
               quantile(0.5), quantile(0.99), quantile(0.999));
}

void measure_ping_pong(const Options& options) {
    const ChannelConfig config = channel_config(options);
    const std::uint64_t n_rounds = number(options, "rounds", 20'000), n_warm = n_rounds / 10;
    Shared& shared = make_shared_page();
    const auto channel = make_channel(config);
    Chunk chunk(config.chunk_bytes);
    std::vector<Nanoseconds> taken_ns;
    taken_ns.reserve(n_rounds);
    run_both(
        shared, options, *channel,
        [&] {  // answers each message of the other side
            for (std::uint64_t n = 0; n < n_rounds + n_warm; ++n) {
                channel->await_answer(chunk);
                channel->send(chunk);
            }
        },
        [&] {
            for (std::uint64_t n = 0; n < n_rounds + n_warm; ++n) {
                const Nanoseconds begin_ns = now_ns();
                channel->answer(chunk);
                channel->receive(chunk);
                if (n >= n_warm) taken_ns.push_back(now_ns() - begin_ns);
            }
        });
    print_latency(taken_ns, 0.5);
}

void measure_paced(const Options& options) {
    const ChannelConfig config = channel_config(options);
    const std::uint64_t n_rounds = number(options, "rounds", 5'000);
    const auto interval_ns = static_cast<Nanoseconds>(number(options, "interval_us", 100)) * 1000;
    Shared& shared = make_shared_page();
    const auto channel = make_channel(config);
    Chunk chunk(std::max(config.chunk_bytes, sizeof(Nanoseconds)));
    std::vector<Nanoseconds> taken_ns;
    taken_ns.reserve(n_rounds);
    run_both(
        shared, options, *channel,
        [&] {
            Nanoseconds due_ns = now_ns() + 10 * interval_ns;
            for (std::uint64_t n = 0; n < n_rounds; ++n, due_ns += interval_ns) {
                while (now_ns() < due_ns) {
                }
                const Nanoseconds sent_ns = now_ns();
                std::memcpy(chunk.data(), &sent_ns, sizeof sent_ns);
                channel->send(chunk);
            }
        },
        [&] {
            for (std::uint64_t n = 0; n < n_rounds; ++n) {
                channel->receive(chunk);
                Nanoseconds sent_ns = 0;
                std::memcpy(&sent_ns, chunk.data(), sizeof sent_ns);
                taken_ns.push_back(now_ns() - sent_ns);
            }
        });
    print_latency(taken_ns, 1.0);
}

// --- CPU of waiting
double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void measure_idle(const Options& options) {
    const ChannelConfig config = channel_config(options);
    const auto wait_us = static_cast<unsigned>(number(options, "ms", 1000)) * 1000U;
    Shared& shared = make_shared_page();
    const auto channel = make_channel(config);
    Chunk chunk(8);
    double used_s = 0;
    run_both(
        shared, options, *channel,
        [&] {
            channel->send(chunk);
            usleep(wait_us);
            channel->send(chunk);
        },
        [&] {
            channel->receive(chunk);
            const double begin_s = cpu_seconds();
            channel->receive(chunk);
            used_s = cpu_seconds() - begin_s;
        });
    fmt::print("{{\"seconds\": {:.3f}, \"cpu_share\": {:.6f}}}\n", wait_us * 1e-6, used_s / (wait_us * 1e-6));
}

void run(const std::string& what, const Options& options) {
    if (what != "list" && make_channel(channel_config(options)) == nullptr)
        throw std::runtime_error("no transport " + option(options, "transport", "") + " in this build");
    if (what == "list")
        fmt::print("{}\n", fmt::join(transports(), " "));
    else if (what == "bandwidth")
        measure_bandwidth(options);
    else if (what == "latency")
        measure_ping_pong(options);
    else if (what == "paced")
        measure_paced(options);
    else if (what == "idle")
        measure_idle(options);
    else
        throw std::runtime_error("what to do: list, bandwidth, latency, paced or idle");
}

}  // namespace
}  // namespace anello::bench

int main(int n_arguments, char** arguments) {
    anello::bench::Options options;
    for (int i = 2; i < n_arguments; ++i) {
        const std::string text = arguments[i];
        options[text.substr(0, text.find('='))] = text.substr(std::min(text.find('=') + 1, text.size()));
    }
    try {
        anello::bench::run(n_arguments > 1 ? arguments[1] : "", options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "stream_transfer: {}\n", error.what());
        return 1;
    }
    return 0;
}
