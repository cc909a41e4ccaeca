// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "receive/card/make_backend.hpp"
#include "simulate/world/world.hpp"
#include "source/random.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::simulate {

struct WireConfig {
    Nanoseconds latency_ns = 20'000;       ///< from a sender to the receiver's system
    Nanoseconds jitter_ns = 0;             ///< largest additional delay; datagrams of one stream keep their order
    std::size_t buffer_bytes = 64U << 20;  ///< of the receiver's system, for each stream
    std::uint64_t seed = 1;                ///< of the jitter
};

/// Datagrams in virtual time, from front ends (a PacketSink) to the backends of a node. The backends' streams are
/// numbered in the order in which the backends were made. A datagram that finds no room in a stream's buffer is dropped
/// and counted there.
class SimulatedWire final : public source::PacketSink, private Actor {
  public:
    SimulatedWire(const WireConfig& config, World& world);  ///< The world must outlive it, and not run after it.
    ~SimulatedWire() override;

    /// For receive::BackendConfig::make. notify: called when its descriptor becomes readable. The wire must outlive it.
    std::unique_ptr<receive::Backend> make_backend(const receive::BackendConfig& config,
                                                   std::function<void(int descriptor)> notify = {});
    void send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds now_ns,
              source::SendResult* results) noexcept override;

    /// Datagrams of this stream are lost until then.
    void cut_until(std::uint32_t stream, Nanoseconds when_ns) { at(stream).cut_until_ns = when_ns; }
    /// Datagrams sent until then arrive at that time, all at once.
    void hold_until(std::uint32_t stream, Nanoseconds when_ns) { at(stream).held_until_ns = when_ns; }

    static receive::SourceAddress source_of(std::uint32_t stream) noexcept;
    /// Calls look(stream, bytes) for each datagram that enters a stream's buffer.
    void watch(std::function<void(std::uint32_t, std::span<const std::byte>)> look) { look_ = std::move(look); }
    /// Calls look(datagrams) each time a backend has given datagrams to the node, or none.
    void watch_reads(std::function<void(std::span<const receive::Datagram>)> look) { look_at_read_ = std::move(look); }

  private:
    class Backend;
    struct Stream {
        Backend* backend = nullptr;
        std::uint16_t number = 0;  ///< index in the backend
        std::deque<std::vector<std::byte>> coming{};
        Nanoseconds cut_until_ns = 0, held_until_ns = 0, last_ns = 0;
    };

    Stream& at(std::uint32_t stream);
    void on_event(std::uint64_t stream) noexcept override;

    const WireConfig config_;
    World& world_;
    source::Random random_;
    std::vector<Stream> streams_;
    std::uint32_t n_taken_ = 0;  ///< streams that have a backend
    std::function<void(std::uint32_t, std::span<const std::byte>)> look_;
    std::function<void(std::span<const receive::Datagram>)> look_at_read_;
};

}  // namespace anello::simulate
