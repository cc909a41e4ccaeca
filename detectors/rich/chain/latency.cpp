// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/latency.hpp"

namespace anello::rich {

LatencyRecorder::LatencyRecorder(CounterPage& page) {
    for (std::size_t leg = 0; leg < legs_.size(); ++leg) legs_[leg] = &page.add_leg(leg_names[leg]);
}

void LatencyRecorder::record(const DecisionBatch& batch, Nanoseconds emitted_ns) noexcept {
    now_ns_ = batch.decided_ns;
    // Events of one packet have the same stamps: a series of equal stamps is recorded once, with its length.
    for (std::uint32_t first = 0, event = 0; event < batch.n_events; first = event) {
        const Nanoseconds kernel = batch.kernel_ns[first], placed = batch.placed_ns[first];
        const Nanoseconds sent = batch.sent_ns[first];
        while (event < batch.n_events && batch.sent_ns[event] == sent && batch.kernel_ns[event] == kernel &&
               batch.placed_ns[event] == placed)
            ++event;
        const std::uint32_t n = event - first;
        record(Leg::kernel_to_placed, kernel, placed, n);
        record(Leg::placed_to_built, placed, batch.built_ns, n);
        record(Leg::built_to_decided, batch.built_ns, batch.decided_ns, n);
        record(Leg::decided_to_emitted, batch.decided_ns, emitted_ns, n);
        if (kernel == 0) continue;  // replayed from a file: the sender's stamp is of another day
        record(Leg::sent_to_kernel, sent, kernel, n);
        record(Leg::sent_to_decided, sent, batch.decided_ns, n);
        if (sent != 0) sent_to_decided_.record(batch.decided_ns, batch.decided_ns - sent, n);
        record(Leg::sent_to_emitted, sent, emitted_ns, n);
    }
    if (batch.burst_origin_ns != 0) record_from_event(batch, emitted_ns);
}

/// Records latencies from the time of the event itself, so with all delays in its front end. Events of an unpaced
/// source, which sends them before their time, and events from a file have no such latency.
void LatencyRecorder::record_from_event(const DecisionBatch& batch, Nanoseconds emitted_ns) noexcept {
    for (std::uint32_t event = 0; event < batch.n_events; ++event) {
        const Nanoseconds was_ns = event_ns(batch, event), sent_ns = batch.sent_ns[event];
        if (batch.kernel_ns[event] == 0 || sent_ns < was_ns) continue;
        record(Leg::event_to_sent, was_ns, sent_ns, 1);
        record(Leg::event_to_decided, was_ns, batch.decided_ns, 1);
        event_to_decided_.record(batch.decided_ns, batch.decided_ns - was_ns);
        record(Leg::event_to_emitted, was_ns, emitted_ns, 1);
    }
}

}  // namespace anello::rich
