// SPDX-License-Identifier: Apache-2.0
#include "exchange/readout_unit.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/assert.hpp"
#include "core/errors.hpp"

namespace anello::exchange {
namespace {

/// Number of MFPs that may be in flight to one builder, however large they are.
constexpr std::uint32_t least_in_flight = 2;
/// Shift without barrier: MFPs in flight at a time; with more, the units would get out of step.
constexpr std::uint32_t in_step_by_themselves = 2;
/// Shift: this fraction of the timeout is the longest time that others wait for an MFP that the source has not given,
/// and that a unit waits for late ones.
constexpr Nanoseconds held_at_most = 8;

}  // namespace

ReadoutUnit::ReadoutUnit(const ExchangeConfig& config, MfpRing& ring, fabric::Fabric& fabric, CounterPage& page)
    : config_(config),
      self_(config.farm.readout_of[config.self]),
      ring_(ring),
      fabric_(fabric),
      counters_(page.add_block<ReadoutCounter>("readout")),
      jobs_(config.farm.builders.size() * config.n_credits),
      targets_(std::bit_ceil(2 * jobs_.size())),
      order_(4 * jobs_.size()),
      max_in_step_(config.steps_ahead > 0 ? config.steps_ahead + 1 : in_step_by_themselves),
      in_step_(max_in_step_),
      waiting_mep_(ring.n_buffers(), no_mep),
      length_bytes_(ring.n_buffers()) {
    if (config.protocol == Protocol::shift && ring.n_buffers() <= config.farm.builders.size())
        throw ConfigError("generator.n_buffers", "must be above the number of builders where protocol is shift",
                          std::to_string(ring.n_buffers()), "A round has one multi-event packet for each builder.");
    if (config.protocol == Protocol::shift && config.steps_ahead > 0)
        barrier_.emplace(self_, config.farm.readouts.size(), config.farm.builders.size(), config.steps_ahead,
                         config.timeout_ns / held_at_most);
    builders_.reserve(config.farm.builders.size());
    for (std::size_t i = 0; i < config.farm.builders.size(); ++i) builders_.emplace_back(4 * config.n_credits);
}

std::size_t ReadoutUnit::do_work(Nanoseconds now_ns) noexcept {
    if (first_mep_ == no_mep) return 0;
    const std::size_t n_taken = take_from_source();
    if (config_.protocol != Protocol::shift) return n_taken + send_all();
    const std::size_t n_sent = send_in_turn(now_ns);
    if (barrier_) tell_steps();
    return n_taken + n_sent;
}

void ReadoutUnit::begin_at(std::uint64_t mep) noexcept {
    if (first_mep_ != no_mep) return;
    first_mep_ = taken_ = next_step_ = mep;
    ring_.begin_at(mep);
}

std::size_t ReadoutUnit::take_from_source() noexcept {
    const std::uint64_t passed = ring_.passed();
    std::size_t n_taken = 0;
    for (FullMfp mfp; n_taken < ring_.n_buffers() && ring_.try_take(mfp); ++n_taken) take(mfp);
    if (n_taken < ring_.n_buffers() && passed > taken_) {  // the ring is empty: the source skipped the rest
        note_absent(taken_, passed);
        taken_ = passed;
    }
    return n_taken;
}

void ReadoutUnit::take(const FullMfp& mfp) noexcept {
    counters_.add(ReadoutCounter::mfps_taken);
    length_bytes_[mfp.buffer] = mfp.length_bytes;
    if (mfp.mep < taken_) return drop(mfp.buffer, ReadoutCounter::mfps_before_start);
    note_absent(taken_, mfp.mep);
    taken_ = mfp.mep + 1;
    if (mfp.mep >= end_mep_) return drop(mfp.buffer, ReadoutCounter::mfps_left_at_end);
    Target& known = target(mfp.mep);
    if (known.mep != mfp.mep) {
        const bool is_behind = known.mep != no_mep && known.mep > mfp.mep;
        if (is_behind) return drop(mfp.buffer, ReadoutCounter::mfps_too_late);  // it will not be requested any more
        waiting_mep_[mfp.buffer] = mfp.mep;
        return;
    }
    known.mep = no_mep;
    resolve(mfp.mep, known, mfp.buffer);
}

/// The source has no data of MEPs begin..end-1: notifies the builders that wait for them.
void ReadoutUnit::note_absent(std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin >= end) return;
    for (std::uint64_t mep = end - std::min<std::uint64_t>(end - begin, targets_.size()); mep < end; ++mep) {
        Target& known = target(mep);
        if (known.mep < begin || known.mep >= end) continue;  // at most one MEP per place, and each place is visited
        const Target found = known;
        known.mep = no_mep;
        resolve(found.mep, found, no_buffer);
    }
}

