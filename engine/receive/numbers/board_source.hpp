// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/numbers/source_binding.hpp"

namespace anello::receive {

/// The accepted source of a board (source_binding.hpp), for formats whose datagrams are used one by one. One thread
/// writes.
class BoardSource {
  public:
    enum class Heard : std::uint8_t {
        its,         ///< from the accepted source
        moved,       ///< from the accepted source, now at another address
        taken_over,  ///< from the new source, and the data of the former one was not the board's
        strangers,
    };

    void expect(SourceAddress expected) noexcept { watch_.expect(expected); }
    /// Judges a valid datagram that names this board, received now; read_until_ns of ReadTimes is from before the read.
    /// Hot path: no allocation, no lock, no log, no throw.
    Heard hear(SourceAddress source, Nanoseconds now_ns, Nanoseconds read_until_ns) noexcept {
        Heard heard = Heard::its;
        if (!binding_.is_bound_to(source)) [[unlikely]] {
            const bool was_bound = !(binding_.source() == SourceAddress{});
            const auto judgement = watch_.judge(binding_, source, true, read_until_ns - last_accepted_ns_);
            if (judgement == SourceWatch::Judgement::stranger) return Heard::strangers;
            heard = judgement == SourceWatch::Judgement::taken_over ? Heard::taken_over
                    : was_bound                                     ? Heard::moved
                                                                    : Heard::its;
        }
        binding_.note_accepted();
        last_accepted_ns_ = now_ns;
        return heard;
    }

    Speakers speakers() const noexcept { return Speakers::of(binding_, watch_); }  ///< Any thread.

  private:
    SourceBinding binding_;
    SourceWatch watch_;
    Nanoseconds last_accepted_ns_ = 0;
};

}  // namespace anello::receive
