// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "receive/datagrams/backend.hpp"

namespace anello::receive {

/// Until when all that came in has been read, stream by stream, on the monotonic clock. Time-outs go by it: a board is
/// silent only when its input was seen empty that long. What waits unread, because this process was stopped or is
/// behind, is no silence.
///
/// A stream that was read until it was empty has been read until that read began. One that was not, until the kernel
/// received the datagram that was read last: a flood delays time-outs by the length of its queue and no more. Where
/// there are no such stamps, longest_backlog_ns is taken for that length.
///
/// After longest_gap_ns without a read this process was stopped, or the whole machine, and senders with it: what an
/// empty stream says counts again after settling_ns, in which they go on. One thread, that of the backend.
/// Reasons: docs/decisions/0017-silence.md.
class ReadTimes {
  public:
    static constexpr Nanoseconds longest_gap_ns = 20'000'000;  ///< threads that read wait for half of that
    static constexpr Nanoseconds settling_ns = 10'000'000, longest_backlog_ns = 2'000'000'000;

    ReadTimes(const Backend& backend, const Clock& clock);  ///< Both must outlive it.

    // Hot path, all: no allocation, no lock, no log, no throw.
    void begin(Nanoseconds now_ns) noexcept;  ///< Before each read.
    void see(std::span<const Datagram> datagrams) noexcept {
        for (const Datagram& datagram : datagrams) streams_[datagram.stream].stamp_ns = datagram.kernel_ns;
    }
    void end() noexcept;  ///< After it, when the user has all that it lent.

    Nanoseconds until_ns(std::size_t stream) const noexcept { return streams_[stream].until_ns; }
    Nanoseconds until_ns() const noexcept { return all_until_ns_; }  ///< Of all streams.

  private:
    struct Stream {
        Nanoseconds until_ns;
        Nanoseconds stamp_ns = 0;  ///< the kernel's, wall clock, of the datagram that was read last; 0: none
    };
    Nanoseconds read_until(std::size_t stream, Nanoseconds& wall_ns) const noexcept;

    const Backend& backend_;
    const Clock& clock_;
    std::vector<Stream> streams_;
    Nanoseconds all_until_ns_, began_ns_, settled_ns_ = 0;
};

}  // namespace anello::receive