/// Both an MFP (or its absence) and its builder are known now.
void ReadoutUnit::resolve(std::uint64_t mep, const Target& target, std::uint32_t buffer) noexcept {
    if (target.builder == no_unit) return drop(buffer, ReadoutCounter::mfps_lost_to_dead_builder);
    Job& found = job(target.builder, target.slot);
    const bool is_expected = found.state == Job::State::expected && found.mep == mep;
    if (!builders_[target.builder].is_live) {  // it may have been assigned after the builder was lost
        if (is_expected) found = {};
        return drop(buffer, ReadoutCounter::mfps_lost_to_dead_builder);
    }
    if (!is_expected) return drop(buffer, ReadoutCounter::mfps_too_late);
    found.state = Job::State::ready;
    found.buffer = buffer;
    if (config_.protocol == Protocol::shift) return;  // it is in order_ already
    if (!builders_[target.builder].turns.try_push({found.use, target.builder, target.slot, 0}))
        withdraw(found, ReadoutCounter::mfps_too_late);
}

void ReadoutUnit::on_assigned(const Assignment& assignment) noexcept {
    if (!is_known(assignment)) return counters_.add(ReadoutCounter::assignments_refused);
    // A builder's request may arrive before the manager's message that this unit begins.
    if ((first_mep_ != no_mep && assignment.mep < first_mep_) || assignment.mep >= end_mep_) return;
    counters_.add(ReadoutCounter::assigned);
    asked_end_ = std::max(asked_end_, assignment.mep + 1);
    Job& slot = job(assignment.builder, assignment.slot);
    withdraw(slot, ReadoutCounter::mfps_too_late);
    slot = {.state = Job::State::expected, .mep = assignment.mep, .use = assignment.use};
    const Target goes{assignment.mep, assignment.builder, assignment.slot};
    if (assignment.mep >= taken_) {
        target(assignment.mep) = goes;  // the earlier entry is so old that its slot was reused long ago
        if (config_.protocol == Protocol::pull && assignment.mep >= targets_.size())
            drop_unasked(assignment.mep - targets_.size() + 1);
        return;
    }
    const std::uint32_t buffer = find_waiting(assignment.mep);
    if (buffer != no_buffer) waiting_mep_[buffer] = no_mep;
    resolve(assignment.mep, goes, buffer);
}

/// Pull: a builder that cannot reach this unit requests nothing, and its MFPs would fill the ring. So MFPs are dropped
/// that lie far below the requests of others. While all builders can reach this unit each MFP will be requested,
/// however slow a builder is.
void ReadoutUnit::drop_unasked(std::uint64_t end_mep) noexcept {
    if (n_cut_ == 0) end_mep = std::min(end_mep, unasked_end_);
    for (std::uint32_t buffer = 0; buffer < waiting_mep_.size(); ++buffer) {
        if (waiting_mep_[buffer] >= end_mep) continue;
        waiting_mep_[buffer] = no_mep;
        drop(buffer, ReadoutCounter::mfps_too_late);
    }
}

/// The unit's order begins at the builder after itself, so that no two units send to the same one at a time.
void ReadoutUnit::on_round(std::span<const std::byte> assignments) noexcept {
    const std::size_t n = assignments.size() / entry_bytes;
    if (n == 0) return;
    Assignment entry;
    read(assignments.data(), entry);
    const std::uint64_t begin = entry.mep;
    next_step_ = std::max(next_step_, begin + n);
    std::size_t first = 0;
    for (bool found = false; first < n && !found; first += found ? 0 : 1) {
        read(assignments.data() + first * entry_bytes, entry);
        found = entry.builder > self_;
    }
    for (std::size_t i = 0; i < n; ++i) {
        read(assignments.data() + (first + i) % n * entry_bytes, entry);
        on_assigned(entry);
        if (!is_known(entry)) continue;
        if (!order_.try_push({entry.use, entry.builder, entry.slot, begin + i}))
            withdraw(job(entry.builder, entry.slot), ReadoutCounter::mfps_too_late);
    }
}

