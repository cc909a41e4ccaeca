// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/assert.hpp"
#include "core/thread.hpp"
#include "source/random.hpp"

namespace anello::exchange {
namespace {

constexpr Nanoseconds never_ns = std::numeric_limits<Nanoseconds>::max();
/// Number of time-outs to wait for the first part of any MEP: later, it may have been lost with a connection.
constexpr Nanoseconds silent_timeouts = 10;

/// Use numbers wrap.
bool is_before(std::uint32_t use, std::uint32_t other) noexcept {
    return static_cast<std::int32_t>(use - other) < 0;
}

}  // namespace

BuilderUnit::BuilderUnit(const ExchangeConfig& config, memory::Kind memory, bool may_lose, MepSink& sink,
                         Outbox& outbox, const Clock& clock, CounterPage& page)
    : config_(config),
      n_readouts_(config.farm.readouts.size()),
      may_lose_(may_lose),
      sink_(sink),
      outbox_(outbox),
      clock_(clock),
      counters_(page.add_block<BuilderCounter>("builder")),
      verdicts_(page.add_block<wire::Verdict>("builder.mfp")),
      // One buffer per MFP; the buffers of a slot lie next to each other. Its ring of free buffers is not used.
      memory_({.n_buffers = static_cast<std::uint32_t>(std::max<std::size_t>(2, config.n_credits * n_readouts_)),
               .buffer_bytes = config.max_mfp_bytes,
               .kind = memory}),
      slots_(config.n_credits),
      parts_(config.n_credits * n_readouts_),
      mfps_(config.n_credits * n_readouts_),
      readouts_(n_readouts_),
      handed_on_(config.n_credits + config.n_unheard()),
      ready_(config.n_credits),
      to_offer_(config.n_credits),
      to_request_(config.n_credits),
      manager_(config.farm.manager),
      next_deadline_ns_(never_ns),
      next_look_ns_(never_ns),
      ready_to_built_(page.add_leg("ready_to_built")),
      first_to_built_(page.add_leg("first_to_built")) {
    // A restarted builder begins with other use numbers than before: data for its earlier uses then find no place.
    const auto first_use = static_cast<std::uint32_t>(clock.wall_ns() >> 10);
    for (Slot& slot : slots_) slot.use = first_use;
    if (config.farm.standby != no_node) noted_.reserve(config.n_credits + handed_on_.size());
}

std::string BuilderUnit::describe() const {
    return fmt::format("{} slots of {} x {} bytes, {} memory", slots_.size(), n_readouts_, memory_.buffer_bytes(),
                       memory::name_of(memory_.kind()));
}

void BuilderUnit::count(std::uint16_t readout, BuilderCounter outcome) noexcept {
    counters_.add(outcome);
    ++readouts_[readout].n_taken;
}

/// Called before the message's outcome is counted: each number is one message, and a number that was skipped was lost.
void BuilderUnit::note_number(std::uint16_t readout, std::uint32_t number) noexcept {
    Readout& sender = readouts_[readout];
    const Arrivals::Taken taken = sender.arrivals.take(number);
    if (!taken.is_new) {
        counters_.add(BuilderCounter::mfps_repeated);
        --sender.n_taken;  // counting its outcome adds one again
    }
    counters_.add(BuilderCounter::mfps_never_came, taken.n_given_up);
    sender.n_taken += taken.n_given_up;
}

bool BuilderUnit::knows(const MessageHeader& header) const noexcept {
    return header.slot < slots_.size() && !is_before(slots_[header.slot].use, header.use);
}

std::span<std::byte> BuilderUnit::place(std::uint16_t readout, const MessageHeader& header,
                                        std::size_t length_bytes) noexcept {
    note_number(readout, header.sequence);
    const auto refuse = [&](BuilderCounter cause) {
        count(readout, cause);
        return std::span<std::byte>{};
    };
    if (!knows(header) || length_bytes > config_.max_mfp_bytes) return refuse(BuilderCounter::mfps_unexpected);
    Slot& slot = slots_[header.slot];
    if (is_before(header.use, slot.use)) return refuse(BuilderCounter::mfps_late);
    if (slot.state == Slot::State::free) open(header.slot, header.mep);
    if (slot.mep != header.mep) return refuse(BuilderCounter::mfps_unexpected);
    Part& mine = part(header.slot, readout);
    if (mine == Part::arriving || mine == Part::arrived) return refuse(BuilderCounter::mfps_duplicate);
    if (slot.state != Slot::State::open || mine == Part::missing || mine == Part::abandoned)
        return refuse(BuilderCounter::mfps_late);
    // it returned, and its data arrived before the manager's message about it
    if (mine == Part::not_expected) ++slot.n_awaited;
    if (slot.begun_ns == 0) begin(slot.mep);
    mine = Part::arriving;
    ++slot.n_places;
    return memory_.bytes(static_cast<std::uint32_t>(header.slot * n_readouts_ + readout)).first(length_bytes);
}

void BuilderUnit::on_mfp(std::uint16_t readout, const MessageHeader& header,
                         std::span<const std::byte> bytes) noexcept {
    if (bytes.empty()) {  // without payload place() was not called
        note_number(readout, header.sequence);
        return count(readout, BuilderCounter::mfps_malformed);
    }
    Slot& slot = slots_[header.slot];  // place() has checked this header
    Part& mine = part(header.slot, readout);
    ANELLO_ASSERT(slot.use == header.use && slot.mep == header.mep && slot.n_places > 0);
    --slot.n_places;
    if (mine == Part::abandoned) {
        mine = Part::missing;
        count(readout, BuilderCounter::mfps_late);
        return try_free(header.slot);
    }
    ANELLO_ASSERT(mine == Part::arriving);
    mine = Part::awaited;
    wire::mfp::PacketView view;
    const wire::Verdict verdict = check(readout, slot, bytes, view);
    if (verdict != wire::Verdict::ok) {
        miss(header.slot, readout, BuilderCounter::sources_spoilt);
        return close_if_whole(header.slot);
    }
    mine = Part::arrived;
    --slot.n_awaited;
    mfp(header.slot, readout) = bytes;
    count(readout, BuilderCounter::mfps_received);
    counters_.add(BuilderCounter::bytes_received, bytes.size());
    const Nanoseconds ready_ns = view.header.ready_ns;  // another node's clock; stamps before 1970 are invalid
    if (ready_ns > 0 && (slot.ready_ns == 0 || ready_ns < slot.ready_ns)) slot.ready_ns = ready_ns;
    verify_share(view, slot.mep);
    close_if_whole(header.slot);
}

void BuilderUnit::on_lost(std::uint16_t readout, const MessageHeader& header) noexcept {
    Slot& slot = slots_[header.slot];  // place() has checked this header
    Part& mine = part(header.slot, readout);
    ANELLO_ASSERT(slot.use == header.use && slot.n_places > 0);
    --slot.n_places;
    count(readout, BuilderCounter::mfps_cut);
    const bool is_awaited = mine == Part::arriving;
    mine = is_awaited ? Part::awaited : Part::missing;
    if (is_awaited) miss(header.slot, readout, BuilderCounter::sources_spoilt);
    close_if_whole(header.slot);
    try_free(header.slot);
}

/// Checks an MFP that was received whole, and counts what is wrong with it.
wire::Verdict BuilderUnit::check(std::uint16_t readout, const Slot& slot, std::span<const std::byte> bytes,
                                 wire::mfp::PacketView& view) noexcept {
    const wire::Verdict verdict = wire::mfp::parse(bytes, view);
    verdicts_.add(verdict);
    if (verdict != wire::Verdict::ok) {
        count(readout, BuilderCounter::mfps_malformed);
        return verdict;
    }
    const wire::mfp::Header& header = view.header;
    if (header.source_id == readout && header.run_id == config_.run_id && header.n_fragments == config_.packing &&
        header.first_event == slot.mep * config_.packing)
        return verdict;
    count(readout, BuilderCounter::mfps_wrong);
    return wire::Verdict::unknown_source;
}

/// PERF NOTE: checks neighbouring fragments, from a varying start: to find a fragment, all sizes before it are summed.
void BuilderUnit::verify_share(const wire::mfp::PacketView& view, std::uint64_t mep) noexcept {
    const std::size_t n_fragments = view.header.n_fragments;
    verify_due_ += config_.verify_share * static_cast<double>(n_fragments);
    const auto n = std::min(static_cast<std::size_t>(verify_due_), n_fragments);
    if (n == 0) return;
    verify_due_ -= static_cast<double>(n);
    const std::uint64_t chance = source::mix64(mep * n_readouts_ + view.header.source_id);
    wire::mfp::FragmentReader reader(view, chance % (n_fragments - n + 1));
    std::span<const std::byte> fragment;
    for (std::size_t i = 0; i < n && reader.next(fragment); ++i)
        counters_.add(reader.verify() == wire::Verdict::ok ? BuilderCounter::fragments_ok
                                                           : BuilderCounter::fragments_wrong_checksum);
    counters_.add(BuilderCounter::fragments_verified, n);
}

void BuilderUnit::on_absent(std::uint16_t readout, const MessageHeader& header) noexcept {
    if (!knows(header) || is_before(header.use, slots_[header.slot].use)) return;
    Slot& slot = slots_[header.slot];
    if (slot.state == Slot::State::free) open(header.slot, header.mep);
    Part& mine = part(header.slot, readout);
    if (slot.mep != header.mep || slot.state != Slot::State::open) return;
    if (mine == Part::not_expected) {
        mine = Part::awaited;
        ++slot.n_awaited;
    }
    if (mine != Part::awaited) return;
    if (slot.begun_ns == 0) begin(slot.mep);
    miss(header.slot, readout, BuilderCounter::sources_absent);
    close_if_whole(header.slot);
}

void BuilderUnit::on_assigned(const Assignment& assignment) noexcept {
    if (assignment.slot >= slots_.size() || slots_[assignment.slot].use != assignment.use) return;
    Slot& slot = slots_[assignment.slot];
    if (slot.state == Slot::State::free) open(assignment.slot, assignment.mep);
    if (slot.state != Slot::State::open || slot.is_assigned || slot.mep != assignment.mep) return;
    slot.is_assigned = true;
    expect(assignment.slot);  // applies the manager's changes of live nodes that arrived before this assignment
    if (config_.protocol == Protocol::pull) to_request_.try_push(assignment);  // each slot is in there once at most
    close_if_whole(assignment.slot);
}

void BuilderUnit::open(std::uint32_t slot, std::uint64_t mep) noexcept {
    slots_[slot] = {.state = Slot::State::open, .is_assigned = is_left_alone_, .mep = mep, .use = slots_[slot].use};
    if (may_lose_ || is_left_alone_ || !config_.waits_for_data)
        begin(mep);  // the first part may have been sent and lost
    if (n_used_ == 0) heard_ns_ = clock_.monotonic_ns();
    next_deadline_ns_ = std::min(next_deadline_ns_, silent_until_ns());
    counters_.set(BuilderCounter::slots_used, ++n_used_);
    counters_.add(BuilderCounter::meps_opened);
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        part(slot, readout) = Part::not_expected;
        mfp(slot, readout) = {};
    }
    expect(slot);
}

