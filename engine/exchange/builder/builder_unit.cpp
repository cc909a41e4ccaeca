// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/builder_unit.hpp"

#include <utility>

#include "core/assert.hpp"

namespace anello::exchange {

BuilderUnit::BuilderUnit(const ExchangeConfig& config, memory::Kind memory, bool may_lose, MepSink& sink,
                         Outbox& outbox, const Clock& clock, CounterPage& page)
    : config_(config),
      counters_(page.add_block<BuilderCounter>("builder")),
      senders_(config.farm.readouts.size(), counters_),
      // A restarted builder begins with other use numbers than before: data for its earlier uses then find no place.
      slots_(config, memory, static_cast<std::uint32_t>(clock.wall_ns() >> 10), counters_),
      timeouts_(config.timeout_ns, slots_, clock),
      check_(config, counters_, page),
      output_(config, slots_, sink, clock, counters_, page),
      credits_(config, outbox),
      requests_(config_, outbox),
      begins_when_opened_(may_lose || !config.waits_for_data) {}  // the first part may have been sent and lost

std::span<std::byte> BuilderUnit::place(std::uint16_t readout, const MessageHeader& header,
                                        std::size_t length_bytes) noexcept {
    senders_.note_number(readout, header.sequence);
    const auto refuse = [&](BuilderCounter cause) {
        senders_.count(readout, cause);
        return std::span<std::byte>{};
    };
    if (!slots_.knows(header) || length_bytes > config_.max_mfp_bytes) return refuse(BuilderCounter::mfps_unexpected);
    if (slots_.is_late(header)) return refuse(BuilderCounter::mfps_late);
    const MepSlots::Slot& slot = slots_[header.slot];
    if (slot.state == State::free) open(header.slot, header.mep);
    if (slot.mep != header.mep) return refuse(BuilderCounter::mfps_unexpected);
    const Part mine = slots_.part(header.slot, readout);
    if (mine == Part::arriving || mine == Part::arrived) return refuse(BuilderCounter::mfps_duplicate);
    if (slot.state != State::open || mine == Part::missing || mine == Part::abandoned)
        return refuse(BuilderCounter::mfps_late);
    timeouts_.begin_with(header.slot);
    return slots_.give_place(header.slot, readout, length_bytes);
}

void BuilderUnit::on_mfp(std::uint16_t readout, const MessageHeader& header,
                         std::span<const std::byte> bytes) noexcept {
    if (bytes.empty()) {  // without payload place() was not called
        senders_.note_number(readout, header.sequence);
        return senders_.count(readout, BuilderCounter::mfps_malformed);
    }
    const std::uint64_t mep = slots_[header.slot].mep;  // place() has checked this header
    ANELLO_ASSERT(slots_[header.slot].use == header.use && mep == header.mep);
    if (!slots_.take_place_back(header.slot, readout)) {
        senders_.count(readout, BuilderCounter::mfps_late);
        return try_free(header.slot);
    }
    wire::mfp::PacketView view;
    const BuilderCounter outcome = check_.outcome_of(readout, mep, bytes, view);
    senders_.count(readout, outcome);
    if (outcome != BuilderCounter::mfps_received) {
        slots_.miss(header.slot, readout, BuilderCounter::sources_spoilt);
        return close_if_whole(header.slot);
    }
    counters_.add(BuilderCounter::bytes_received, bytes.size());
    // Its time is of another node's clock; times before 1970 are invalid.
    slots_.fill(header.slot, readout, bytes, view.header.ready_ns);
    check_.verify_share(view, mep);
    close_if_whole(header.slot);
}

void BuilderUnit::on_lost(std::uint16_t readout, const MessageHeader& header) noexcept {
    ANELLO_ASSERT(slots_[header.slot].use == header.use);  // place() has checked this header
    senders_.count(readout, BuilderCounter::mfps_cut);
    if (slots_.take_place_back(header.slot, readout)) slots_.miss(header.slot, readout, BuilderCounter::sources_spoilt);
    close_if_whole(header.slot);
    try_free(header.slot);
}

void BuilderUnit::on_absent(std::uint16_t readout, const MessageHeader& header) noexcept {
    if (!slots_.knows(header) || slots_.is_late(header)) return;
    const MepSlots::Slot& slot = slots_[header.slot];
    if (slot.state == State::free) open(header.slot, header.mep);
    if (slot.mep != header.mep || slot.state != State::open) return;
    slots_.await(header.slot, readout);
    if (slots_.part(header.slot, readout) != Part::awaited) return;
    timeouts_.begin_with(header.slot);
    slots_.miss(header.slot, readout, BuilderCounter::sources_absent);
    close_if_whole(header.slot);
}

void BuilderUnit::on_assigned(const Assignment& assignment) noexcept {
    if (assignment.slot >= slots_.size() || slots_[assignment.slot].use != assignment.use) return;
    MepSlots::Slot& slot = slots_[assignment.slot];
    if (slot.state == State::free) open(assignment.slot, assignment.mep);
    if (slot.state != State::open || slot.is_assigned || slot.mep != assignment.mep) return;
    slot.is_assigned = true;
    // Applies the manager's changes of live nodes that arrived before this assignment.
    slots_.expect(assignment.slot, senders_);
    if (config_.protocol == Protocol::pull) requests_.add(assignment);
    close_if_whole(assignment.slot);
}

void BuilderUnit::open(std::uint32_t slot, std::uint64_t mep) noexcept {
    slots_.open(slot, mep, is_left_alone_);
    if (begins_when_opened_) timeouts_.begin(mep);
    timeouts_.note_open();
    slots_.expect(slot, senders_);
}

void BuilderUnit::on_readout(std::uint16_t readout, bool is_live, std::uint64_t first_mep) noexcept {
    senders_.set_live(readout, is_live, first_mep);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != State::open || senders_.reads_out(readout, slots_[slot].mep)) continue;
        slots_.miss_if_awaited(slot, readout, BuilderCounter::sources_gone);
        close_if_whole(slot);
    }
}