void ReadoutUnit::on_cancelled(const Assignment& assignment) noexcept {
    if (!is_known(assignment)) return counters_.add(ReadoutCounter::assignments_refused);
    const std::uint64_t mep = assignment.mep;
    Job& slot = job(assignment.builder, assignment.slot);
    // sent in turn: later ones wait for it
    if (slot.mep == mep) withdraw(slot, ReadoutCounter::mfps_lost_to_dead_builder);
    forsake(mep);
}

/// No builder will build this MEP.
void ReadoutUnit::forsake(std::uint64_t mep) noexcept {
    if (mep >= taken_) {
        target(mep) = {.mep = mep, .builder = no_unit};
        return;
    }
    const std::uint32_t buffer = find_waiting(mep);
    if (buffer == no_buffer) return;
    waiting_mep_[buffer] = no_mep;
    drop(buffer, ReadoutCounter::mfps_lost_to_dead_builder);
}

/// Pull: builders request what they build.
void ReadoutUnit::on_again(std::span<const std::byte> assignment) noexcept {
    Assignment entry;
    read(assignment.data(), entry);
    const bool is_news = config_.protocol == Protocol::pull || entry.mep >= asked_end();
    if (!is_news || first_mep_ == no_mep || entry.mep < first_mep_ || entry.mep >= end_mep_) return;
    if (entry.builder == nobody) {
        asked_end_ = std::max(asked_end_, entry.mep + 1);
        next_step_ = std::max(next_step_, entry.mep + 1);
        return forsake(entry.mep);
    }
    if (config_.protocol == Protocol::push) on_assigned(entry);
    if (config_.protocol == Protocol::shift) on_round(assignment.first(entry_bytes));
}

void ReadoutUnit::on_end(std::uint64_t mep) noexcept {
    end_mep_ = mep;
    ring_.end_at(mep);
    for (std::uint32_t buffer = 0; buffer < waiting_mep_.size(); ++buffer) {
        if (waiting_mep_[buffer] == no_mep || waiting_mep_[buffer] < mep) continue;
        waiting_mep_[buffer] = no_mep;
        drop(buffer, ReadoutCounter::mfps_left_at_end);
    }
}

void ReadoutUnit::on_builder(std::uint16_t builder, bool is_live, bool is_assigned_to) noexcept {
    Builder& known = builders_[builder];
    note_cut(known, !is_live && is_assigned_to, is_live);
    if (known.is_live == is_live) return;
    known.is_live = is_live;
    if (is_live) {
        known.n_numbered = 0;
        return;
    }
    counters_.add(ReadoutCounter::sent_to_dead_builder, known.n_sent);
    known.n_sent = 0;
    while (!known.turns.empty()) known.turns.pop();
    for (std::uint32_t slot = 0; slot < config_.n_credits; ++slot)
        withdraw(job(builder, static_cast<std::uint16_t>(slot)), ReadoutCounter::mfps_lost_to_dead_builder);
    for (Target& target : targets_)
        // its MFP is still to come, and is then counted as lost
        if (target.builder == builder) target.builder = no_unit;
}

void ReadoutUnit::note_cut(Builder& builder, bool is_cut, bool is_live) noexcept {
    if (builder.is_cut == is_cut) return;
    builder.is_cut = is_cut;
    n_cut_ += is_cut ? 1 : -1;
    if (is_live) unasked_end_ = std::max(taken_, asked_end_) + jobs_.size();  // its earlier requests were lost
}

void ReadoutUnit::on_done(std::uint16_t builder, std::uint64_t token, fabric::Status status) noexcept {
    if (token >= waiting_mep_.size() || is_settled_) return;  // a message without an MFP, or already counted
    const auto buffer = static_cast<std::uint32_t>(token);
    --n_in_flight_;
    --builders_[builder].n_in_flight;
    builders_[builder].bytes_in_flight -= length_bytes_[buffer];
    leave_step(buffer);
    if (status == fabric::Status::lost) return drop(buffer, ReadoutCounter::mfps_lost);
    if (status != fabric::Status::ok) return drop(buffer, ReadoutCounter::mfps_lost_to_dead_builder);
    counters_.add(ReadoutCounter::bytes_sent, length_bytes_[buffer]);
    if (builders_[builder].is_live)
        ++builders_[builder].n_sent;
    else
        counters_.add(ReadoutCounter::sent_to_dead_builder);
    drop(buffer, ReadoutCounter::mfps_sent);
}

