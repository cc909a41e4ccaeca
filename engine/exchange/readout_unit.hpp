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

/// Sends each MFP of its source to the builder that was named for it (push, shift) or that asked for it (pull). One
/// thread; memory is taken in the constructor.
class ReadoutUnit {
  public:
    /// Throws ConfigError. `ring` and `fabric` must outlive it.
    ReadoutUnit(const ExchangeConfig& config, MfpRing& ring, fabric::Fabric& fabric, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// Takes what the source has, sends what can be sent. Returns how much.
    std::size_t do_work(Nanoseconds now_ns) noexcept;

    /// The manager said where this unit begins; later ones are ignored.
    void begin_at(std::uint64_t mep) noexcept;
    /// MEPs for the builders named: the manager's assignment, in the order of MEPs, `n_per_round` of them in a
    /// round (shift), or a builder's request.
    void on_assigned(const Assignment& assignment) noexcept;
    void on_round(std::span<const std::byte> assignments) noexcept;
    /// Its builder is gone: this one will not be requested.
    void on_cancelled(const Assignment& assignment) noexcept;
    /// The new manager's word of an MEP that was assigned before it, in the order of MEPs, or that nobody builds.
    void on_again(std::span<const std::byte> assignment) noexcept;
    void on_end(std::uint64_t mep) noexcept;
    /// Behind the last MEP of which it knows, by the manager's assignments, or a builder's request, who builds it.
    std::uint64_t asked_end() const noexcept { return first_mep_ == no_mep ? 0 : std::max(first_mep_, asked_end_); }
    /// Of the run, as far as it was told; else no_end.
    std::uint64_t end_mep() const noexcept { return end_mep_; }
    static constexpr std::uint64_t no_end = MfpRing::never;
    /// is_live: connected, and the manager says that it builds. is_assigned_to: the manager says so, connected or not.
    void on_builder(std::uint16_t builder, bool is_live, bool is_assigned_to) noexcept;
    /// shift with a barrier: another readout unit's word; false where it is none. on_readout: the manager says that it
    /// reads out, and it is connected.
    bool on_step(std::uint16_t readout, const MessageHeader& header) noexcept;
    void on_readout(std::uint16_t readout, bool is_live) noexcept;
    void on_done(std::uint16_t builder, std::uint64_t token, fabric::Status status) noexcept;
    /// The run is over: what was not sent is counted as left.
    void finish() noexcept;
    /// After the last do_work(), however the run ended: what is in flight is counted, and no longer reported to anyone.
    void settle() noexcept;

    std::uint32_t n_in_flight() const noexcept { return n_in_flight_; }
    /// Nothing is on its way, and nothing ready to go.
    bool is_empty() const noexcept;
    bool is_live(std::uint16_t builder) const noexcept { return builders_[builder].is_live; }
    /// Messages with an MFP that this builder was sent over the last connection: the number of the last one.
    std::uint32_t n_numbered(std::uint16_t builder) const noexcept { return builders_[builder].n_numbered; }
    /// Of these: those of which the transport has not said yet what became of them.
    std::uint32_t n_in_flight(std::uint16_t builder) const noexcept { return builders_[builder].n_in_flight; }
    const Counters<ReadoutCounter>& counters() const noexcept { return counters_; }

  private:
    static constexpr std::uint64_t no_mep = MfpRing::never;
    static constexpr Nanoseconds not_held = std::numeric_limits<Nanoseconds>::max();
    static constexpr std::uint32_t no_buffer = 0xffffffff;  ///< also the token of messages without an MFP

    /// What a slot of a builder is to get from us.
    struct Job {
        enum class State : std::uint8_t { none, expected, ready } state = State::none;
        std::uint64_t mep = no_mep;
        std::uint32_t use = 0;
        std::uint32_t buffer = no_buffer;  ///< ready: none says that there is nothing
    };
    /// Where an MEP goes whose MFP is not there yet.
    struct Target {
        std::uint64_t mep = no_mep;
        std::uint16_t builder = no_unit;  ///< none: it is not wanted any more
        std::uint16_t slot = 0;
    };
    struct Turn {
        std::uint32_t use = 0;
        std::uint16_t builder = 0, slot = 0;
        std::uint64_t step = 0;  ///< shift: all units' messages of a step go at the same time
    };
    /// Of a message in flight, of which there are at most max_in_step_.
    struct InStep {
        std::uint32_t buffer = no_buffer;
        std::uint64_t step = no_mep;
    };
    struct Builder {
        explicit Builder(std::size_t n_turns) : turns(n_turns) {}
        fabric::Fifo<Turn> turns;  ///< ready jobs, in the order in which they came to be (push, pull)
        bool is_live = false;
        bool is_cut = false;       ///< not connected, and assigned to all the same
        std::uint64_t n_sent = 0;  ///< since it came up
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
    fabric::Fifo<Turn> order_;  ///< shift: all that was assigned, in this unit's order
    std::optional<StepBarrier> barrier_;
    std::uint32_t max_in_step_;  ///< shift: MFPs in flight
    std::vector<InStep> in_step_;
    std::uint64_t next_step_ = 0;                                      ///< behind all that are in order_
    Nanoseconds held_since_ns_ = not_held;                             ///< its first waits for the source
    std::vector<std::uint64_t> waiting_mep_;                           ///< by buffer: its MEP, until it is assigned
    std::vector<std::uint32_t> length_bytes_;                          ///< by buffer
    std::uint64_t first_mep_ = no_mep, taken_ = 0, end_mep_ = no_mep;  ///< taken_: what is below is taken, or absent
    std::uint64_t asked_end_ = 0;    ///< behind the last that was assigned or asked for
    std::uint64_t unasked_end_ = 0;  ///< pull: some below may never be asked for
    int n_cut_ = 0;                  ///< builders
    std::uint32_t n_in_flight_ = 0;
    std::uint16_t first_builder_ = 0;  ///< whose turn it is to be first
    bool is_settled_ = false;
};

}  // namespace anello::exchange