/// Starts the time-out of all MEPs up to this one, as sources send in the order of MEPs. MEPs that are assigned before
/// there are data wait for them.
void BuilderUnit::begin(std::uint64_t mep) noexcept {
    const Nanoseconds now_ns = heard_ns_ = clock_.monotonic_ns();
    for (Slot& slot : slots_) {
        if (slot.state != Slot::State::open || slot.begun_ns != 0 || slot.mep > mep) continue;
        slot.begun_ns = now_ns;
        slot.deadline_ns = now_ns + config_.timeout_ns;
        next_deadline_ns_ = std::min(next_deadline_ns_, slot.deadline_ns);
    }
}

Nanoseconds BuilderUnit::silent_until_ns() const noexcept {
    return heard_ns_ + silent_timeouts * config_.timeout_ns;
}

void BuilderUnit::expect(std::uint32_t slot) noexcept {
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        if (part(slot, readout) != Part::not_expected || !awaits(readout, slots_[slot].mep)) continue;
        part(slot, readout) = Part::awaited;
        ++slots_[slot].n_awaited;
        if (!readouts_[readout].is_up) miss(slot, readout, BuilderCounter::sources_gone);
    }
}

/// Marks an awaited or arriving MFP as missing for the time when its MEP is passed on.
void BuilderUnit::miss(std::uint32_t slot, std::size_t readout, BuilderCounter why) noexcept {
    Part& mine = part(slot, readout);
    ANELLO_ASSERT(mine == Part::awaited || mine == Part::arriving);
    mine = mine == Part::awaited ? Part::missing : Part::abandoned;
    --slots_[slot].n_awaited;
    ++slots_[slot].n_missing;
    counters_.add(BuilderCounter::sources_missing);
    counters_.add(why);
}