/// Gives a buffer back, if there is one, and counts the outcome of its MFP.
void ReadoutUnit::drop(std::uint32_t buffer, ReadoutCounter cause) noexcept {
    if (buffer == no_buffer) return;
    counters_.add(cause);
    ring_.give_back(buffer);
}

void ReadoutUnit::withdraw(Job& job, ReadoutCounter cause) noexcept {
    if (job.state == Job::State::ready) drop(job.buffer, cause);
    job = {};
}

/// PERF NOTE: a linear search of some 64 adjacent numbers costs less than keeping an index of them.
std::uint32_t ReadoutUnit::find_waiting(std::uint64_t mep) const noexcept {
    const auto found = std::find(waiting_mep_.begin(), waiting_mep_.end(), mep);
    return found == waiting_mep_.end() ? no_buffer : static_cast<std::uint32_t>(found - waiting_mep_.begin());
}

std::size_t ReadoutUnit::send_all() noexcept {
    const std::size_t n_builders = builders_.size();
    std::size_t n_sent = 0;
    for (std::size_t i = 0; i < n_builders; ++i)
        n_sent += send_to(static_cast<std::uint16_t>((first_builder_ + i) % n_builders));
    first_builder_ = static_cast<std::uint16_t>((first_builder_ + 1) % n_builders);
    return n_sent;
}

bool ReadoutUnit::has_enough(const Builder& builder) const noexcept {
    return builder.n_in_flight >= least_in_flight && builder.bytes_in_flight >= config_.in_flight_bytes;
}

std::size_t ReadoutUnit::send_to(std::uint16_t builder) noexcept {
    fabric::Fifo<Turn>& turns = builders_[builder].turns;
    std::size_t n_sent = 0;
    while (!turns.empty() && !has_enough(builders_[builder])) {
        const Sent sent = try_send(turns.front());
        if (sent == Sent::busy) break;
        turns.pop();
        if (sent == Sent::yes) ++n_sent;
    }
    return n_sent;
}

/// Sends in step with the other units. An MFP that the source has not given for a while does not hold up the others: if
/// a round takes longer than a multi-event packet may wait, parts that are available would arrive too late.
std::size_t ReadoutUnit::send_in_turn(Nanoseconds now_ns) noexcept {
    std::size_t n_sent = 0;
    while (!order_.empty() && n_in_flight_ < max_in_step_) {
        const Turn turn = order_.front();
        const Job& next = job(turn.builder, turn.slot);
        if (next.state == Job::State::expected && next.use == turn.use) {
            held_since_ns_ = std::min(held_since_ns_, now_ns);
            const bool is_held_long = now_ns - held_since_ns_ > config_.timeout_ns / held_at_most;
            return is_held_long ? n_sent + send_out_of_turn() : n_sent;
        }
        if (next.state == Job::State::ready && next.use == turn.use && !may_begin(turn, now_ns)) break;
        const Sent sent = try_send(turn);
        if (sent == Sent::busy) break;
        held_since_ns_ = not_held;
        order_.pop();
        if (sent == Sent::yes) ++n_sent;
    }
    return n_sent;
}

/// Sends the rest of a round whose first MFP the source has not given.
std::size_t ReadoutUnit::send_out_of_turn() noexcept {
    std::size_t n_sent = 0;
    const std::size_t n_turns = std::min(order_.size(), builders_.size());
    for (std::size_t i = 1; i < n_turns && n_in_flight_ < max_in_step_; ++i)
        if (try_send(order_[i]) == Sent::yes) ++n_sent;  // at its turn the job is then empty
    return n_sent;
}

bool ReadoutUnit::may_begin(const Turn& turn, Nanoseconds now_ns) noexcept {
    if (!barrier_) return true;
    const StepBarrier::Gate gate = barrier_->gate(turn.step, now_ns);
    if (gate == StepBarrier::Gate::overruled) counters_.add(ReadoutCounter::barriers_overruled);
    return gate != StepBarrier::Gate::closed;
}

void ReadoutUnit::leave_step(std::uint32_t buffer) noexcept {
    for (InStep& message : in_step_)
        if (message.buffer == buffer) message = {};
}

