// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "core/counters/counters.hpp"
#include "fabric/fabric_config.hpp"
#include "stream/fabric_wire.hpp"
#include "stream/handshake.hpp"
#include "stream/ring/shared_ends.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_counters.hpp"

namespace anello::stream {

/// The courier of a stream over a fabric, with a thread of its own. It shares rings in memory with the program, like
/// the peer of a stream over shared memory, and carries bytes and indices between these rings and the far side. So the
/// program waits in the same way as there, and the far side gets answers while the program computes.
///
/// Bytes go from the program's ring of departures to the same position of the far ring, followed by the new head: by
/// put() and its signal, or by a message that the far courier places there. The tail returns without bytes. Departing
/// bytes always fit into the far ring, since the tail that the program sees is the far program's.
class Courier final : private fabric::Listener {
  public:
    /// Makes our ring and the fabric. Throws ConfigError and SystemError.
    Courier(const StreamConfig& config, const fabric::FabricConfig& fabric_config, Counters<StreamCounter> counters);
    /// Before it ends, it sends what the program has published, for at most peer_timeout_ns.
    ~Courier() override;

    // --- Connecting, on the caller's thread
    std::vector<std::byte> address() const { return fabric_->address(); }
    std::vector<std::byte> key() const { return fabric_->key(region_); }  ///< of our ring
    void connect(std::span<const std::byte> address);
    /// Makes progress; sleeps up to 1 ms, or until `control` or the fabric has input. Returns false if the fabric gave
    /// up.
    bool wait_a_little(const Descriptor& control) noexcept;
    bool up() const noexcept { return fabric_->state(other_) == fabric::PeerState::up; }
    /// Attaches the far ring; `ring_bytes` 0: it has none. Throws ConfigError if its key says otherwise.
    void attach(std::span<const std::byte> key, std::size_t ring_bytes);

    /// Starts the thread; the ends keep the courier alive. `control` closes when the peer ends. Throws SystemError.
    static StreamEnds start(std::shared_ptr<Courier> self, Descriptor control);

  private:
    // Listener of the fabric
    std::span<std::byte> place(fabric::Peer from, std::span<const std::byte> header,
                               std::size_t n_bytes) noexcept override;
    void on_message(fabric::Peer from, std::span<const std::byte> header,
                    std::span<std::byte> payload) noexcept override;
    void on_signal(fabric::Peer from, std::uint64_t bits) noexcept override;
    void on_done(fabric::Peer to, std::uint64_t token, fabric::Status status) noexcept override;
    void on_peer(fabric::Peer peer, fabric::PeerState state) noexcept override;

    void run() noexcept;
    bool carry() noexcept;
    bool send_bytes() noexcept;
    bool give_credit(bool all) noexcept;
    bool say(FabricSignal signal, std::size_t at = 0, std::span<const std::byte> bytes = {}) noexcept;
    void take(std::optional<FabricSignal> signal) noexcept;
    bool taken(fabric::Status status) noexcept;
    void look_for_ends() noexcept;
    bool all_is_said() noexcept;
    bool over() noexcept;
    void sleep() noexcept;

    const StreamConfig config_;
    const fabric::Peer other_;
    Counters<StreamCounter> counters_;
    CounterPage fabric_page_;
    SharedRing arrivals_, departures_;  ///< arrivals: written by the peer; departures: a copy of the peer's ring
    alignas(64) std::array<std::byte, 64> no_ring_{};  ///< registered if this side does not receive
    std::unique_ptr<fabric::Fabric> fabric_;
    fabric::Region region_;
    fabric::RemoteRegion far_{};
    Descriptor control_;                       ///< closes when the peer's process ends
    std::unique_ptr<BellLine> programs_line_;  ///< the courier hangs it up when the peer has died
    SharedLine own_line_;                      ///< the program hangs it up when it ends
    std::unique_ptr<ReceiveEnd> from_program_;
    std::unique_ptr<SendEnd> to_program_;
    std::thread thread_;

    // used by the courier's thread only
    std::uint64_t sent_ = 0, arrived_ = 0, credited_ = 0;
    std::size_t n_under_way_ = 0;        ///< our unfinished puts and signals,
    std::uint64_t bytes_under_way_ = 0;  ///< and their bytes
    bool sent_end_ = false, sent_closed_ = false;
    bool peer_gone_ = false;
    Nanoseconds peer_hung_up_ns_ = 0, program_left_ns_ = 0;  ///< 0: not
    bool abandoned_ = false;
};

}  // namespace anello::stream
