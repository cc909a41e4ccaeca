// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/numbers/source_binding.hpp"

namespace anello::receive {

/// The accepted source of a board (source_binding.hpp). One thread writes.
class BoardSource {
  public:
    enum class Heard : std::uint8_t {
        own,         ///< from the accepted source, or malformed while there is none
        first,       ///< from the first source
        moved,       ///< from the accepted source, now at another address
        taken_over,  ///< from the new source, and the data of the former one was not the board's
        stranger,
    };

    void expect(SourceAddress expected) noexcept { watch_.expect(expected); }

    // Hot path, both: no allocation, no lock, no log, no throw. read_until_ns of ReadTimes is from before the read.
    /// Call it before a datagram is parsed: false for a stranger's datagram, whatever it contains.
    bool may_speak(SourceAddress source, Nanoseconds read_until_ns) noexcept {
        return binding_.is_bound_to(source) || watch_.may_speak(binding_, source, read_until_ns - last_accepted_ns_);
    }
    /// Judges a datagram that names this board, received now; the whole datagram is valid, or not.
    Heard hear(SourceAddress source, Nanoseconds now_ns, Nanoseconds read_until_ns, bool is_valid = true) noexcept {
        Heard heard = Heard::own;
        if (!binding_.is_bound_to(source)) [[unlikely]] {
            heard = judge(source, is_valid, read_until_ns - last_accepted_ns_);
            if (heard == Heard::stranger) return heard;
        }
        binding_.note_accepted();
        last_accepted_ns_ = now_ns;
        return heard;
    }
    /// After a change of source: number of datagrams of the new source that were counted as a stranger's. Returned
    /// once.
    std::uint64_t take_mistaken() noexcept { return watch_.take_mistaken(); }

    Speakers speakers() const noexcept { return Speakers::of(binding_, watch_); }  ///< Any thread.

  private:
    Heard judge(SourceAddress source, bool is_valid, Nanoseconds heard_ago_ns) noexcept {
        const SourceAddress before = binding_.source();
        const auto judgement = watch_.judge(binding_, source, is_valid, heard_ago_ns);
        if (judgement == SourceWatch::Judgement::stranger) return Heard::stranger;
        if (judgement == SourceWatch::Judgement::taken_over) return Heard::taken_over;
        if (binding_.source() == before) return Heard::own;
        return before == SourceAddress{} ? Heard::first : Heard::moved;
    }

    SourceBinding binding_;
    SourceWatch watch_;
    Nanoseconds last_accepted_ns_ = 0;
};

}  // namespace anello::receive