void BuilderUnit::on_readout(std::uint16_t readout, bool is_live, std::uint64_t first_mep) noexcept {
    Readout& known = readouts_[readout];
    const bool died = known.is_live && !is_live;
    known.is_live = is_live;
    known.first_mep = first_mep;
    if (died) write_off(known);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != Slot::State::open || awaits(readout, slots_[slot].mep)) continue;
        const Part mine = part(slot, readout);
        if (mine == Part::awaited || mine == Part::arriving) miss(slot, readout, BuilderCounter::sources_gone);
        close_if_whole(slot);
    }
}

/// The connection is lost, and with it the count of messages that came over it.
void BuilderUnit::write_off(Readout& readout) noexcept {
    counters_.add(BuilderCounter::taken_from_dead_readout, readout.n_taken);
    readout.n_taken = 0;
}

void BuilderUnit::on_connection(std::uint16_t readout, bool is_up) noexcept {
    if (is_up && !readouts_[readout].is_up) readouts_[readout].arrivals.reset();
    readouts_[readout].is_up = is_up;
    if (is_up) return;
    write_off(readouts_[readout]);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state == Slot::State::free) continue;
        Part& mine = part(slot, readout);
        // the builder owns the place again
        if (mine == Part::arriving || mine == Part::abandoned) --slots_[slot].n_places;
        if (mine == Part::abandoned) mine = Part::missing;
        if (mine == Part::arriving) mine = Part::awaited;
        if (mine == Part::awaited && slots_[slot].state == Slot::State::open)
            miss(slot, readout, BuilderCounter::sources_gone);
        close_if_whole(slot);
        try_free(slot);
    }
}

