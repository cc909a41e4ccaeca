// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/simulated_wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/kernel_handle.hpp"

namespace anello::simulate {
namespace {

constexpr std::uint16_t first_port = 50'000;
constexpr std::uint32_t first_host = 0x0a00'0001;  // 10.0.0.1

}  // namespace

/// The receive buffers of the receiver's system, as sockets have them.
class SimulatedWire::Backend final : public receive::Backend {
  public:
    /// For n_streams streams of the wire, starting with first_stream.
    Backend(SimulatedWire& wire, std::uint32_t first_stream, std::size_t n_streams, std::function<void(int)> notify)
        : wire_(wire), first_stream_(first_stream), notify_(std::move(notify)), streams_(n_streams) {
        for (std::size_t i = 0; i < n_streams; ++i) {
            SimulatedWire::Stream& stream = wire_.at(static_cast<std::uint32_t>(first_stream_ + i));
            stream.backend = this;
            stream.number = static_cast<std::uint16_t>(i);
        }
    }
    ~Backend() override {
        for (std::size_t i = 0; i < streams_.size(); ++i) wire_.streams_[first_stream_ + i].backend = nullptr;
    }

    std::size_t n_streams() const noexcept override { return streams_.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override {
        return static_cast<std::uint16_t>(first_port + first_stream_ + stream);
    }
    std::size_t receive(std::span<receive::Datagram> batch) noexcept override {
        lent_.clear();
        std::size_t n = 0;
        for (std::size_t n_empty = 0; n < batch.size() && n_empty < streams_.size(); ++next_) {
            next_ %= streams_.size();
            Stream& stream = streams_[next_];
            const bool has_one = stream.is_wanted && !stream.waiting.empty();
            n_empty = has_one ? 0 : n_empty + 1;
            if (has_one) batch[n++] = lend(stream);
        }
        for (Stream& stream : streams_) stream.is_read = stream.is_wanted && stream.waiting.empty();
        show();
        if (wire_.look_at_read_) wire_.look_at_read_(batch.first(n));
        return n;
    }
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override {
        streams_[stream].is_wanted = wanted;
        show();
    }
    bool is_read(std::uint16_t stream) const noexcept override {
        return streams_[stream].is_wanted && streams_[stream].is_read;
    }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override { return streams_[stream].n_dropped; }
    int descriptor() const noexcept override { return event_.number(); }
    std::string describe() const override { return fmt::format("simulated, {} ports", streams_.size()); }

    /// Returns false if the datagram is dropped.
    bool has_room(std::uint16_t number, std::size_t n_bytes) noexcept {
        Stream& stream = streams_[number];
        if (stream.n_bytes + n_bytes <= wire_.config_.buffer_bytes) return true;
        ++stream.n_dropped;
        return false;
    }
    void take_in(std::uint16_t number, std::vector<std::byte> bytes, receive::SourceAddress source) {
        Stream& stream = streams_[number];
        stream.n_bytes += bytes.size();
        stream.waiting.push_back({std::move(bytes), wire_.world_.wall_ns(), source, number});
        show();
    }

  private:
    struct Waiting {
        std::vector<std::byte> bytes;
        Nanoseconds came_ns;
        receive::SourceAddress source;
        std::uint16_t stream;
    };
    struct Stream {
        std::deque<Waiting> waiting{};
        std::size_t n_bytes = 0;
        bool is_wanted = true, is_read = true;
        std::uint64_t n_dropped = 0;
    };

    receive::Datagram lend(Stream& stream) {
        lent_.push_back(std::move(stream.waiting.front()));
        stream.waiting.pop_front();
        const Waiting& one = lent_.back();
        stream.n_bytes -= one.bytes.size();
        return {.bytes = one.bytes, .stream = one.stream, .kernel_ns = one.came_ns, .source = one.source};
    }
    void show() noexcept {
        const bool is_readable = std::ranges::any_of(
            streams_, [](const Stream& stream) { return stream.is_wanted && !stream.waiting.empty(); });
        if (std::exchange(is_readable_, is_readable) == is_readable) return;
        if (!is_readable) return void(take_event(event_));
        signal_event(event_);
        if (notify_) notify_(event_.number());
    }

    SimulatedWire& wire_;
    const std::uint32_t first_stream_;
    const std::function<void(int)> notify_;
    std::vector<Stream> streams_;
    std::deque<Waiting> lent_;
    std::size_t next_ = 0;
    const Descriptor event_ = make_event_descriptor();
    bool is_readable_ = false;
};

SimulatedWire::SimulatedWire(const WireConfig& config, World& world)
    : config_(config), world_(world), random_(config.seed) {}

SimulatedWire::~SimulatedWire() = default;

receive::SourceAddress SimulatedWire::source_of(std::uint32_t stream) noexcept {
    return {first_host + stream, first_port};
}

SimulatedWire::Stream& SimulatedWire::at(std::uint32_t stream) {
    if (stream >= streams_.size()) streams_.resize(stream + 1);
    return streams_[stream];
}

std::unique_ptr<receive::Backend> SimulatedWire::make_backend(const receive::BackendConfig& config,
                                                              std::function<void(int)> notify) {
    const std::uint32_t first = n_taken_;
    n_taken_ += static_cast<std::uint32_t>(config.ports.size());
    return std::make_unique<Backend>(*this, first, config.ports.size(), std::move(notify));
}

void SimulatedWire::send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds,
                         source::SendResult* results) noexcept {
    const Nanoseconds now_ns = world_.monotonic_ns();
    for (const source::OutgoingDatagram& datagram : datagrams) {
        *results++ = source::SendResult::sent;
        Stream& stream = at(datagram.stream);
        if (now_ns < stream.cut_until_ns) continue;
        const auto jitter_ns = static_cast<Nanoseconds>(random_.uniform() * static_cast<double>(config_.jitter_ns));
        const Nanoseconds when_ns = std::max(now_ns, stream.held_until_ns) + config_.latency_ns + jitter_ns;
        stream.last_ns = std::max(stream.last_ns, when_ns);
        stream.coming.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
        world_.at(stream.last_ns, *this, datagram.stream);
    }
}

void SimulatedWire::on_event(std::uint64_t number) noexcept {
    Stream& stream = streams_[number];
    std::vector<std::byte> bytes = std::move(stream.coming.front());
    stream.coming.pop_front();
    if (stream.backend == nullptr) return;
    const auto from = static_cast<std::uint32_t>(number);
    if (!stream.backend->has_room(stream.number, bytes.size())) return;
    if (look_) look_(from, bytes);
    stream.backend->take_in(stream.number, std::move(bytes), source_of(from));
}

}  // namespace anello::simulate
