// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "core/seed.hpp"
#include "fabric/fabric_config.hpp"
#include "fabric/fifo.hpp"

namespace anello::fabric {

/// Faults to inject; the same seed and the same calls give the same faults.
struct FaultConfig {
    double loss = 0;                     ///< share of messages
    double duplicate = 0;                ///< share of messages
    Nanoseconds delay_ns = 0;            ///< the longest of a message
    std::uint64_t disconnect_after = 0;  ///< messages after which the last one's peer is lost, once; 0: never
    std::uint64_t seed = default_seed;
    /// Loss and duplicates break the promise of a reliable transport, so they must be allowed explicitly there.
    bool break_promises = false;
};

void check(const FaultConfig& config);  ///< Throws ConfigError.

/// What FaultyFabrics did by intent. What one took from its caller is messages_sent of the fabric inside + lost -
/// duplicated + given_up, whose peer went down while they were held back. Several threads may count.
struct FaultCounts {
    std::atomic<std::uint64_t> lost{0}, duplicated{0}, delayed{0}, given_up{0}, disconnected{0};
};

/// Sits between a fabric and its listener and injects faults into messages. Held back messages keep their order where
/// the transport promises one. Puts and gets are left alone. The descriptor stands for the inner fabric and the time
/// at which a held message is due.
class FaultyFabric final : public Fabric, private Listener {
  public:
    /// `counters` are the inner fabric's: messages without room here are counted there. Throws ConfigError, also if the
    /// inner fabric's promises would be broken without the faults' permission.
    FaultyFabric(const FaultConfig& faults, std::shared_ptr<FaultCounts> counts, const MakeFabric& make_inner,
                 const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters);

    std::vector<std::byte> address() const override { return inner_->address(); }
    void connect(Peer peer, std::span<const std::byte> address) override;
    void disconnect(Peer peer) noexcept override;
    Region register_memory(std::span<std::byte> memory) override { return inner_->register_memory(memory); }
    void deregister(Region region) noexcept override { inner_->deregister(region); }
    std::vector<std::byte> key(Region region) const override { return inner_->key(region); }
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override { return inner_->attach(peer, key); }

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override;
    Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept override;
    Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept override;
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return epoll_.number(); }
    bool arm() noexcept override;
    void wake() noexcept override { inner_->wake(); }

    PeerState state(Peer peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return inner_->max_message_bytes(); }
    bool reliable() const noexcept override {
        return inner_->reliable() && faults_.loss == 0 && faults_.duplicate == 0;
    }
    std::string describe() const override;

  private:
    /// What happens to the next message; drawn before it is accepted, so that `busy` changes nothing.
    struct Fate {
        bool lost = false, doubled = false;
        Nanoseconds delay_ns = 0;
    };
    /// A message or transfer of the caller's; its index is the inner fabric's token.
    struct Slot {
        Peer to = 0;
        std::uint8_t header_bytes = 0;
        std::uint8_t n_to_send = 0, n_under_way = 0;
        Status status = Status::ok;
        std::byte header[max_header_bytes] = {};
        std::span<const std::byte> payload{};
        std::uint64_t token = 0;
        Nanoseconds due_ns = 0;
    };

    // Listener of the inner fabric
    std::span<std::byte> place(Peer from, std::span<const std::byte> header, std::size_t n_bytes) noexcept override {
        return listener_.place(from, header, n_bytes);
    }
    void on_message(Peer from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        listener_.on_message(from, header, payload);
    }
    void on_lost(Peer from, std::span<const std::byte> header) noexcept override { listener_.on_lost(from, header); }
    void on_signal(Peer from, std::uint64_t signal) noexcept override { listener_.on_signal(from, signal); }
    void on_done(Peer to, std::uint64_t slot, Status status) noexcept override;
    void on_peer(Peer peer, PeerState state) noexcept override;

    Fate draw() noexcept;
    std::optional<std::uint32_t> take_slot(Peer to, std::uint64_t token) noexcept;
    void give_slot(std::uint32_t index) noexcept;
    template <typename Start>
    Status transfer(Peer peer, std::uint64_t token, const Start& start) noexcept;
    std::size_t send_due() noexcept;
    bool try_send(Slot& slot, std::uint32_t index) noexcept;
    void give_up(Peer peer) noexcept;
    void finish(std::uint32_t index) noexcept;
    std::size_t report_finished() noexcept;
    void lose_peer(Peer peer) noexcept;
    void set_timer_to_next_due() noexcept;

    const FaultConfig faults_;
    Listener& listener_;
    const Clock& clock_;
    const std::shared_ptr<FaultCounts> counts_;
    Counters<FabricCounter> counters_;
    std::mt19937_64 random_;
    Fate fate_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_, held_;  ///< unused slots; slots with a message to send, the oldest first
    Fifo<std::uint32_t> finished_;            ///< slots whose end the caller is still to hear of
    Nanoseconds looked_ns_ = 0;               ///< when send_due() last looked at the slots
    bool has_untried_ = false;                ///< held since then
    bool timer_runs_ = false;
    std::vector<std::size_t> in_flight_;  ///< of each peer, until the caller's on_done()
    std::vector<bool> waits_;             ///< peers whose messages wait for an earlier one, within send_due()
    std::vector<bool> lost_peers_;        ///< by us: the inner fabric does not know them any more
    const std::size_t max_in_flight_;
    std::uint64_t n_taken_ = 0;
    std::optional<Peer> to_lose_;
    std::unique_ptr<Fabric> inner_;
    Descriptor timer_, epoll_;
};

/// Returns a function that makes FaultyFabrics around those of `make_inner`.
MakeFabric with_faults(const FaultConfig& faults, const MakeFabric& make_inner = make_fabric,
                       std::shared_ptr<FaultCounts> counts = std::make_shared<FaultCounts>());

}  // namespace anello::fabric
