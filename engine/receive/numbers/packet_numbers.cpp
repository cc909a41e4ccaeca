// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/packet_numbers.hpp"

namespace anello::receive {

Arrival PacketNumbers::take(std::uint32_t sequence, std::uint32_t step, std::uint32_t content) noexcept {
    Arrival arrival = tracker_.accept(sequence, step);
    const bool is_next = conflict_next_ == sequence;
    conflict_next_.reset();
    if (arrival == Arrival::stray) return arrival;
    if (arrival == Arrival::duplicate) {
        if (contents_.are_same(sequence, content)) return arrival;
        if (!is_next) {
            conflict_next_ = sequence + step;
            return Arrival::conflicting;
        }
        tracker_.restart();
        tracker_.accept(sequence, step);
        arrival = Arrival::restarted;
    }
    contents_.note(sequence, content);
    return arrival;
}

bool PacketNumbers::begins_series(std::uint32_t sequence, std::uint32_t content) const noexcept {
    const Arrival arrival = tracker_.preview(sequence);
    const bool is_another = arrival == Arrival::duplicate && !contents_.are_same(sequence, content);
    return arrival == Arrival::stray || is_another || (sequence == 0 && arrival != Arrival::late);
}

}  // namespace anello::receive
