// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/silence_watch.hpp"

#include <algorithm>

/// Hot path: no allocation, no lock, no log, no throw.
namespace anello::camera {

void SilenceWatch::note_due(Nanoseconds now_ns) noexcept {
    constexpr Nanoseconds longest_interval_ns = 250'000'000, weight = 8;
    mean_interval_ns_ += (std::min(now_ns - due_ns_, longest_interval_ns) - mean_interval_ns_) / weight;
    due_ns_ = now_ns;
}

Nanoseconds SilenceWatch::patience_ns() const noexcept {
    constexpr Nanoseconds n_intervals = 8, at_most_ns = 2'000'000'000;
    return timeout_ns_ + std::min(n_intervals * mean_interval_ns_, at_most_ns);
}

void SilenceWatch::note_waiting(const CameraWindow::Place& place) noexcept {
    for (std::uint32_t i = 0; i < boards_.count(); ++i) {
        CameraBoard& board = boards_[i];
        if (place.present->contains(boards_.number_of(i)) || !board.is_waited_for(place.number)) continue;
        if (board.waited_since_ns != 0) continue;
        if (board.has_sent_since(place.waits_since_ns, place.number)) continue;
        board.waited_since_ns = place.waits_since_ns;
        is_waiting_ = true;
    }
}

SilenceWatch::Judgement SilenceWatch::judge(std::uint32_t board_index, const CameraWindow::Place& place,
                                            Nanoseconds input_ns) const noexcept {
    const CameraBoard& board = boards_[board_index];
    if (place.present->contains(boards_.number_of(board_index)) || !board.is_waited_for(place.number))
        return Judgement::none;
    const Nanoseconds since_ns = board.waited_since_ns != 0 ? board.waited_since_ns : place.waits_since_ns;
    if (!board.has_sent_since(since_ns, place.number) && input_ns - since_ns >= timeout_ns_) return Judgement::silent;
    return board.waited_since_ns != 0 ? Judgement::waits : Judgement::none;
}

}  // namespace anello::camera
