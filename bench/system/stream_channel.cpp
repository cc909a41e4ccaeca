// SPDX-License-Identifier: Apache-2.0
#include "stream_channel.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef ANELLO_HAS_ZMQ
#include <zmq.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "core/errors.hpp"
#include "stream/ring/ring_memory.hpp"
#include "stream/stream.hpp"

namespace anello::bench {
namespace {

void require(bool holds, const char* what) {
    if (!holds) throw SystemError(what, errno, "See the transport's own documentation");
}

// --- What the kernel has: pipes, unix sockets, TCP
class KernelChannel : public Channel {
  public:
    void send(std::span<const std::byte> chunk) override { write_all(forward_[1], chunk); }
    void receive(std::span<std::byte> chunk) override { read_all(forward_[0], chunk); }
    void answer(std::span<const std::byte> chunk) override { write_all(back_[1], chunk); }
    void await_answer(std::span<std::byte> chunk) override { read_all(back_[0], chunk); }

  protected:
    static void write_all(int descriptor, std::span<const std::byte> chunk) {
        while (!chunk.empty()) {
            const ssize_t n = ::write(descriptor, chunk.data(), chunk.size());
            require(n > 0, "cannot write");
            chunk = chunk.subspan(static_cast<std::size_t>(n));
        }
    }
    static void read_all(int descriptor, std::span<std::byte> chunk) {
        while (!chunk.empty()) {
            const ssize_t n = ::read(descriptor, chunk.data(), chunk.size());
            require(n > 0, "cannot read");
            chunk = chunk.subspan(static_cast<std::size_t>(n));
        }
    }
    int forward_[2]{-1, -1}, back_[2]{-1, -1};
};

class PipeChannel final : public KernelChannel {
  public:
    PipeChannel() { require(pipe(forward_) == 0 && pipe(back_) == 0, "cannot make pipes"); }
};

class UnixChannel final : public KernelChannel {
  public:
    UnixChannel() {
        require(socketpair(AF_UNIX, SOCK_STREAM, 0, forward_) == 0, "cannot make unix sockets");
        back_[1] = forward_[0];
        back_[0] = forward_[1];
    }
};

class TcpChannel final : public KernelChannel {
  public:
    TcpChannel() {
        const int listening = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t n_bytes = sizeof address;
        auto* const name = reinterpret_cast<sockaddr*>(&address);
        require(bind(listening, name, n_bytes) == 0 && listen(listening, 1) == 0 &&
                    getsockname(listening, name, &n_bytes) == 0,
                "cannot listen on the loopback");
        forward_[1] = socket(AF_INET, SOCK_STREAM, 0);
        require(connect(forward_[1], name, n_bytes) == 0, "cannot connect on the loopback");
        forward_[0] = accept(listening, nullptr, nullptr);
        close(listening);
        const int one = 1;
        for (const int descriptor : forward_) setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        back_[1] = forward_[0];
        back_[0] = forward_[1];
    }
};

// --- The ceiling: both processes copy through the same memory as the ring, and never wait for each other
class MemcpyChannel final : public Channel {
  public:
    explicit MemcpyChannel(const stream::StreamConfig& config)
        : ring_(stream::RingMemory::create(config.ring_bytes)), grain_bytes_(config.grain_bytes) {}
    void open_receiver() override { at_ = ring_.size_bytes() / 2; }
    void send(std::span<const std::byte> chunk) override {
        in_grains(chunk.size(),
                  [&](std::size_t begin, std::size_t n) { std::memcpy(ring_.bytes() + at_, chunk.data() + begin, n); });
    }
    void receive(std::span<std::byte> chunk) override {
        in_grains(chunk.size(),
                  [&](std::size_t begin, std::size_t n) { std::memcpy(chunk.data() + begin, ring_.bytes() + at_, n); });
    }
    void answer(std::span<const std::byte>) override {}
    void await_answer(std::span<std::byte>) override {}