void BuilderUnit::close_if_whole(std::uint32_t slot) noexcept {
    const Slot& seen = slots_[slot];
    if (seen.state == Slot::State::open && seen.is_assigned && seen.n_awaited == 0) close(slot);
}

/// An MEP is complete only with all readout units of the run: one that is gone, or not there yet, is missing, too.
void BuilderUnit::miss_gone(std::uint32_t slot) noexcept {
    for (std::size_t readout = 0; readout < n_readouts_; ++readout) {
        if (part(slot, readout) != Part::not_expected) continue;
        part(slot, readout) = Part::missing;
        ++slots_[slot].n_missing;
        counters_.add(BuilderCounter::sources_missing);
        counters_.add(BuilderCounter::sources_gone);
    }
}

void BuilderUnit::close(std::uint32_t slot) noexcept {
    Slot& closed = slots_[slot];
    closed.state = Slot::State::ready;
    miss_gone(slot);
    const Nanoseconds now_ns = clock_.wall_ns();
    if (closed.ready_ns != 0) ready_to_built_.record(now_ns, now_ns - closed.ready_ns);
    if (closed.begun_ns != 0) first_to_built_.record(now_ns, clock_.monotonic_ns() - closed.begun_ns);
    ready_.try_push(slot);  // has room for all slots
}

