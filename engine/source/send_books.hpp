// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/counters/counters.hpp"
#include "source/sent_log.hpp"
#include "source/sinks/packet_sink.hpp"
#include "source/source_counters.hpp"

namespace anello::source {

/// Counts the outcome of a datagram that was given to the network. Hot path: no allocation, no lock, no log, no
/// throw.
inline void count_result(Counters<SourceCounter>& count, SentLog& log, const OutgoingDatagram& datagram,
                         SendResult result) noexcept {
    if (result == SendResult::sent) {
        count.add(SourceCounter::datagrams_sent);
        count.add(SourceCounter::bytes_sent, datagram.bytes.size());
        return;
    }
    count.add(SourceCounter::packets_not_sent, datagram.n_fragments > 0 ? 1 : 0);
    count.add(SourceCounter::fragments_not_sent, datagram.n_fragments);
    log.withhold(datagram.epoch, datagram.first_number, datagram.first_number + datagram.n_numbers,
                 Withheld::refused_by_system);
    if (result == SendResult::refused) count.add(SourceCounter::send_refused);
    if (result == SendResult::no_buffers) count.add(SourceCounter::send_no_buffers);
    if (result == SendResult::failed) count.add(SourceCounter::send_failed);
}

}  // namespace anello::source
