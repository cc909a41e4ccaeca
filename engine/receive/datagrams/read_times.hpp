// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "receive/datagrams/backend.hpp"

namespace anello::receive {

/// For each stream, the monotonic time until which all its datagrams have been read. Time-outs are based on it: a board
/// counts as silent only if its input was seen empty for that long. Datagrams that wait unread, because this process
/// was stopped or is late, are not silence.
///
/// A stream that was read until it was empty has been read until the start of that read. Otherwise it has been read
/// until the kernel's receive stamp of its last datagram, so a flood delays time-outs only by the length of its queue.
/// Without such stamps that length is assumed to be longest_backlog_ns.
///
/// After longest_gap_ns without a read, this process or the whole machine (with the senders on it) was stopped. An
/// empty stream then counts only after settling_ns, in which the senders continue. Used by the backend's thread only.
/// Reasons: docs/decisions/0017-silence.md.
class ReadTimes {
  public:
    static constexpr Nanoseconds longest_gap_ns = 20'000'000;  ///< reading threads wait for half of it
    static constexpr Nanoseconds settling_ns = 10'000'000, longest_backlog_ns = 2'000'000'000;

    ReadTimes(const Backend& backend, const Clock& clock);  ///< Both must outlive it.

    // All are hot path: no allocation, no lock, no log, no throw.
    void begin(Nanoseconds now_ns) noexcept;  ///< Call it before each read.
    void see(std::span<const Datagram> datagrams) noexcept {
        for (const Datagram& datagram : datagrams) streams_[datagram.stream].stamp_ns = datagram.kernel_ns;
    }
    void end() noexcept;  ///< Call it after the read, when the user has all lent datagrams.

    Nanoseconds until_ns(std::size_t stream) const noexcept { return streams_[stream].until_ns; }
    Nanoseconds until_ns() const noexcept { return all_until_ns_; }  ///< Minimum over all streams.

  private:
    struct Stream {
        Nanoseconds until_ns;
        Nanoseconds stamp_ns = 0;  ///< the kernel's stamp (wall clock) of the last datagram read; 0: none
    };
    Nanoseconds read_until(std::size_t stream, Nanoseconds& wall_ns) const noexcept;

    const Backend& backend_;
    const Clock& clock_;
    std::vector<Stream> streams_;
    Nanoseconds all_until_ns_, began_ns_, settled_ns_ = 0;
};

}  // namespace anello::receive