void BuilderUnit::on_connection(std::uint16_t readout, bool is_up) noexcept {
    senders_.set_connected(readout, is_up);
    if (is_up) return;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state == State::free) continue;
        slots_.cut(slot, readout);
        close_if_whole(slot);
        try_free(slot);
    }
}

void BuilderUnit::close(std::uint32_t slot) noexcept {
    slots_.close(slot);
    output_.add(slot);
}

/// Closes a slot at its time-out, without the parts that are still awaited.
void BuilderUnit::give_up(std::uint32_t slot) noexcept {
    for (std::size_t readout = 0; readout < slots_.n_readouts(); ++readout)
        slots_.miss_if_awaited(slot, readout, BuilderCounter::sources_timed_out);
    counters_.add(BuilderCounter::meps_timed_out);
    close(slot);
}

void BuilderUnit::try_free(std::uint32_t slot) noexcept {
    if (slots_.try_free(slot)) credits_.add(slot, slots_[slot]);
}

std::size_t BuilderUnit::take_back() noexcept {
    std::size_t n_back = 0;
    for (std::uint32_t slot = 0; n_back < slots_.size() && output_.try_take_back(slot); ++n_back) try_free(slot);
    return n_back;
}

void BuilderUnit::on_manager_gone() noexcept {
    is_left_alone_ = begins_when_opened_ = true;
    timeouts_.begin_all();
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].state != State::open) continue;
        slots_[slot].is_assigned = true;  // data arrived, so the readout units know of an assignment
        close_if_whole(slot);
    }
}

void BuilderUnit::settle() noexcept {
    if (std::exchange(is_settled_, true)) return;
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) settle(slot);
    senders_.settle();
}

/// An MFP with a place has a number, and so needs an outcome: the rest of its bytes arrives too late for this node.
void BuilderUnit::settle(std::uint32_t slot) noexcept {
    const State state = slots_[slot].state;
    if (state == State::free) return;
    if (state == State::open || state == State::ready) counters_.add(BuilderCounter::meps_left);
    for (std::uint16_t readout = 0; readout < slots_.n_readouts(); ++readout) {
        const Part mine = slots_.part(slot, readout);
        if (mine == Part::arriving || mine == Part::abandoned) senders_.count(readout, BuilderCounter::mfps_cut);
    }
}

std::size_t BuilderUnit::do_work(Nanoseconds now_ns) noexcept {
    timeouts_.for_each_overdue(now_ns, [this](std::uint32_t slot) { give_up(slot); });
    requests_.send(senders_);
    std::size_t n_done = output_.pass_on();
    n_done += take_back();
    next_look_ns_ = output_.next_look_ns(now_ns);
    credits_.send();
    return n_done;
}

}  // namespace anello::exchange