  private:
    template <typename Copy>
    void in_grains(std::size_t n_bytes, Copy copy) {
        for (std::size_t begin = 0; begin < n_bytes; begin += grain_bytes_) {
            const std::size_t n = std::min(grain_bytes_, n_bytes - begin);
            copy(begin, n);
            at_ = (at_ + n) % ring_.size_bytes();
        }
    }
    stream::RingMemory ring_;
    std::size_t grain_bytes_, at_ = 0;
};

// --- The stream
class RingChannel : public Channel {
  public:
    RingChannel(const std::string& address, const stream::StreamConfig& config)
        : config_(config),
          listener_(address, config, page_.add_block<stream::ListenerCounter>("listener")),
          address_(listener_.address()) {}
    void open_sender() override {
        counters_ = page_.add_block<stream::StreamCounter>("stream");
        stream_ = stream::connect(address_, config_, counters_);
    }
    void open_receiver() override {
        counters_ = page_.add_block<stream::StreamCounter>("stream");
        stream_ = listener_.accept(counters_);
    }
    void send(std::span<const std::byte> chunk) override { check(stream_->send(chunk).status); }
    void receive(std::span<std::byte> chunk) override { check(stream_->recv_all(chunk).status); }
    void answer(std::span<const std::byte> chunk) override { send(chunk); }
    void await_answer(std::span<std::byte> chunk) override { receive(chunk); }
    RingWaits waits() const override {
        using enum stream::StreamCounter;
        return {counters_[ring_full], counters_[ring_empty],
                counters_[sender_sleeps] + counters_[receiver_sleeps] + counters_[courier_sleeps]};
    }

  protected:
    stream::Stream& open_stream() { return *stream_; }
    static void check(stream::StreamStatus status) {
        if (status != stream::StreamStatus::ok) throw std::runtime_error(stream::name_of(status));
    }
    stream::StreamConfig config_;
    CounterPage page_;
    stream::Listener listener_;
    std::string address_;
    Counters<stream::StreamCounter> counters_;
    std::unique_ptr<stream::Stream> stream_;
};

#ifdef ANELLO_UCX
const std::string ucx_address = "ucx://127.0.0.1:0";
stream::StreamConfig over_ucx_tcp(stream::StreamConfig config) {
    config.ucx_tls = "tcp";
    return config;
}

/// Does what ucx_perftest's puts do: nobody writes or reads the bytes, they are moved from ring to ring.
class UntouchedChannel final : public RingChannel {
  public:
    using RingChannel::RingChannel;
    void send(std::span<const std::byte> chunk) override {
        in_pieces(chunk.size(), [this](std::size_t n_bytes) {
            stream::Bytes room;
            check(open_stream().reserve(n_bytes, room));
            open_stream().commit(n_bytes);
        });
    }
    void receive(std::span<std::byte> chunk) override {
        in_pieces(chunk.size(), [this](std::size_t n_bytes) {
            stream::ConstBytes found;
            check(open_stream().peek(found, n_bytes));
            open_stream().release(n_bytes);
        });
    }

  private:
    template <typename Move>
    static void in_pieces(std::size_t n_bytes, Move move) {
        constexpr std::size_t piece_bytes = 256 << 10;
        for (std::size_t begin = 0; begin < n_bytes; begin += piece_bytes) move(std::min(piece_bytes, n_bytes - begin));
    }
};
#endif

#ifdef ANELLO_HAS_ZMQ
// --- ZeroMQ PUSH and PULL; a pair of sockets each way
class ZmqChannel final : public Channel {
  public:
    explicit ZmqChannel(const std::string& transport) : is_tcp_(transport == "zmq_tcp") {
        require(pipe(ports_) == 0, "cannot make a pipe");
    }
    ~ZmqChannel() override {
        for (void* const one : {forward_, back_})
            if (one != nullptr) zmq_close(one);
        if (context_ != nullptr) zmq_ctx_term(context_);
    }
    void open_sender() override {
        context_ = zmq_ctx_new();
        forward_ = connected(ZMQ_PUSH);
        back_ = connected(ZMQ_PULL);
    }
    void open_receiver() override {
        context_ = zmq_ctx_new();
        forward_ = bound(ZMQ_PULL, "forward");
        back_ = bound(ZMQ_PUSH, "back");
    }
    void send(std::span<const std::byte> chunk) override { put(forward_, chunk); }
    void receive(std::span<std::byte> chunk) override { take(forward_, chunk); }
    void answer(std::span<const std::byte> chunk) override { put(back_, chunk); }
    void await_answer(std::span<std::byte> chunk) override { take(back_, chunk); }

