// SPDX-License-Identifier: Apache-2.0
#include "receive/datagrams/read_times.hpp"

#include <algorithm>

namespace anello::receive {

ReadTimes::ReadTimes(const Backend& backend, const Clock& clock)
    : backend_(backend),
      clock_(clock),
      streams_(backend.n_streams(), Stream{clock.monotonic_ns()}),
      all_until_ns_(clock.monotonic_ns()),
      began_ns_(all_until_ns_) {}

void ReadTimes::begin(Nanoseconds now_ns) noexcept {
    if (now_ns - began_ns_ > longest_gap_ns) settled_ns_ = now_ns + settling_ns;
    began_ns_ = now_ns;
}

void ReadTimes::end() noexcept {
    Nanoseconds wall_ns = 0;
    all_until_ns_ = began_ns_;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        streams_[i].until_ns = std::max(streams_[i].until_ns, read_until(i, wall_ns));
        all_until_ns_ = std::min(all_until_ns_, streams_[i].until_ns);
    }
}

/// A lower bound. Reads the wall clock only if a stream was not read to its end.
Nanoseconds ReadTimes::read_until(std::size_t stream, Nanoseconds& wall_ns) const noexcept {
    const bool is_empty = backend_.is_read(static_cast<std::uint16_t>(stream));
    if (is_empty && began_ns_ >= settled_ns_) return began_ns_ - backend_.held_back_ns();
    const Nanoseconds stamp_ns = streams_[stream].stamp_ns;
    if (is_empty || stamp_ns == 0) return began_ns_ - longest_backlog_ns;
    if (wall_ns == 0) wall_ns = clock_.wall_ns();
    if (wall_ns < stamp_ns) return began_ns_ - longest_backlog_ns;  // the wall clock was set back
    return began_ns_ - (wall_ns - stamp_ns) - backend_.held_back_ns();
}

}  // namespace anello::receive
