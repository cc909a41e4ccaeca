// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/mfp_senders.hpp"

namespace anello::exchange {

void MfpSenders::note_number(std::uint16_t readout, std::uint32_t number) noexcept {
    Readout& sender = readouts_[readout];
    const Arrivals::Taken taken = sender.arrivals.take(number);
    if (!taken.is_new) {
        counters_.add(BuilderCounter::mfps_repeated);
        --sender.n_taken;  // counting its outcome adds one again
    }
    counters_.add(BuilderCounter::mfps_never_came, taken.n_given_up);
    sender.n_taken += taken.n_given_up;
}

void MfpSenders::set_live(std::uint16_t readout, bool is_live, std::uint64_t first_mep) noexcept {
    Readout& known = readouts_[readout];
    const bool died = known.is_live && !is_live;
    known.is_live = is_live;
    known.first_mep = first_mep;
    if (died) write_off(known);
}

void MfpSenders::set_connected(std::uint16_t readout, bool is_up) noexcept {
    if (is_up && !readouts_[readout].is_up) readouts_[readout].arrivals.reset();
    readouts_[readout].is_up = is_up;
    if (!is_up) write_off(readouts_[readout]);
}

/// The connection is lost, and with it the count of messages that arrived over it.
void MfpSenders::write_off(Readout& readout) noexcept {
    counters_.add(BuilderCounter::taken_from_dead_readout, readout.n_taken);
    readout.n_taken = 0;
}

void MfpSenders::settle() noexcept {
    for (Readout& readout : readouts_) {
        const std::uint64_t n_open = readout.arrivals.give_up_open();
        if (!readout.is_up) continue;  // write_off() counted it
        counters_.add(BuilderCounter::mfps_never_came, n_open);
        readout.n_taken += n_open;
    }
}

}  // namespace anello::exchange
