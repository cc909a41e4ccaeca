// SPDX-License-Identifier: Apache-2.0
/// One end of a stream of equal UDP messages, for messages_bench.py:
///   receive_messages receive address=A interface=I taker=raw|socket|io_uring|af_xdp gro=0|1 bytes=N core=C
///   busy_poll=US seconds=S    prints port and a JSON line
///   receive_messages send address=A port=P bytes=N segments=K rate=R core=C seconds=S    rate 0: as fast as it
///   goes
/// Each message begins with when it was sent (wall clock, ns) and its number.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/latency/histogram.hpp"
#include "receive/card/make_backend.hpp"

namespace anello {
namespace {

using Options = std::map<std::string, std::string>;

constexpr std::size_t buffer_bytes = std::size_t{64} << 20;
constexpr std::size_t messages_per_call = 64, slot_bytes = 65536;
constexpr Nanoseconds patience_ns = 10'000'000'000, warm_up_ns = 100'000'000;

struct Stamp {
    Nanoseconds sent_ns;
    std::uint64_t number;
};

Nanoseconds cpu_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<Nanoseconds>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

sockaddr_in endpoint(const Options& options) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    const auto port = options.find("port");
    where.sin_port = htons(port == options.end() ? 0 : static_cast<std::uint16_t>(std::stoul(port->second)));
    if (inet_pton(AF_INET, options.at("address").c_str(), &where.sin_addr) != 1)
        throw ConfigError("address", "must be an IPv4 address", options.at("address"), "For example 127.0.0.1.");
    return where;
}

/// What came in while it was measured.
class Tally {
  public:
    void take(const std::byte* message, std::size_t length, Nanoseconds now_ns, std::uint64_t n_messages) {
        Stamp stamp{};
        std::memcpy(&stamp, message, sizeof stamp);
        if (n_ == 0) first_number_ = stamp.number;
        last_number_ = stamp.number + n_messages - 1;
        n_ += n_messages;
        n_bytes_ += length;
        latency_->record(now_ns - stamp.sent_ns, n_messages);
    }
    void print(double seconds, double cpu_seconds, std::uint64_t n_super_packets) const {
        const std::uint64_t n_sent = n_ == 0 ? 0 : last_number_ - first_number_ + 1;
        fmt::print(R"({{"messages": {}, "bytes": {}, "seconds": {:.6f}, "lost": {}, "cpu_s": {:.6f}, )"
                   R"("super_packets": {}, "p50_us": {:.3f}, "p99_us": {:.3f}, "p99.9_us": {:.3f}}})"
                   "\n",
                   n_, n_bytes_, seconds, n_sent - n_, cpu_seconds, n_super_packets,
                   static_cast<double>(latency_->quantile_ns(0.5)) * 1e-3,
                   static_cast<double>(latency_->quantile_ns(0.99)) * 1e-3,
                   static_cast<double>(latency_->quantile_ns(0.999)) * 1e-3);
    }

  private:
    std::uint64_t n_ = 0, n_bytes_ = 0, first_number_ = 0, last_number_ = 0;
    std::unique_ptr<LatencyHistogram> latency_ = std::make_unique<LatencyHistogram>();
};

receive::BackendConfig backend_config(const Options& options) {
    receive::BackendConfig config;
    config.kind = parse_word<receive::BackendKind>(options.at("taker"), "taker");
    config.address = options.at("address");
    config.interface = options.at("interface");
    config.ports = {0};
    config.gro = options.at("gro") == "1";
    config.batch_datagrams = messages_per_call;
    config.socket_buffer_bytes = buffer_bytes;
    config.busy_poll_us = static_cast<std::uint32_t>(std::stoul(options.at("busy_poll")));
    return config;
}

/// The engine's intake, by any of its backends: datagrams one by one, super-packets taken apart.
class EngineTaker {
  public:
    explicit EngineTaker(const Options& options)
        : backend_(receive::make_backend(backend_config(options), SystemClock::instance())) {}
    std::uint16_t port() const { return backend_->port(0); }
    std::uint64_t n_super_packets() const { return backend_->n_super_packets(0); }
    template <typename Each>
    std::size_t take(Each&& each) {
        const std::size_t n_datagrams = backend_->receive(batch_);
        for (std::size_t i = 0; i < n_datagrams; ++i) each(batch_[i].bytes.data(), batch_[i].bytes.size(), 1U);
        return n_datagrams;
    }

