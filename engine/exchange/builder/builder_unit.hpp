// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "exchange/builder/credits.hpp"
#include "exchange/builder/mep_output.hpp"
#include "exchange/builder/mep_slots.hpp"
#include "exchange/builder/mep_timeouts.hpp"
#include "exchange/builder/mfp_check.hpp"
#include "exchange/builder/mfp_senders.hpp"
#include "exchange/builder/pull_requests.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/mep_sink.hpp"
#include "exchange/messages/outbox.hpp"

namespace anello::exchange {

/// Collects the MFPs of all readout units, one multi-event packet (MEP) per slot, and passes an MEP on when it is
/// complete, or at its time-out. A slot is a credit: it is offered to the manager, filled, passed on, and offered again
/// under its next use number, so that late data of an earlier use are not placed. This class decides what each message
/// changes; its parts know nothing of each other's work, but for the slots. One thread; memory is allocated in the
/// constructor.
class BuilderUnit {
  public:
    /// `may_lose`: the transport may lose messages. Throws ConfigError and SystemError. All arguments must outlive the
    /// object.
    BuilderUnit(const ExchangeConfig& config, memory::Kind memory, bool may_lose, MepSink& sink, Outbox& outbox,
                const Clock& clock, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Returns where to write an MFP's bytes; empty if it has no place, which is counted.
    std::span<std::byte> place(std::uint16_t readout, const MessageHeader& header, std::size_t length_bytes) noexcept;
    void on_mfp(std::uint16_t readout, const MessageHeader& header, std::span<const std::byte> mfp) noexcept;
    /// An MFP that had a place will not arrive.
    void on_lost(std::uint16_t readout, const MessageHeader& header) noexcept;
    void on_absent(std::uint16_t readout, const MessageHeader& header) noexcept;
    void on_assigned(const Assignment& assignment) noexcept;
    /// The manager says that the node of this connection reads out, and from which MEP on. The caller drops what the
    /// manager says about a connection that is already broken.
    void on_readout(std::uint16_t readout, bool is_live, std::uint64_t first_mep) noexcept;
    /// The connection to a readout unit changed. Nothing is awaited from a unit without connection.
    void on_connection(std::uint16_t readout, bool is_up) noexcept;
    /// Offers all slots; called once, at the beginning.
    void offer_all() noexcept { credits_.add_all(slots_); }
    /// The manager is lost, and the standby is to follow: notes all slots, and offers none until follow() is called.
    void begin_to_follow() noexcept { credits_.begin_to_follow(slots_, output_.handed_on()); }
    /// From now on, this manager gets all outcomes since begin_to_follow().
    void follow(Node manager) noexcept { credits_.follow(manager); }
    /// No assignments and no changes of live nodes will arrive: MEPs that have begun get one more time-out and are
    /// passed on.
    void on_manager_gone() noexcept;
    std::size_t do_work(Nanoseconds now_ns) noexcept;
    /// When there is work to do even if no message arrives.
    Nanoseconds next_due_ns() const noexcept { return std::min(timeouts_.next_deadline_ns(), next_look_ns_); }
    bool is_empty() const noexcept { return slots_.n_used() == 0; }
    /// Call it after the last do_work(). MEPs that were not passed on stay here, and missing MFPs will not arrive. A
    /// second call does nothing.
    void settle() noexcept;

    const Counters<BuilderCounter>& counters() const noexcept { return counters_; }
    const MfpSenders& senders() const noexcept { return senders_; }
    const Credits& credits() const noexcept { return credits_; }
    const MepOutput& output() const noexcept { return output_; }
    std::string describe() const { return slots_.describe(); }

  private:
    using State = MepSlots::Slot::State;
    using Part = MepSlots::Part;

    void open(std::uint32_t slot, std::uint64_t mep) noexcept;
    void close_if_whole(std::uint32_t slot) noexcept {
        if (slots_[slot].is_whole()) close(slot);
    }
    void close(std::uint32_t slot) noexcept;
    void give_up(std::uint32_t slot) noexcept;
    void try_free(std::uint32_t slot) noexcept;
    std::size_t take_back() noexcept;
    void settle(std::uint32_t slot) noexcept;

    const ExchangeConfig config_;
    Counters<BuilderCounter> counters_;
    MfpSenders senders_;
    MepSlots slots_;
    MepTimeouts timeouts_;
    MfpCheck check_;
    MepOutput output_;
    Credits credits_;
    PullRequests requests_;
    bool begins_when_opened_;     ///< the time-out of an MEP does not wait for its first part
    bool is_left_alone_ = false;  ///< the manager is gone
    bool is_settled_ = false;
    Nanoseconds next_look_ns_ = MepTimeouts::never_ns;
};

}  // namespace anello::exchange
