// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/latency/latency_leg.hpp"
#include "exchange/arrivals.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/mep_sink.hpp"
#include "exchange/messages/outbox.hpp"
#include "memory/persistent_buffers.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange {

/// Collects the MFPs of all readout units, one multi-event packet (MEP) per slot, and passes an MEP on when it is
/// complete, or at its time-out. A slot is a credit: it is offered to the manager, filled, passed on, and offered again
/// under its next use number, so that late data of an earlier use are not placed. One thread; memory is allocated in
/// the constructor.
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
    void offer_all() noexcept;
    /// The manager is lost, and the standby is to follow: notes all slots, and offers none until follow() is called.
    void begin_to_follow() noexcept;
    /// What begin_to_follow() noted: all slots, the MEPs built lately, and the totals, with outcomes not yet reported.
    std::span<const Assignment> noted_slots() const noexcept { return noted_; }
    Totals noted_totals() const noexcept { return noted_totals_; }
    /// From now on, this manager gets all outcomes since begin_to_follow().
    void follow(Node manager) noexcept;
    /// No assignments and no changes of live nodes will arrive: MEPs that have begun get one more time-out and are
    /// passed on.
    void on_manager_gone() noexcept;
    std::size_t do_work(Nanoseconds now_ns) noexcept;
    /// When there is work to do even if no message arrives.
    Nanoseconds next_due_ns() const noexcept { return std::min(next_deadline_ns_, next_look_ns_); }
    /// All slots are free, and all credits were sent to the manager.
    bool is_idle() const noexcept { return n_used_ == 0 && to_offer_.empty(); }
    bool is_empty() const noexcept { return n_used_ == 0; }

    /// The MEPs that a slot handed on: the last one, and with a standby also earlier ones that a manager may not know
    /// of.
    struct HandedOn {
        std::uint64_t mep = 0;
        std::uint16_t n_missing = 0;
        bool is_known = false;
    };
    /// Call it after the last do_work(). MEPs that were not passed on stay here, and missing MFPs will not arrive. A
    /// second call does nothing.
    void settle() noexcept;
    const std::vector<HandedOn>& handed_on() const noexcept { return handed_on_; }
    /// Message numbers of one readout unit, since the last connection to it was made.
    const Arrivals& arrivals(std::uint16_t readout) const noexcept { return readouts_[readout].arrivals; }
    bool is_up(std::uint16_t readout) const noexcept { return readouts_[readout].is_up; }

    const Counters<BuilderCounter>& counters() const noexcept { return counters_; }
    /// Per MEP: from its first MFP being ready to its being built, and from its first MFP's arrival to its being built.
    const LatencyHistogram& ready_to_built() const noexcept { return ready_to_built_.run(); }
    const LatencyHistogram& first_to_built() const noexcept { return first_to_built_.run(); }
    std::string describe() const;
    std::uint32_t n_slots() const noexcept { return config_.n_credits; }

  private:
    /// State of one readout unit's part of an MEP.
    enum class Part : std::uint8_t {
        not_expected,  ///< its readout unit is gone, or not there yet: not awaited, and missing at the end
        awaited,
        arriving,  ///< it has a place, which the transport owns
        arrived,
        missing,
        abandoned,  ///< missing, but the transport still owns its place
    };
    struct Slot {
        enum class State : std::uint8_t { free, open, ready, with_sink, over } state = State::free;
        bool is_assigned = false;  ///< the manager assigned it; an MFP alone may open a slot earlier
        std::uint64_t mep = 0;
        std::uint32_t use = 0;
        std::uint32_t n_awaited = 0;  ///< parts awaited or arriving
        std::uint32_t n_places = 0;   ///< parts arriving or abandoned
        std::uint32_t n_missing = 0;
        /// monotonic time when its time-out started; 0: no part of it, or of a later MEP, arrived
        Nanoseconds begun_ns = 0;
        Nanoseconds deadline_ns = 0;  ///< valid once it has begun
        Nanoseconds ready_ns = 0;     ///< earliest time in its MFPs, wall clock; 0: none
    };
    struct Readout {
        bool is_live = false, is_up = false;
        std::uint64_t first_mep = 0;
        std::uint64_t n_taken = 0;  ///< messages counted since the connection was made
        Arrivals arrivals;
    };

    Part& part(std::uint32_t slot, std::size_t readout) noexcept { return parts_[slot * n_readouts_ + readout]; }
    std::span<const std::byte>& mfp(std::uint32_t slot, std::size_t readout) noexcept {
        return mfps_[slot * n_readouts_ + readout];
    }
    bool awaits(std::size_t readout, std::uint64_t mep) const noexcept {
        return readouts_[readout].is_live && readouts_[readout].first_mep <= mep;
    }
    void count(std::uint16_t readout, BuilderCounter outcome) noexcept;
    void note_number(std::uint16_t readout, std::uint32_t number) noexcept;
    void write_off(Readout& readout) noexcept;
    bool knows(const MessageHeader& header) const noexcept;
    void open(std::uint32_t slot, std::uint64_t mep) noexcept;
    void begin(std::uint64_t mep) noexcept;
    Nanoseconds silent_until_ns() const noexcept;
    void expect(std::uint32_t slot) noexcept;
    void assign(std::uint32_t slot, std::uint64_t mep) noexcept;
    void miss(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept;
    void miss_gone(std::uint32_t slot) noexcept;
    wire::Verdict check(std::uint16_t readout, const Slot& slot, std::span<const std::byte> bytes,
                        wire::mfp::PacketView& view) noexcept;
    void verify_share(const wire::mfp::PacketView& view, std::uint64_t mep) noexcept;
    void close_if_whole(std::uint32_t slot) noexcept;
    void close(std::uint32_t slot) noexcept;
    void count_handed_on(std::uint32_t slot) noexcept;
    void hand_on(std::uint32_t slot) noexcept;
    void try_free(std::uint32_t slot) noexcept;
    void settle(std::uint32_t slot) noexcept;
    void close_overdue(Nanoseconds now_ns) noexcept;
    std::size_t take_back() noexcept;
    void offer() noexcept;
    void request() noexcept;

    const ExchangeConfig config_;
    const std::size_t n_readouts_;
    const bool may_lose_;
    MepSink& sink_;
    Outbox& outbox_;
    const Clock& clock_;
    Counters<BuilderCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    memory::PersistentBuffers memory_;
    std::vector<Slot> slots_;
    std::vector<Part> parts_;                       ///< [slot][readout]
    std::vector<std::span<const std::byte>> mfps_;  ///< [slot][readout]
    std::vector<Readout> readouts_;
    std::vector<HandedOn> handed_on_;  ///< the last one of each slot, by slot; then earlier ones, modulo
    std::uint64_t n_handed_on_ = 0;
    fabric::Fifo<std::uint32_t> ready_;  ///< to be given to the sink
    fabric::Fifo<Credit> to_offer_;
    fabric::Fifo<Assignment> to_request_;  ///< used by pull only
    std::vector<Assignment> noted_;        ///< by slot
    Totals reported_, noted_totals_;
    Node manager_;
    bool is_offering_ = true;
    std::uint32_t n_used_ = 0;
    bool is_left_alone_ = false;  ///< the manager is gone
    bool is_settled_ = false;
    Nanoseconds next_deadline_ns_;
    /// when to ask the sink again, which does not notify when a slot is returned or room is free
    Nanoseconds next_look_ns_;
    std::size_t n_with_sink_ = 0;
    /// when the first part of an MEP arrived, or the first slot was opened
    Nanoseconds heard_ns_ = 0;
    double verify_due_ = 0;                         ///< fragments still to be verified
    LatencyLeg &ready_to_built_, &first_to_built_;  ///< in the counter page
};

}  // namespace anello::exchange
