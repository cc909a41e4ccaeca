// SPDX-License-Identifier: Apache-2.0
/// What building camera events costs in addition to the system call: CPU time per datagram of recvmmsg and discard, and
/// of the builder in its layouts, on the same load.
///   camera_receive [core=C] [boards=N] [batch=N] [events=E, 0: by their size] [rounds=R] [bytes=B,B]
///   [mode=plain,gso,gro] [only=card] [only=choices window=MB,MB] [asks_gro=1]
/// One round: each taker in turn has E events of all boards sent to its socket, then reads them out; the time is that
/// of its thread while it reads. Rounds follow one another, so that whatever disturbs the machine disturbs all takers.
/// Prints one JSON line per case: median over the rounds, spread (half the distance of the 16 % and 84 % points, over
/// the median), and `ratio`: median of (recvmmsg and discard / this) of the same round.
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
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "camera/events/intake.hpp"
#include "camera/wire/camera.hpp"
#include "core/errors.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/card/card.hpp"
#include "receive/datagrams/socket_backend.hpp"

namespace anello {
namespace {

using Options = std::map<std::string, std::string>;

constexpr std::size_t socket_bytes = std::size_t{256} << 20, datagrams_per_call = 64, super_packet_bytes = 65536;
constexpr std::size_t large_window_bytes = std::size_t{80} << 20;

struct Load {
    std::uint32_t n_boards, n_events;
    std::size_t datagram_bytes;
    std::size_t batch;  ///< datagrams per call of the builder's sockets, at most; recvmmsg and discard takes 64
    std::string mode;   ///< plain: a datagram per message; gso: super-packets sent; gro: and received
    bool only_card;     ///< nothing is built: compares the card's cost with that of recvmmsg
    bool asks_gro;      ///< of the builder's sockets, whatever is sent
    bool gro() const { return mode == "gro"; }
    std::size_t n_datagrams() const { return std::size_t{n_boards} * n_events; }
};

Nanoseconds cpu_ns() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<Nanoseconds>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

/// The boards of a camera: sends whole events, board after board.
class Camera {
  public:
    Camera(const Load& load, std::uint16_t port)
        : load_(load),
          n_segments_(load.mode == "plain" ? 1 : std::min<std::size_t>(64, 65000 / load.datagram_bytes)),
          socket_(::socket(AF_INET, SOCK_DGRAM, 0)),
          event_(load.n_boards * load.datagram_bytes) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int segment = n_segments_ > 1 ? static_cast<int>(load.datagram_bytes) : 0;
        if (segment > 0 && setsockopt(socket_, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
            throw SystemError("set UDP_SEGMENT", errno, "Linux 4.18 or later has it.");
        if (connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw SystemError("connect to the loopback", errno, "Check the interface lo.");
    }
    ~Camera() { close(socket_); }
    Camera(const Camera&) = delete;
    Camera& operator=(const Camera&) = delete;

    void send() {
        for (std::uint32_t i = 0; i < load_.n_events; ++i) send_event();
    }

  private:
    void send_event() {
        for (std::uint32_t board = 0; board < load_.n_boards; ++board) {
            wire::camera::Header header;
            header.board = static_cast<std::uint16_t>(board);
            header.run_id = 1;
            header.event_number = header.sequence = event_number_;
            header.payload_bytes = static_cast<std::uint16_t>(load_.datagram_bytes - wire::camera::header_bytes);
            wire::camera::seal(std::span(event_).subspan(board * load_.datagram_bytes, load_.datagram_bytes), header);
        }
        ++event_number_;
        for (std::size_t at = 0; at < event_.size();) {
            const std::size_t n_bytes = std::min(n_segments_ * load_.datagram_bytes, event_.size() - at);
            if (::send(socket_, event_.data() + at, n_bytes, 0) < 0)
                throw SystemError("send to the loopback", errno, "Raise `sysctl net.core.wmem_max`.");
            at += n_bytes;
        }
    }

    Load load_;
    std::size_t n_segments_;
    int socket_;
    std::vector<std::byte> event_;
    std::uint32_t event_number_ = 0;
};

class Taker {
  public:
    Taker() = default;
    Taker(const Taker&) = delete;
    Taker& operator=(const Taker&) = delete;
    virtual ~Taker() = default;
    virtual std::uint16_t port() const = 0;
    /// Reads the datagrams that wait; returns their number.
    virtual std::size_t take() = 0;
    /// Throws when not all was built.
    virtual void check(std::size_t /*n_events*/) const {}
    /// Nothing is still to be chosen by measuring, as in use after the first second.
    virtual bool is_settled() const { return true; }
    /// The choice that was made by measuring, and its reason.
    virtual std::string chosen() const { return {}; }
};

/// recvmmsg and nothing else: what the system call alone can do. A super-packet counts as its datagrams. With
/// `spread_bytes` it goes round in as much memory as events take: what is then lost, no builder can win back.
class RawTaker final : public Taker {
  public:
    explicit RawTaker(const Load& load, std::size_t spread_bytes = 0)
        : load_(load),
          socket_({.address = "127.0.0.1",
                   .port = 0,
                   .gro = load.gro(),
                   .receive_buffer_bytes = socket_bytes,
                   .notes = false}),
          slot_bytes_(load.gro() ? super_packet_bytes : load.datagram_bytes),
          n_slots_(std::max(datagrams_per_call, spread_bytes / slot_bytes_)),
          slots_({.n_buffers = 2, .buffer_bytes = n_slots_ * slot_bytes_, .kind = memory::Kind::huge}) {
        for (std::size_t i = 0; i < datagrams_per_call; ++i) {
            headers_[i].msg_hdr.msg_iov = &vectors_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
    }
    std::uint16_t port() const override { return socket_.port(); }
    std::size_t take() override {
        for (std::size_t i = 0; i < datagrams_per_call; ++i)
            vectors_[i] = {slots_.bytes(0).data() + (next_slot_ + i) % n_slots_ * slot_bytes_, slot_bytes_};
        const std::size_t n_messages = socket_.receive(headers_);
        next_slot_ = (next_slot_ + n_messages) % n_slots_;
        std::size_t n_bytes = 0;
        for (std::size_t i = 0; i < n_messages; ++i) n_bytes += headers_[i].msg_len;
        return n_bytes / load_.datagram_bytes;
    }

  private:
    Load load_;
    receive::UdpSocket socket_;
    std::size_t slot_bytes_, n_slots_, next_slot_ = 0;
    memory::PersistentBuffers slots_;
    std::array<iovec, datagrams_per_call> vectors_;
    std::array<mmsghdr, datagrams_per_call> headers_{};
};

receive::SocketBackendConfig backend_config(const Load& load) {
    return {.address = "127.0.0.1",
            .ports = {0},
            .gro = load.gro() || load.asks_gro,
            .batch_messages = static_cast<std::uint32_t>(load.batch),
            .receive_buffer_bytes = socket_bytes,
            .max_datagram_bytes = load.datagram_bytes,
            .notes = false};
}

/// The engine's sockets without a builder.
class BackendTaker final : public Taker {
  public:
    explicit BackendTaker(const Load& load) : backend_(backend_config(load)) {}
    std::uint16_t port() const override { return backend_.port(0); }
    std::size_t take() override { return backend_.receive(batch_); }

  private:
    receive::SocketBackend backend_;
    std::array<receive::Datagram, datagrams_per_call> batch_;
};

/// The builder and a consumer that holds events for a while, so that event memory is as large as it says.
class BuildTaker final : public Taker {
  public:
    BuildTaker(const Load& load, camera::CopyMode copy, std::size_t window_bytes, bool in_place, bool with_blocks)
        : load_(load) {
        camera::CameraIntakeConfig config;
        config.builder.shape = {load.n_boards,
                                static_cast<std::uint32_t>(load.datagram_bytes - wire::camera::header_bytes)};
        config.builder.boards = {0, load.n_boards};
        n_held_ = window_bytes > 0 ? window_bytes / config.builder.shape.event_bytes() + 1 : 0;
        config.builder.n_events = static_cast<std::uint32_t>(2 * datagrams_per_call + n_held_);
        config.builder.copy = copy;
        config.builder.in_place = in_place;
        config.builder.memory = memory::Kind::huge;
        config.with_blocks = with_blocks;
        config.blocks.memory = memory::Kind::huge;
        config.batch_datagrams = static_cast<std::uint32_t>(load.batch);
        auto sockets = std::make_unique<receive::SocketBackend>(backend_config(load));
        port_ = sockets->port(0);
        intake_ = std::make_unique<camera::CameraIntake>(config, std::move(sockets), SystemClock::instance(), page_);
    }
    std::uint16_t port() const override { return port_; }
    std::size_t take() override {
        const std::size_t n_done = intake_->receive_work() + intake_->build_work();
        camera::CameraPart part;
        while (intake_->builder().output().try_take(part)) held_.push_back(part.buffer);
        for (; held_.size() > n_held_; held_.pop_front()) intake_->builder().output().give_back(held_.front());
        return n_done;
    }
    void check(std::size_t n_events) const override {
        const auto& counters = intake_->builder().counters();
        if (counters[camera::CameraBuildCounter::events_complete] == n_events) return;
        throw SystemError(fmt::format("only {} of {} events are complete",
                                      counters[camera::CameraBuildCounter::events_complete], n_events),
                          ENOBUFS, "Raise `sysctl net.core.rmem_max`, or use fewer events.");
    }
    bool is_settled() const override {
        return intake_->builder().choice().chosen_copy() != camera::CopyMode::automatic;
    }
    std::string chosen() const override { return intake_->builder().choice().describe(); }

  private:
    Load load_;
    CounterPage page_;
    std::size_t n_held_ = 0;
    std::uint16_t port_ = 0;
    std::unique_ptr<camera::CameraIntake> intake_;
    std::deque<std::uint32_t> held_;
};

/// The card's lists of buffers, as programs of others use them, receiving and taking in one thread.
class CardTaker final : public Taker {
  public:
    explicit CardTaker(const Load& load)
        : card_({.gro = load.gro(),
                 .notes = false,
                 .batch_datagrams = static_cast<std::uint32_t>(load.batch),
                 .socket_buffer_bytes = socket_bytes}),
          clop_(card_.register_buffers({.buffers = {.memory = memory::Kind::huge}, .gathering_time_ns = 0})) {
        card_.open();
    }
    std::uint16_t port() const override { return clop_.port(); }
    std::size_t take() override {
        const std::size_t n_done = card_.do_work();
        for (receive::ClopBuffer buffer; clop_.try_take(buffer); clop_.give_back(buffer)) continue;
        return n_done;
    }

  private:
    receive::Card card_;
    receive::Clop& clop_;
};

struct Case {
    std::string name;
    std::unique_ptr<Taker> taker;
    std::unique_ptr<Camera> camera;
    std::vector<double> ns_per_datagram;
};

std::vector<Case> make_cases(const Load& load) {
    using camera::CopyMode;
    std::vector<Case> cases;
    const auto add = [&](std::string name, std::unique_ptr<Taker> taker) {
        auto camera = std::make_unique<Camera>(load, taker->port());
        cases.push_back({std::move(name), std::move(taker), std::move(camera), {}});
    };
    const auto build = [&](CopyMode copy, bool large_window, bool in_place = false, bool with_blocks = false) {
        return std::make_unique<BuildTaker>(load, copy, large_window ? large_window_bytes : 0, in_place, with_blocks);
    };
    add("raw", std::make_unique<RawTaker>(load));
    const std::size_t event_bytes = load.n_boards * load.datagram_bytes;
    add("raw into the memory of two events", std::make_unique<RawTaker>(load, 2 * event_bytes));
    add("raw into the large window's memory", std::make_unique<RawTaker>(load, large_window_bytes));
    add("backend", std::make_unique<BackendTaker>(load));
    add("card", std::make_unique<CardTaker>(load));
    if (load.only_card) return cases;
    add("plain copy, small window", build(CopyMode::plain, false));
    add("auto copy, small window", build(CopyMode::automatic, false));
    add("plain copy, large window", build(CopyMode::plain, true));
    add("non-temporal copy, large window", build(CopyMode::non_temporal, true));
    add("copy ahead, large window", build(CopyMode::ahead, true));
    add("auto copy, large window", build(CopyMode::automatic, true));
    if (!load.gro()) add("in place, small window", build(CopyMode::automatic, false, true));
    if (!load.gro()) add("in place, large window", build(CopyMode::automatic, true, true));
    add("three stages, small window", build(CopyMode::automatic, false, false, true));
    return cases;
}

/// Every way that the builder's input could be chosen, by window: those that are measured side by side.
std::vector<Case> make_choices(const Load& load, std::size_t window_bytes) {
    using camera::CopyMode;
    std::vector<Case> cases;
    const auto add = [&](std::string name, std::unique_ptr<Taker> taker) {
        auto camera = std::make_unique<Camera>(load, taker->port());
        cases.push_back({std::move(name), std::move(taker), std::move(camera), {}});
    };
    add("raw", std::make_unique<RawTaker>(load));
    for (const bool asks_gro : {false, true})
        for (const std::size_t batch : {16U, 32U, 64U})
            for (const CopyMode copy : {CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal}) {
                Load one = load;
                one.batch = batch;
                one.asks_gro = asks_gro;
                add(fmt::format("{} MB held, batch {}, {}, GRO {}", window_bytes >> 20, batch, camera::name_of(copy),
                                asks_gro || load.gro() ? "on" : "off"),
                    std::make_unique<BuildTaker>(one, copy, window_bytes, false, false));
            }
    return cases;
}

void run_round(Case& one, const Load& load) {
    one.camera->send();
    const Nanoseconds begin_ns = cpu_ns();
    std::size_t n_taken = 0;
    for (std::size_t n_now = 1; n_now > 0; n_taken += n_now) n_now = one.taker->take();
    const Nanoseconds used_ns = cpu_ns() - begin_ns;
    if (n_taken < load.n_datagrams())
        throw SystemError(fmt::format("only {} of {} datagrams came", n_taken, load.n_datagrams()), ENOBUFS,
                          "Raise `sysctl net.core.rmem_max`, or use fewer events.");
    one.ns_per_datagram.push_back(static_cast<double>(used_ns) / static_cast<double>(load.n_datagrams()));
}

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Sends until every taker has touched its memory and made its choices. Returns the number of rounds.
std::size_t warm_up(std::vector<Case>& cases, const Load& load) {
    constexpr std::size_t at_least = 3, at_most = 200;
    const auto settled = [&] {
        return std::ranges::all_of(cases, [](const Case& one) { return one.taker->is_settled(); });
    };
    std::size_t n_rounds = 0;
    while (n_rounds < at_least || (n_rounds < at_most && !settled())) {
        for (Case& one : cases) run_round(one, load);
        ++n_rounds;
    }
    for (Case& one : cases) one.ns_per_datagram.clear();
    return n_rounds;
}

void measure(const Load& load, std::vector<Case> cases, std::size_t n_rounds) {
    const std::size_t n_warm_up = warm_up(cases, load);
    for (std::size_t round = 0; round < n_rounds; ++round)
        for (Case& one : cases) run_round(one, load);
    for (const Case& one : cases) {
        one.taker->check((n_warm_up + n_rounds) * load.n_events);
        std::vector<double> ratios;
        for (std::size_t i = 0; i < n_rounds; ++i)
            ratios.push_back(cases.front().ns_per_datagram[i] / one.ns_per_datagram[i]);
        const double median = quantile(one.ns_per_datagram, 0.5);
        const double spread = (quantile(one.ns_per_datagram, 0.84) - quantile(one.ns_per_datagram, 0.16)) / 2 / median;
        fmt::print(R"({{"case": "{}", "bytes": {}, "mode": "{}", "boards": {}, "cpu_ns": {:.1f}, "spread": {:.3f}, )"
                   R"("ratio": {:.3f}, "ratio_spread": {:.3f}, "samples": [{:.3f}], "rounds": {}, "copy": "{}"}})"
                   "\n",
                   one.name, load.datagram_bytes, load.mode, load.n_boards, median, spread, quantile(ratios, 0.5),
                   (quantile(ratios, 0.84) - quantile(ratios, 0.16)) / 2, fmt::join(ratios, ", "), n_rounds,
                   one.taker->chosen());
        std::fflush(stdout);
    }
}

std::vector<std::string> list(const std::string& text) {
    std::vector<std::string> items;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        items.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return items;
}

void stay_on_core(std::size_t core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0)
        throw SystemError("stay on core " + std::to_string(core), errno, "Give a core that this process may use.");
}

/// Enough that what is done now and then, the builder's showing of its counters, does not weigh more than in use.
std::uint32_t events_for(std::size_t event_bytes) {
    constexpr std::size_t round_bytes = std::size_t{10} << 20;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(round_bytes / event_bytes, 8, 64));
}

void run(Options options) {
    const auto get = [&](const char* key, const char* otherwise) {
        return options.contains(key) ? options[key] : std::string(otherwise);
    };
    stay_on_core(std::stoul(get("core", "0")));
    const auto n_boards = static_cast<std::uint32_t>(std::stoul(get("boards", "265")));
    const std::string only = get("only", "");
    const std::size_t n_rounds = std::stoul(get("rounds", "40"));
    for (const std::string& mode : list(get("mode", "plain,gso,gro")))
        for (const std::string& text : list(get("bytes", "1024,8192"))) {
            const std::size_t n_bytes = std::stoul(text);
            const std::size_t batch = std::stoul(get("batch", "64"));
            const auto n_events = static_cast<std::uint32_t>(std::stoul(get("events", "0")));
            const Load load{.n_boards = n_boards,
                            .n_events = n_events != 0 ? n_events : events_for(n_boards * n_bytes),
                            .datagram_bytes = n_bytes,
                            .batch = batch,
                            .mode = mode,
                            .only_card = only == "card",
                            .asks_gro = get("asks_gro", "0") == "1"};
            if (only != "choices") measure(load, make_cases(load), n_rounds);
            if (only == "choices")
                for (const std::string& megabytes : list(get("window", "0,20,80")))
                    measure(load, make_choices(load, std::stoul(megabytes) << 20), n_rounds);
        }
}

}  // namespace
}  // namespace anello

int main(int n_arguments, char** arguments) {
    anello::Options options;
    for (int i = 1; i < n_arguments; ++i) {
        const std::string text = arguments[i];
        options[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    try {
        anello::run(options);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "camera_receive: {}\n", error.what());
        return 2;
    }
}