void BuilderUnit::close_overdue(Nanoseconds now_ns) noexcept {
    if (now_ns < next_deadline_ns_) return;
    if (n_used_ > 0 && now_ns >= silent_until_ns()) begin(std::numeric_limits<std::uint64_t>::max());
    next_deadline_ns_ = never_ns;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != Slot::State::open) continue;
        const Nanoseconds until_ns = slots_[slot].begun_ns != 0 ? slots_[slot].deadline_ns : silent_until_ns();
        if (now_ns < until_ns) {
            next_deadline_ns_ = std::min(next_deadline_ns_, until_ns);
            continue;
        }
        for (std::size_t readout = 0; readout < n_readouts_; ++readout)
            if (part(slot, readout) == Part::awaited || part(slot, readout) == Part::arriving)
                miss(slot, readout, BuilderCounter::sources_timed_out);
        counters_.add(BuilderCounter::meps_timed_out);
        close(slot);
    }
}

/// Called when the next stage has taken it: an MEP that is closed and finds no room until the end counts as not built.
void BuilderUnit::count_handed_on(std::uint32_t slot) noexcept {
    const Slot& given = slots_[slot];
    counters_.add(given.n_missing == 0 ? BuilderCounter::meps_complete : BuilderCounter::meps_incomplete);
    counters_.add(BuilderCounter::events_built, config_.packing);
    for (std::size_t readout = 0; readout < n_readouts_; ++readout)
        counters_.add(BuilderCounter::bytes_built, mfp(slot, readout).size());
    handed_on_[slot] = {given.mep, static_cast<std::uint16_t>(given.n_missing), true};
    const std::size_t n_lately = handed_on_.size() - slots_.size();
    if (n_lately > 0) handed_on_[slots_.size() + n_handed_on_++ % n_lately] = handed_on_[slot];
}

void BuilderUnit::hand_on(std::uint32_t slot) noexcept {
    Slot& given = slots_[slot];
    const MepView view{.mep = given.mep,
                       .first_event = given.mep * config_.packing,
                       .n_events = config_.packing,
                       .slot = slot,
                       .n_missing = given.n_missing,
                       .built_ns = clock_.wall_ns(),
                       .mfps = std::span(mfps_).subspan(slot * n_readouts_, n_readouts_)};
    if (!sink_.try_take(view)) return counters_.add(BuilderCounter::waits_for_sink);
    given.state = Slot::State::with_sink;
    ++n_with_sink_;
    count_handed_on(slot);
    ready_.pop();
}

std::size_t BuilderUnit::take_back() noexcept {
    std::size_t n_back = 0;
    for (std::uint32_t slot = 0; n_back < slots_.size() && sink_.try_give_back(slot); ++n_back) {
        slots_[slot].state = Slot::State::over;
        --n_with_sink_;
        try_free(slot);
    }
    return n_back;
}

/// Frees a slot once the next stage has returned it and no transport can write into it any more.
void BuilderUnit::try_free(std::uint32_t slot) noexcept {
    Slot& over = slots_[slot];
    if (over.state != Slot::State::over || over.n_places > 0) return;
    over.state = Slot::State::free;
    counters_.set(BuilderCounter::slots_used, --n_used_);
    ++(over.n_missing == 0 ? reported_.n_complete : reported_.n_incomplete);
    to_offer_.try_push({.mep = over.mep,
                        .use = ++over.use,
                        .slot = static_cast<std::uint16_t>(slot),
                        .n_missing = static_cast<std::uint16_t>(over.n_missing)});
}