  private:
    std::unique_ptr<receive::Backend> backend_;
    std::array<receive::Datagram, messages_per_call> batch_;
};

/// recvmmsg and nothing else: what the system call alone can do. A super-packet counts as its messages.
class RawTaker {
  public:
    explicit RawTaker(const Options& options)
        : bytes_(std::stoul(options.at("bytes"))), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        const sockaddr_in where = endpoint(options);
        const int gro = options.at("gro") == "1", room = buffer_bytes;
        if (setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
            setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        setsockopt(socket_, IPPROTO_UDP, UDP_GRO, &gro, sizeof gro);
        if (bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
            throw SystemError("bind to " + options.at("address"), errno, "Give an address of this machine.");
        for (std::size_t i = 0; i < messages_per_call; ++i) {
            vectors_[i] = {slots_.get() + i * slot_bytes, slot_bytes};
            headers_[i].msg_hdr.msg_iov = &vectors_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
    }
    ~RawTaker() { close(socket_); }
    RawTaker(const RawTaker&) = delete;
    RawTaker& operator=(const RawTaker&) = delete;

    std::uint16_t port() const {
        sockaddr_in where{};
        socklen_t length = sizeof where;
        getsockname(socket_, reinterpret_cast<sockaddr*>(&where), &length);
        return ntohs(where.sin_port);
    }
    std::uint64_t n_super_packets() const { return n_super_packets_; }
    template <typename Each>
    std::size_t take(Each&& each) {
        const int n_taken = recvmmsg(socket_, headers_.data(), messages_per_call, 0, nullptr);
        for (int i = 0; i < n_taken; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const std::size_t n_messages = headers_[at].msg_len / bytes_;
            n_super_packets_ += n_messages > 1;
            each(slots_.get() + at * slot_bytes, headers_[at].msg_len, static_cast<unsigned>(n_messages));
        }
        return n_taken < 0 ? 0 : static_cast<std::size_t>(n_taken);
    }

  private:
    std::size_t bytes_;
    int socket_;
    std::uint64_t n_super_packets_ = 0;
    std::unique_ptr<std::byte[]> slots_ = std::make_unique<std::byte[]>(messages_per_call * slot_bytes);
    std::array<iovec, messages_per_call> vectors_;
    std::array<mmsghdr, messages_per_call> headers_{};
};

/// Spins: waits for the first message, lets the beginning pass, then counts for the time asked for.
template <typename Taker>
int receive_messages(const Options& options) {
    Taker taker(options);
    fmt::print("{}\n", taker.port());
    std::fflush(stdout);
    const SystemClock& clock = SystemClock::instance();
    const auto discard = [](const std::byte*, std::size_t, unsigned) {};
    const Nanoseconds give_up_ns = clock.monotonic_ns() + patience_ns;
    while (taker.take(discard) == 0)
        if (clock.monotonic_ns() > give_up_ns) return 1;
    const Nanoseconds begin_ns = clock.monotonic_ns() + warm_up_ns;
    while (clock.monotonic_ns() < begin_ns) taker.take(discard);
    const auto length_ns = static_cast<Nanoseconds>(std::stod(options.at("seconds")) * 1e9);
    Tally tally;
    const Nanoseconds cpu_began_ns = cpu_ns(), measured_from_ns = clock.monotonic_ns();
    while (clock.monotonic_ns() < measured_from_ns + length_ns)
        taker.take([&](const std::byte* message, std::size_t length, unsigned n_messages) {
            tally.take(message, length, clock.wall_ns(), n_messages);
        });
    const auto measured_ns = static_cast<double>(clock.monotonic_ns() - measured_from_ns);
    tally.print(measured_ns * 1e-9, static_cast<double>(cpu_ns() - cpu_began_ns) * 1e-9, taker.n_super_packets());
    return 0;
}

/// Messages of one system call: each a datagram, or several cut apart by the kernel.
class Sender {
  public:
    explicit Sender(const Options& options)
        : to_(endpoint(options)),
          bytes_(std::stoul(options.at("bytes"))),
          segments_(std::stoul(options.at("segments"))),
          socket_(::socket(AF_INET, SOCK_DGRAM, 0)),
          payload_(messages_per_call * segments_ * bytes_) {
        const int segment = segments_ > 1 ? static_cast<int>(bytes_) : 0;
        if (segment > 0 && setsockopt(socket_, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
            throw SystemError("set UDP_SEGMENT", errno, "Linux 4.18 or later has it.");
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&to_), sizeof to_) != 0)
            throw SystemError("connect to " + options.at("address"), errno, "Check the route.");
        for (std::size_t i = 0; i < messages_per_call; ++i) {
            vectors_[i] = {payload_.data() + i * segments_ * bytes_, segments_ * bytes_};
            headers_[i].msg_hdr.msg_iov = &vectors_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
    }
    ~Sender() { close(socket_); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// Messages that the system took; n_calls_worth of super-packets at most.
    void send(std::size_t n_super_packets) {
        const Nanoseconds now_ns = SystemClock::instance().wall_ns();
        for (std::size_t i = 0; i < n_super_packets * segments_; ++i) {
            const Stamp stamp{now_ns, next_number_ + i};
            std::memcpy(payload_.data() + i * bytes_, &stamp, sizeof stamp);
        }
        const int n_sent = sendmmsg(socket_, headers_.data(), static_cast<unsigned>(n_super_packets), 0);
        if (n_sent > 0) next_number_ += static_cast<std::uint64_t>(n_sent) * segments_;
    }

  private:
    sockaddr_in to_;
    std::size_t bytes_, segments_;
    int socket_;
    std::vector<std::byte> payload_;
    std::array<iovec, messages_per_call> vectors_;
    std::array<mmsghdr, messages_per_call> headers_{};
    std::uint64_t next_number_ = 0;
};

int send_messages(const Options& options) {
    Sender sender(options);
    const SystemClock& clock = SystemClock::instance();
    const double rate = std::stod(options.at("rate"));
    const Nanoseconds begin_ns = clock.monotonic_ns();
    const Nanoseconds end_ns = begin_ns + static_cast<Nanoseconds>(std::stod(options.at("seconds")) * 1e9);
    const Nanoseconds step_ns = rate > 0 ? static_cast<Nanoseconds>(1e9 / rate) : 0;
    for (Nanoseconds next_ns = begin_ns; clock.monotonic_ns() < end_ns; next_ns += step_ns) {
        while (rate > 0 && clock.monotonic_ns() < next_ns) {
        }
        sender.send(rate > 0 ? 1 : std::max<std::size_t>(1, messages_per_call / 2));
    }
    return 0;
}

void stay_on_core(std::size_t core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0)
        throw SystemError("stay on core " + std::to_string(core), errno, "Give a core that this process may use.");
}

int run(const std::string& role, const Options& options) {
    stay_on_core(std::stoul(options.at("core")));
    if (std::stoul(options.at("bytes")) < sizeof(Stamp))
        throw ConfigError("bytes", "must be at least 16", options.at("bytes"), "A message holds time and number.");
    if (role == "send") return send_messages(options);
    return options.at("taker") == "raw" ? receive_messages<RawTaker>(options) : receive_messages<EngineTaker>(options);
}

}  // namespace
}  // namespace anello

int main(int n_arguments, char** arguments) {
    anello::Options options;
    for (int i = 2; i < n_arguments; ++i) {
        const std::string text = arguments[i];
        options[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    try {
        return anello::run(n_arguments > 1 ? arguments[1] : "", options);
    } catch (const std::out_of_range&) {
        fmt::print(stderr, "receive_messages: an option is missing; the top of receive_messages.cpp lists them\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "receive_messages: {}\n", error.what());
    }
    return 2;
}
