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

/// The peer on this side of a stream over a fabric, with a thread of its own: the program's ends lie in memory beside
/// it, as those of a stream over shared memory, and it carries bytes and indices between them and the far side. So the
/// program waits as it does there, and the far side is answered while the program computes.
///
/// Bytes leave the program's ring of departures for the same place of the far ring, with the new head behind them: by
/// put() and its signal, or by a message that the far courier places there. Without bytes the tail comes back.
/// Departing bytes have room in the far ring, since the tail that the program sees is the far program's.
class Courier final : private fabric::Listener {
  public:
    /// Makes our ring and the fabric. Throws ConfigError and SystemError.
    Courier(const StreamConfig& config, const fabric::FabricConfig& fabric_config, Counters<StreamCounter> counters);
    /// What the program published still leaves, for at most peer_timeout_ns.
    ~Courier() override;

    // --- Connecting; the caller's thread
    std::vector<std::byte> address() const { return fabric_->address(); }
    std::vector<std::byte> key() const { return fabric_->key(region_); }  ///< of our ring
    void connect(std::span<const std::byte> address);
    /// Makes progress; sleeps up to 1 ms, or until `control` or the fabric has something. False: the fabric gave up.
    bool wait_a_little(const Descriptor& control) noexcept;
    bool up() const noexcept { return fabric_->state(other_) == fabric::PeerState::up; }
    /// The far ring; `ring_bytes` 0: it has none. Throws ConfigError where its key says otherwise.
    void attach(std::span<const std::byte> key, std::size_t ring_bytes);

    /// Begins to carry; the ends keep the courier. `control` hangs up with the peer. Throws SystemError.
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
    SharedRing arrivals_, departures_;  ///< arrivals: written by the peer; departures: a twin of the peer's ring
    alignas(64) std::array<std::byte, 64> no_ring_{};  ///< what is registered where we do not receive
    std::unique_ptr<fabric::Fabric> fabric_;
    fabric::Region region_;
    fabric::RemoteRegion far_{};
    Descriptor control_;                       ///< the peer's process, as long as it lives
    std::unique_ptr<BellLine> programs_line_;  ///< hung up by us: the peer is gone
    SharedLine own_line_;                      ///< hung up by the program: it is gone
    std::unique_ptr<ReceiveEnd> from_program_;
    std::unique_ptr<SendEnd> to_program_;
    std::thread thread_;

    // The courier's thread alone
    std::uint64_t sent_ = 0, arrived_ = 0, credited_ = 0;
    std::size_t n_under_way_ = 0;        ///< puts and signals of ours that are not done,
    std::uint64_t bytes_under_way_ = 0;  ///< and what they carry
    bool told_end_ = false, told_closed_ = false;
    bool peer_gone_ = false;
    Nanoseconds peer_hung_up_ns_ = 0, program_left_ns_ = 0;  ///< 0: not
    bool abandoned_ = false;
};

}  // namespace anello::stream