  private:
    static constexpr std::size_t name_bytes = 256;

    void* bound(int kind, const char* way) {
        void* const socket = zmq_socket(context_, kind);
        const std::string name =
            is_tcp_ ? "tcp://127.0.0.1:*" : "ipc:///tmp/anello-bench-" + std::to_string(getpid()) + "-" + way;
        require(zmq_bind(socket, name.c_str()) == 0, "cannot bind a ZeroMQ socket");
        char endpoint[name_bytes]{};
        std::size_t n_bytes = sizeof endpoint;
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &n_bytes);
        require(write(ports_[1], endpoint, sizeof endpoint) == sizeof endpoint, "cannot tell the endpoint");
        return socket;
    }
    void* connected(int kind) {
        char endpoint[name_bytes]{};
        require(read(ports_[0], endpoint, sizeof endpoint) == sizeof endpoint, "cannot read the endpoint");
        void* const socket = zmq_socket(context_, kind);
        require(zmq_connect(socket, endpoint) == 0, "cannot connect a ZeroMQ socket");
        return socket;
    }
    static void put(void* socket, std::span<const std::byte> chunk) {
        require(zmq_send(socket, chunk.data(), chunk.size(), 0) >= 0, "cannot send by ZeroMQ");
    }
    /// Takes a message as a C++ program does: it is the library's, and is read where it lies. Each other way also
    /// copies it out.
    static void take(void* socket, std::span<std::byte> chunk) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        require(zmq_msg_recv(&message, socket, 0) == static_cast<int>(chunk.size()), "cannot receive by ZeroMQ");
        std::memcpy(chunk.data(), zmq_msg_data(&message), chunk.size());
        zmq_msg_close(&message);
    }

    const bool is_tcp_;
    int ports_[2]{-1, -1};
    void *context_ = nullptr, *forward_ = nullptr, *back_ = nullptr;
};
#endif

}  // namespace

std::unique_ptr<Channel> make_channel(const ChannelConfig& config) {
    if (config.transport == "memcpy") return std::make_unique<MemcpyChannel>(config.stream);
    if (config.transport == "ring")
        return std::make_unique<RingChannel>("@anello-bench-" + std::to_string(getpid()), config.stream);
#ifdef ANELLO_UCX
    if (config.transport == "ring_ucx_tcp")
        return std::make_unique<RingChannel>(ucx_address, over_ucx_tcp(config.stream));
    if (config.transport == "ring_ucx_tcp_untouched")
        return std::make_unique<UntouchedChannel>(ucx_address, over_ucx_tcp(config.stream));
#endif
    if (config.transport == "pipe") return std::make_unique<PipeChannel>();
    if (config.transport == "unix") return std::make_unique<UnixChannel>();
    if (config.transport == "tcp") return std::make_unique<TcpChannel>();
#ifdef ANELLO_HAS_ZMQ
    if (config.transport == "zmq_tcp" || config.transport == "zmq_ipc")
        return std::make_unique<ZmqChannel>(config.transport);
#endif
    return nullptr;
}

std::vector<std::string> transports() {
    std::vector<std::string> names{"memcpy", "ring"};
#ifdef ANELLO_UCX
    names.emplace_back("ring_ucx_tcp");
#endif
    names.insert(names.end(), {"pipe", "unix", "tcp"});
#ifdef ANELLO_HAS_ZMQ
    names.insert(names.end(), {"zmq_tcp", "zmq_ipc"});
#endif
    return names;
}

}  // namespace anello::bench
