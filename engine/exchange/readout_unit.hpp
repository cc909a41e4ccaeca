// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/counters/counters.hpp"
#include "exchange/event_manager/step_barrier.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/messages/messages.hpp"
#include "exchange/mfp_ring.hpp"
#include "fabric/fifo.hpp"

namespace anello::exchange {

/// Sends each MFP of its source to the builder that the manager assigned (push, shift) or that requested it (pull). One
/// thread; memory is allocated in the constructor.
class ReadoutUnit {
  public:
    /// Throws ConfigError. `ring` and `fabric` must outlive it.
    ReadoutUnit(const ExchangeConfig& config, MfpRing& ring, fabric::Fabric& fabric, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Takes MFPs from the source and sends those that can be sent. Returns the number of both.
    std::size_t do_work(Nanoseconds now_ns) noexcept;

    /// The manager's message with which MEP this unit begins; later ones are ignored.
    void begin_at(std::uint64_t mep) noexcept;
    /// Assigns MEPs to builders: the manager's assignment, in the order of MEPs, `n_per_round` of them in a round
    /// (shift), or a builder's request.
    void on_assigned(const Assignment& assignment) noexcept;
    void on_round(std::span<const std::byte> assignments) noexcept;
    /// The builder of this MEP is lost: it will not be requested.
    void on_cancelled(const Assignment& assignment) noexcept;
    /// The new manager's message about an MEP assigned before it took over, in the order of MEPs, or that nobody
    /// builds.
    void on_again(std::span<const std::byte> assignment) noexcept;
    void on_end(std::uint64_t mep) noexcept;
    /// One more than the last MEP whose builder is known, from the manager's assignments or a builder's request.
    std::uint64_t asked_end() const noexcept { return first_mep_ == no_mep ? 0 : std::max(first_mep_, asked_end_); }
    /// First MEP after the run, once the manager has announced it; otherwise no_end.
    std::uint64_t end_mep() const noexcept { return end_mep_; }
    static constexpr std::uint64_t no_end = MfpRing::never;
    /// is_live: connected, and listed by the manager as builder. is_assigned_to: listed by the manager, connected or
    /// not.
    void on_builder(std::uint16_t builder, bool is_live, bool is_assigned_to) noexcept;
    /// shift with a barrier: another readout unit's message; returns false if it is not valid. on_readout: is it listed
    /// by the manager as readout unit, and connected?
    bool on_step(std::uint16_t readout, const MessageHeader& header) noexcept;
    void on_readout(std::uint16_t readout, bool is_live) noexcept;
    void on_done(std::uint16_t builder, std::uint64_t token, fabric::Status status) noexcept;
    /// The run is over: MFPs that were not sent are counted as left.
    void finish() noexcept;
    /// Call it after the last do_work(), however the run ended: counts the MFPs in flight, which are no longer
    /// reported.
    void settle() noexcept;

    std::uint32_t n_in_flight() const noexcept { return n_in_flight_; }
    /// No MFP is on its way, and none is ready to be sent.
    bool is_empty() const noexcept;
    bool is_live(std::uint16_t builder) const noexcept { return builders_[builder].is_live; }
    /// Number of the last message with an MFP that was sent to this builder over the current or last connection.
    std::uint32_t n_numbered(std::uint16_t builder) const noexcept { return builders_[builder].n_numbered; }
    /// Subset of n_numbered(): messages whose outcome the transport has not reported yet.
    std::uint32_t n_in_flight(std::uint16_t builder) const noexcept { return builders_[builder].n_in_flight; }
    const Counters<ReadoutCounter>& counters() const noexcept { return counters_; }

  private:
    static constexpr std::uint64_t no_mep = MfpRing::never;
    static constexpr Nanoseconds not_held = std::numeric_limits<Nanoseconds>::max();
    static constexpr std::uint32_t no_buffer = 0xffffffff;  ///< also the token of messages without an MFP

    /// What this unit is to send to a slot of a builder.
    struct Job {
        enum class State : std::uint8_t { none, expected, ready } state = State::none;
        std::uint64_t mep = no_mep;
        std::uint32_t use = 0;
        std::uint32_t buffer = no_buffer;  ///< ready without buffer: there is no MFP
    };
    /// The builder and slot of an MEP whose MFP the source has not given yet.
    struct Target {
        std::uint64_t mep = no_mep;
        std::uint16_t builder = no_unit;  ///< no_unit: nobody builds it any more
        std::uint16_t slot = 0;
    };
    struct Turn {
        std::uint32_t use = 0;
        std::uint16_t builder = 0, slot = 0;
        std::uint64_t step = 0;  ///< shift: all units send their messages of one step at the same time
    };
    /// A message in flight; there are at most max_in_step_.
    struct InStep {
        std::uint32_t buffer = no_buffer;
        std::uint64_t step = no_mep;
    };
    struct Builder {
        explicit Builder(std::size_t n_turns) : turns(n_turns) {}
        fabric::Fifo<Turn> turns;  ///< ready jobs, in the order in which they became ready (push, pull)
        bool is_live = false;
        bool is_cut = false;       ///< not connected, but still assigned to
        std::uint64_t n_sent = 0;  ///< since it connected
        std::uint32_t n_numbered = 0;
        std::uint32_t n_in_flight = 0;
        std::uint64_t bytes_in_flight = 0;
    };

    bool is_known(const Assignment& assignment) const noexcept {
        return assignment.builder < builders_.size() && assignment.slot < config_.n_credits;
    }
    Job& job(std::uint16_t builder, std::uint16_t slot) noexcept {
        return jobs_[std::size_t{builder} * config_.n_credits + slot];
    }
    Target& target(std::uint64_t mep) noexcept { return targets_[mep & (targets_.size() - 1)]; }
    std::size_t take_from_source() noexcept;
    void take(const FullMfp& mfp) noexcept;
    void note_absent(std::uint64_t begin, std::uint64_t end) noexcept;
    void resolve(std::uint64_t mep, const Target& target, std::uint32_t buffer) noexcept;
    void drop_unasked(std::uint64_t end_mep) noexcept;
    void forsake(std::uint64_t mep) noexcept;
    void note_cut(Builder& builder, bool is_cut, bool is_live) noexcept;
    std::uint32_t find_waiting(std::uint64_t mep) const noexcept;
    void drop(std::uint32_t buffer, ReadoutCounter cause) noexcept;
    void withdraw(Job& job, ReadoutCounter cause) noexcept;

    std::size_t send_all() noexcept;
    std::size_t send_in_turn(Nanoseconds now_ns) noexcept;
    std::size_t send_out_of_turn() noexcept;
    bool may_begin(const Turn& turn, Nanoseconds now_ns) noexcept;
    void leave_step(std::uint32_t buffer) noexcept;
    std::uint64_t finished_step() noexcept;
    void tell_steps() noexcept;
    std::size_t send_to(std::uint16_t builder) noexcept;
    bool has_enough(const Builder& builder) const noexcept;
    enum class Sent : std::uint8_t { yes, busy, nothing };
    Sent try_send(const Turn& turn) noexcept;

    const ExchangeConfig config_;
    const std::uint16_t self_;
    MfpRing& ring_;
    fabric::Fabric& fabric_;
    Counters<ReadoutCounter> counters_;
    std::vector<Job> jobs_;        ///< [builder][slot]
    std::vector<Target> targets_;  ///< by MEP, modulo
    std::vector<Builder> builders_;
    fabric::Fifo<Turn> order_;  ///< shift: all assignments, in this unit's order
    std::optional<StepBarrier> barrier_;
    std::uint32_t max_in_step_;  ///< shift: MFPs in flight
    std::vector<InStep> in_step_;
    std::uint64_t next_step_ = 0;  ///< one more than the last step in order_
    /// since when the first one waits for the source
    Nanoseconds held_since_ns_ = not_held;
    std::vector<std::uint64_t> waiting_mep_;                           ///< by buffer: its MEP, until that is assigned
    std::vector<std::uint32_t> length_bytes_;                          ///< by buffer
    std::uint64_t first_mep_ = no_mep, taken_ = 0, end_mep_ = no_mep;  ///< below taken_, MFPs are taken or absent
    std::uint64_t asked_end_ = 0;    ///< one more than the last MEP assigned or requested
    std::uint64_t unasked_end_ = 0;  ///< pull: some MEPs below may never be requested
    int n_cut_ = 0;                  ///< number of such builders
    std::uint32_t n_in_flight_ = 0;
    std::uint16_t first_builder_ = 0;  ///< the builder whose turn is first
    bool is_settled_ = false;
};

}  // namespace anello::exchange
