// SPDX-License-Identifier: Apache-2.0
#include "pipeline/point_to_point.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <random>
#include <thread>

#include "core/errors.hpp"
#include "memory/persistent_buffers.hpp"

namespace anello::pipeline {
namespace {

using fabric::Peer;
using fabric::PeerState;
using fabric::Status;

constexpr std::array transports{fabric::Transport::ucx, fabric::Transport::tcp, fabric::Transport::udp};
constexpr Nanoseconds connect_limit_ns = 5'000'000'000, longest_end_ns = 1'000'000'000;
constexpr std::uint32_t n_yields = 20;
constexpr int longest_sleep_ms = 10;

/// One end of the connection: counts what it receives, and tracks which of its buffers are in use.
class End final : public fabric::Listener {
  public:
    End(const PointToPointConfig& config, Peer self, std::uint64_t farm_id)
        : buffers_({.n_buffers = config.n_buffers, .buffer_bytes = config.message_bytes}),
          message_bytes_(config.message_bytes) {
        fabric::FabricConfig fabric = config.fabric;
        fabric.self = self;
        fabric.n_peers = 2;
        fabric.farm_id = farm_id;
        fabric.port = 0;
        fabric_ = fabric::make_fabric(fabric, *this, SystemClock::instance(),
                                      page_.add_block<fabric::FabricCounter>("fabric"));
    }

    fabric::Fabric& fabric() noexcept { return *fabric_; }
    bool is_up() const noexcept { return is_up_; }
    bool is_down() const noexcept { return is_down_; }
    std::uint64_t n_received() const noexcept { return n_received_.load(std::memory_order_relaxed); }

    bool is_sending() const noexcept { return buffers_.n_free() < buffers_.n_buffers(); }

    std::size_t send_all(Peer to) noexcept {
        std::size_t n_sent = 0;
        for (std::uint32_t buffer; buffers_.try_take_free(buffer); ++n_sent) {
            constexpr std::byte header[8] = {};
            if (fabric_->send(to, header, buffers_.bytes(buffer).first(message_bytes_), buffer) == Status::ok) continue;
            buffers_.give_back(buffer);
            break;
        }
        return n_sent;
    }
    void wait() noexcept {
        if (++n_idle_ < n_yields) return std::this_thread::yield();
        pollfd descriptor{.fd = fabric_->descriptor(), .events = POLLIN, .revents = 0};
        if (fabric_->arm()) poll(&descriptor, 1, longest_sleep_ms);
    }
    void was_busy() noexcept { n_idle_ = 0; }

    std::span<std::byte> place(Peer, std::span<const std::byte>, std::size_t payload_bytes) noexcept override {
        next_ = (next_ + 1) % buffers_.n_buffers();
        return payload_bytes <= message_bytes_ ? buffers_.bytes(next_).first(payload_bytes) : std::span<std::byte>{};
    }
    void on_message(Peer, std::span<const std::byte>, std::span<std::byte>) noexcept override {
        n_received_.store(n_received() + 1, std::memory_order_relaxed);
    }
    void on_signal(Peer, std::uint64_t) noexcept override {}
    void on_done(Peer, std::uint64_t token, Status) noexcept override {
        buffers_.give_back(static_cast<std::uint32_t>(token));
    }
    void on_peer(Peer, PeerState state) noexcept override {
        is_up_ = state == PeerState::up;
        is_down_ = state == PeerState::down;
    }

  private:
    CounterPage page_;
    memory::PersistentBuffers buffers_;
    const std::size_t message_bytes_;
    std::uint32_t next_ = 0, n_idle_ = 0;
    std::atomic<std::uint64_t> n_received_{0};
    bool is_up_ = false, is_down_ = false;
    std::unique_ptr<fabric::Fabric> fabric_;
};

void connect(End& sender, End& receiver, const char* transport) {
    sender.fabric().connect(1, receiver.fabric().address());
    receiver.fabric().connect(0, sender.fabric().address());
    const Nanoseconds limit_ns = SystemClock::instance().monotonic_ns() + connect_limit_ns;
    while (!sender.is_up() || !receiver.is_up()) {
        sender.fabric().progress();
        receiver.fabric().progress();
        if (sender.is_down() || receiver.is_down() || SystemClock::instance().monotonic_ns() > limit_ns)
            throw ConfigError("fabric.transport", "must connect two nodes of one machine", transport,
                              "`anello doctor` says what works here.");
    }
}

/// Runs until `stop`, and then until none of our transfers is under way, or the other end takes nothing more.
void drive(End& end, const std::atomic<bool>& stop, bool sends) noexcept {
    const SystemClock& clock = SystemClock::instance();
    Nanoseconds stopped_ns = 0;
    while (stopped_ns == 0 || (end.is_sending() && clock.monotonic_ns() - stopped_ns < longest_end_ns)) {
        if (stopped_ns == 0 && stop.load(std::memory_order_relaxed)) stopped_ns = clock.monotonic_ns();
        const std::size_t n_done = end.fabric().progress() + (sends && stopped_ns == 0 ? end.send_all(1) : 0);
        n_done > 0 ? end.was_busy() : end.wait();
    }
}

}  // namespace

std::vector<TransportInfo> probe_transports() {
    std::vector<TransportInfo> found;
    for (const fabric::Transport transport : transports) {
        TransportInfo info;
        info.name = fabric::name_of(transport);
        try {
            PointToPointConfig config;
            config.message_bytes = 64;
            config.n_buffers = 2;
            config.fabric.transport = transport;
            info.mode = End(config, 0, 0).fabric().describe();
            info.available = true;
        } catch (const std::exception& error) {
            info.reason = error.what();
        }
        found.push_back(std::move(info));
    }
    return found;
}

void PointToPointConfig::validate() const {
    if (message_bytes == 0 || message_bytes > fabric.max_message_bytes)
        throw ConfigError("message_bytes", fmt::format("must be 1 to {}", fabric.max_message_bytes),
                          std::to_string(message_bytes), "Raise fabric.max_message_bytes.");
    if (duration_ns <= 0)
        throw ConfigError("duration_s", "must be above 0", std::to_string(duration_ns), "The default is 1.");
}

PointToPointResult measure_point_to_point(const PointToPointConfig& config) {
    config.validate();
    const std::uint64_t farm_id = std::random_device{}() | std::uint64_t{1} << 32;
    End sender(config, 0, farm_id), receiver(config, 1, farm_id);
    connect(sender, receiver, fabric::name_of(config.fabric.transport));
    std::atomic<bool> stop{false}, all_sent{false};
    std::thread sends([&] { drive(sender, stop, true); });
    std::thread receives([&] { drive(receiver, all_sent, false); });
    const SystemClock& clock = SystemClock::instance();
    const auto rest_ns = [&](Nanoseconds for_ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(for_ns)); };
    rest_ns(config.duration_ns / 10);  // fills caches and buffers first
    const Nanoseconds begun_ns = clock.monotonic_ns();
    const std::uint64_t before = receiver.n_received();
    rest_ns(config.duration_ns);
    const PointToPointResult result{
        .n_messages = receiver.n_received() - before,
        .message_bytes = config.message_bytes,
        .duration_ns = clock.monotonic_ns() - begun_ns,
        .about = fmt::format("messages of {} bytes, {} buffers on each side; {}", config.message_bytes,
                             config.n_buffers, sender.fabric().describe())};
    stop.store(true);
    sender.fabric().wake();
    sends.join();
    all_sent.store(true);
    receiver.fabric().wake();
    receives.join();
    return result;
}

}  // namespace anello::pipeline
