// SPDX-License-Identifier: Apache-2.0
/// One end of a PUSH/PULL of equal messages, for zmq_bench.py; it knows nothing of Anello and runs over whatever libzmq
/// the loader finds:
///   zmq_messages pull endpoint=E bytes=N messages=M verify=0|1            prints where it listens, then a JSON line
///   zmq_messages push endpoint=E bytes=N messages=M copy=0|1
/// copy=1 sends by zmq_send, copy=0 from the program's own memory by zmq_msg_init_data.
#include <zmq.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Options = std::map<std::string, std::string>;

constexpr std::size_t in_flight_bytes = std::size_t{64} << 20;
constexpr int patience_ms = 20'000;

void require(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what + ": " + zmq_strerror(zmq_errno()));
}

/// Every message is a piece of the same random bytes, another one each time: nothing need be written to send it, and
/// the other side knows what must come.
class Pattern {
  public:
    explicit Pattern(std::size_t message_bytes) : words_((message_bytes + shift_bytes) / sizeof(std::uint64_t) + 1) {
        std::mt19937_64 random(20260101);
        std::generate(words_.begin(), words_.end(), random);
    }
    const std::byte* message(std::size_t index) const {
        return reinterpret_cast<const std::byte*>(words_.data()) + index * step_bytes % shift_bytes;
    }

  private:
    static constexpr std::size_t shift_bytes = std::size_t{1} << 20, step_bytes = 4160;
    std::vector<std::uint64_t> words_;
};

/// A context and a socket with the same limits at both ends.
class Socket {
  public:
    Socket(int type, std::size_t message_bytes) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
        require(socket_ != nullptr, "zmq_socket");
        const int n_queued = std::max(2, static_cast<int>(in_flight_bytes / message_bytes));
        set(ZMQ_SNDHWM, n_queued);
        set(ZMQ_RCVHWM, n_queued);
        set(ZMQ_RCVTIMEO, patience_ms);
        set(ZMQ_SNDTIMEO, patience_ms);
        set(ZMQ_LINGER, patience_ms);
    }
    ~Socket() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void* get() const { return socket_; }

  private:
    void set(int option, int value) {
        require(zmq_setsockopt(socket_, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }

    void* context_;
    void* socket_;
};

void keep(void*, void*) {}

int push(const Options& options) {
    const std::size_t n_bytes = std::stoul(options.at("bytes")), n_messages = std::stoul(options.at("messages"));
    const bool copy = options.at("copy") == "1";
    const Pattern pattern(n_bytes);
    const Socket socket(ZMQ_PUSH, n_bytes);
    require(zmq_connect(socket.get(), options.at("endpoint").c_str()) == 0, "zmq_connect");
    for (std::size_t i = 0; i < n_messages; ++i) {
        if (copy) {
            require(zmq_send(socket.get(), pattern.message(i), n_bytes, 0) >= 0, "zmq_send");
            continue;
        }
        zmq_msg_t message;
        require(zmq_msg_init_data(&message, const_cast<std::byte*>(pattern.message(i)), n_bytes, keep, nullptr) == 0,
                "zmq_msg_init_data");
        require(zmq_msg_send(&message, socket.get(), 0) >= 0, "zmq_msg_send");
    }
    return 0;
}

int pull(const Options& options) {
    const std::size_t n_bytes = std::stoul(options.at("bytes")), n_messages = std::stoul(options.at("messages"));
    const bool verify = options.at("verify") == "1";
    const Pattern pattern(n_bytes);
    const Socket socket(ZMQ_PULL, n_bytes);
    require(zmq_bind(socket.get(), options.at("endpoint").c_str()) == 0, "zmq_bind");
    char bound[256];
    std::size_t n_bound = sizeof bound;
    require(zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, bound, &n_bound) == 0, "zmq_getsockopt");
    std::printf("%s\n", bound);
    std::fflush(stdout);

    std::chrono::steady_clock::time_point first, last;
    std::size_t n_wrong = 0;
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (std::size_t i = 0; i < n_messages; ++i) {
        require(zmq_msg_recv(&message, socket.get(), 0) >= 0, "zmq_msg_recv");
        last = std::chrono::steady_clock::now();
        if (i == 0) first = last;
        const bool right = zmq_msg_size(&message) == n_bytes &&
                           (!verify || std::memcmp(zmq_msg_data(&message), pattern.message(i), n_bytes) == 0);
        n_wrong += !right;
    }
    const char* const offer = zmq_msg_gets(&message, "X-Anello-Ring");
    const double seconds = std::chrono::duration<double>(last - first).count();
    std::printf("{\"messages\": %zu, \"bytes\": %zu, \"seconds\": %.9f, \"wrong\": %zu, \"peer_offers_ring\": %s}\n",
                n_messages, n_bytes, seconds, n_wrong, offer != nullptr ? "true" : "false");
    zmq_msg_close(&message);
    return n_wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    Options options;
    for (int i = 2; i < n_arguments; ++i) {
        const std::string text = arguments[i];
        options[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    const std::string role = n_arguments > 1 ? arguments[1] : "";
    try {
        if (role == "push") return push(options);
        if (role == "pull") return pull(options);
    } catch (const std::out_of_range&) {
    } catch (const std::exception& error) {
        std::fprintf(stderr, "zmq_messages: %s\n", error.what());
        return 2;
    }
    std::fprintf(stderr, "zmq_messages: an option is missing; the top of zmq_messages.cpp lists them\n");
    return 2;
}
