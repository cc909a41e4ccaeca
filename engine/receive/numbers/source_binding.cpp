// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/source_binding.hpp"

#include <fmt/format.h>

#include <utility>

namespace anello::receive {

// Hot path: no allocation, no lock, no log, no throw.
SourceWatch::Judgement SourceWatch::judge(SourceBinding& binding, SourceAddress source, bool is_right,
                                          Nanoseconds heard_ago_ns) noexcept {
    if (!may_speak(binding, source, heard_ago_ns)) return Judgement::stranger;
    const SourceAddress bound = binding.source();
    if (bound == SourceAddress{} && !is_right) return Judgement::used;  // a malformed datagram binds no source
    const bool is_free = bound == SourceAddress{} || is_back(binding, source, heard_ago_ns);
    const bool was_heard = !is_free && binding.n_heard_ > 0;
    if (is_right && (is_free || wins_trial(binding.n_heard_, source))) {
        binding.bind(source, is_free ? 0 : n_challenges_ - 1);  // note_accepted() counts the current datagram
        n_challenges_ = 0;
        note_bound(source);
        if (was_heard) disowned_.store(bound.value(), std::memory_order_relaxed);  // no other data depends on it
        return was_heard ? Judgement::taken_over : Judgement::used;
    }
    note_stranger(source);
    return Judgement::stranger;
}

bool SourceWatch::may_speak(const SourceBinding& binding, SourceAddress source, Nanoseconds heard_ago_ns) noexcept {
    const bool is_open = binding.source() == SourceAddress{} || binding.n_heard_ < SourceBinding::trial_datagrams;
    if (is_expected(source) && (is_open || is_back(binding, source, heard_ago_ns))) return true;
    note_stranger(source);
    return false;
}

void SourceWatch::note_stranger(SourceAddress source) noexcept {
    n_of_stranger_ = source == stranger() ? n_of_stranger_ + 1 : 1;
    stranger_.store(source.value(), std::memory_order_relaxed);  // no other data depends on it
}

/// The new source's earlier datagrams were counted as a stranger's by mistake.
void SourceWatch::note_bound(SourceAddress source) noexcept {
    if (!(source == stranger())) return;
    n_mistaken_ = std::exchange(n_of_stranger_, 0);
    stranger_.store(0, std::memory_order_relaxed);  // no other data depends on it
}

bool SourceWatch::is_back(const SourceBinding& binding, SourceAddress source, Nanoseconds heard_ago_ns) noexcept {
    return binding.source().is_same_host(source) && heard_ago_ns >= silence_ns;
}

bool SourceWatch::is_expected(SourceAddress source) const noexcept {
    return (!expected_.has_host() || expected_.is_same_host(source)) &&
           (expected_.port() == 0 || expected_.port() == source.port());
}

/// Among several challengers, the one that sends most wins (Boyer and Moore's majority vote).
bool SourceWatch::wins_trial(std::uint32_t n_heard, SourceAddress source) noexcept {
    if (n_challenges_ == 0) challenger_ = source;
    if (!(challenger_ == source)) {
        --n_challenges_;
        return false;
    }
    return ++n_challenges_ > n_heard;
}

void SpeakerNotices::look(std::uint32_t board, std::uint64_t n_strangers, const Speakers& speakers, Notices& notices) {
    const auto& [bound, stranger, disowned] = speakers;
    if (!(disowned == disowned_))
        notices.push_back(
            fmt::format("board {}: {} has sent more than {}, which sent first: it is the board now, and the data of {} "
                        "does not count; name the right address in receive.sources, so that no other can send first",
                        board, to_text(bound), to_text(disowned), to_text(disowned)));
    disowned_ = disowned;
    if (stranger == SourceAddress{} || stranger == bound || !strangers_.is_due(n_strangers)) return;
    if (bound == SourceAddress{})
        notices.push_back(
            fmt::format("board {}: datagrams come from {} ({} so far), which receive.sources does not name: they are "
                        "not used; correct it if this is the board",
                        board, to_text(stranger), n_strangers));
    else
        notices.push_back(
            fmt::format("board {}: datagrams also come from {} ({} so far): they are not used, as the board is {}; "
                        "name it in receive.sources if that is wrong",
                        board, to_text(stranger), n_strangers, to_text(bound)));
}

}  // namespace anello::receive