std::uint64_t ReadoutUnit::finished_step() noexcept {
    std::uint64_t finished = order_.empty() ? next_step_ : order_.front().step;
    for (const InStep& message : in_step_) finished = std::min(finished, message.step);
    return finished;
}

void ReadoutUnit::tell_steps() noexcept {
    barrier_->finish(finished_step());
    barrier_->tell([this](const StepBarrier::Word& word) {
        std::array<std::byte, message_header_bytes> header;
        write({.type = MessageType::step, .from = config_.self, .mep = word.step, .slot = word.phase}, header);
        return fabric_.tell(config_.farm.readouts[word.to], header) == fabric::Status::ok;
    });
}

bool ReadoutUnit::on_step(std::uint16_t readout, const MessageHeader& header) noexcept {
    return barrier_ && barrier_->hear(readout, header.slot, header.mep);
}

void ReadoutUnit::on_readout(std::uint16_t readout, bool is_live) noexcept {
    if (barrier_) barrier_->set_live(readout, is_live);
}

ReadoutUnit::Sent ReadoutUnit::try_send(const Turn& turn) noexcept {
    Job& next = job(turn.builder, turn.slot);
    // the slot was assigned again since
    if (next.state != Job::State::ready || next.use != turn.use) return Sent::nothing;
    const bool is_absent = next.buffer == no_buffer;
    std::array<std::byte, message_header_bytes> header;
    write({.type = is_absent ? MessageType::absent : MessageType::mfp,
           .from = config_.self,
           .sequence = is_absent ? 0 : builders_[turn.builder].n_numbered + 1,
           .mep = next.mep,
           .use = next.use,
           .slot = turn.slot},
          header);
    std::span<const std::byte> payload;
    if (!is_absent) payload = ring_.bytes(next.buffer).first(length_bytes_[next.buffer]);
    const Job sent = next;
    next = {};  // before send(), which may report at once
    if (!is_absent) {
        ++n_in_flight_;
        ++builders_[turn.builder].n_in_flight;
        builders_[turn.builder].bytes_in_flight += length_bytes_[sent.buffer];
        ++builders_[turn.builder].n_numbered;
        if (barrier_) *std::ranges::find(in_step_, no_buffer, &InStep::buffer) = {sent.buffer, turn.step};
    }
    const fabric::Status status = fabric_.send(config_.farm.builders[turn.builder], header, payload, sent.buffer);
    if (status == fabric::Status::ok) {
        if (is_absent) counters_.add(ReadoutCounter::absences_told);
        return Sent::yes;
    }
    if (!is_absent) {
        --n_in_flight_;
        --builders_[turn.builder].n_in_flight;
        builders_[turn.builder].bytes_in_flight -= length_bytes_[sent.buffer];
        --builders_[turn.builder].n_numbered;
        leave_step(sent.buffer);
    }
    next = sent;
    if (status == fabric::Status::busy) {
        counters_.add(ReadoutCounter::waits_for_transport);
        return Sent::busy;
    }
    withdraw(next, ReadoutCounter::mfps_lost_to_dead_builder);
    return Sent::nothing;
}

bool ReadoutUnit::is_empty() const noexcept {
    const auto is_ready = [](const Job& job) { return job.state == Job::State::ready; };
    return n_in_flight_ == 0 && std::none_of(jobs_.begin(), jobs_.end(), is_ready);
}

void ReadoutUnit::finish() noexcept {
    ring_.end_at(0);
    for (FullMfp mfp; ring_.try_take(mfp);) {
        counters_.add(ReadoutCounter::mfps_taken);
        drop(mfp.buffer, ReadoutCounter::mfps_left_at_end);
    }
    for (std::uint32_t buffer = 0; buffer < waiting_mep_.size(); ++buffer) {
        if (waiting_mep_[buffer] == no_mep) continue;
        waiting_mep_[buffer] = no_mep;
        drop(buffer, ReadoutCounter::mfps_left_at_end);
    }
    for (Job& job : jobs_) withdraw(job, ReadoutCounter::mfps_left_at_end);
}

/// For a node that stops early and never reached finish(). The transport keeps the buffers in flight.
void ReadoutUnit::settle() noexcept {
    if (std::exchange(is_settled_, true)) return;
    finish();
    counters_.add(ReadoutCounter::mfps_in_flight_at_end, n_in_flight_);
}

}  // namespace anello::exchange