/// Notes slots and totals for the standby: they include all credits that were not yet sent. The lost manager may have
/// assigned free slots without this unit's knowledge: such data will find no place.
void BuilderUnit::begin_to_follow() noexcept {
    is_offering_ = false;
    while (!to_offer_.empty()) to_offer_.pop();
    noted_totals_ = reported_;
    noted_.clear();
    for (std::uint16_t i = 0; i < slots_.size(); ++i) {
        Slot& slot = slots_[i];
        if (slot.state == Slot::State::free) ++slot.use;
        const std::uint64_t mep = slot.state == Slot::State::free ? free_slot : slot.mep;
        noted_.push_back({mep, slot.use, i, config_.farm.builder_of[config_.self]});
    }
    for (const HandedOn& one : handed_on_)
        if (one.is_known) noted_.push_back({one.mep, 0, built_lately, config_.farm.builder_of[config_.self]});
}

void BuilderUnit::follow(Node manager) noexcept {
    manager_ = manager;
    is_offering_ = true;
}

void BuilderUnit::on_manager_gone() noexcept {
    is_left_alone_ = true;
    begin(std::numeric_limits<std::uint64_t>::max());
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != Slot::State::open) continue;
        slots_[slot].is_assigned = true;  // data arrived, so the readout units know of an assignment
        close_if_whole(slot);
    }
}

void BuilderUnit::settle() noexcept {
    if (std::exchange(is_settled_, true)) return;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) settle(slot);
    for (Readout& readout : readouts_) {
        const std::uint64_t n_open = readout.arrivals.give_up_open();
        if (!readout.is_up) continue;  // write_off() counted it
        counters_.add(BuilderCounter::mfps_never_came, n_open);
        readout.n_taken += n_open;
    }
}

/// An MFP with a place has a number, and so needs an outcome: the rest of its bytes arrives too late for this node.
void BuilderUnit::settle(std::uint32_t slot) noexcept {
    const Slot& left = slots_[slot];
    if (left.state == Slot::State::free) return;
    if (left.state == Slot::State::open || left.state == Slot::State::ready) counters_.add(BuilderCounter::meps_left);
    for (std::uint16_t readout = 0; readout < n_readouts_; ++readout) {
        const Part mine = part(slot, readout);
        if (mine == Part::arriving || mine == Part::abandoned) count(readout, BuilderCounter::mfps_cut);
    }
}

void BuilderUnit::offer_all() noexcept {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot)
        if (slots_[slot].state == Slot::State::free)
            to_offer_.try_push({.use = slots_[slot].use, .slot = static_cast<std::uint16_t>(slot)});
}

void BuilderUnit::offer() noexcept {
    if (to_offer_.empty() || !is_offering_) return;
    const Outbox::Message message = outbox_.try_open(MessageType::credit);
    if (message == Outbox::none) return;
    while (!to_offer_.empty() && outbox_.try_add(message, to_offer_.front())) to_offer_.pop();
    outbox_.post(message, manager_);
    outbox_.close(message);
}

void BuilderUnit::request() noexcept {
    if (to_request_.empty()) return;
    const Outbox::Message message = outbox_.try_open(MessageType::request);
    if (message == Outbox::none) return;
    while (!to_request_.empty() && outbox_.try_add(message, to_request_.front())) to_request_.pop();
    for (std::size_t readout = 0; readout < n_readouts_; ++readout)
        if (readouts_[readout].is_live && readouts_[readout].is_up)
            outbox_.post(message, config_.farm.readouts[readout]);
    outbox_.close(message);
}

std::size_t BuilderUnit::do_work(Nanoseconds now_ns) noexcept {
    close_overdue(now_ns);
    request();
    std::size_t n_done = 0;
    for (std::size_t n_left = ready_.size(); n_left > 0; --n_left) {
        const std::size_t before = ready_.size();
        hand_on(ready_.front());
        if (ready_.size() == before) break;
        ++n_done;
    }
    n_done += take_back();
    next_look_ns_ = n_with_sink_ > 0 || !ready_.empty() ? now_ns + usual_wait_ns : never_ns;
    offer();
    return n_done;
}

}  // namespace anello::exchange
