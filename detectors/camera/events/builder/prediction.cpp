// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/prediction.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t judged_over = 256;    // guesses
constexpr std::size_t pause_length = 4096;  // datagrams

}  // namespace

CameraPrediction::CameraPrediction(std::size_t n_boards, std::size_t n_streams)
    : successors_(n_boards), lasts_(n_streams) {
    for (std::uint32_t i = 0; i < n_boards; ++i) successors_[i].board_index = i;
}

void CameraPrediction::begin(std::uint16_t stream) noexcept {
    at_ = lasts_[stream];
    ++series_;
}

bool CameraPrediction::next(Guess& guess) noexcept {
    if (!at_.is_known) return false;
    const Successor& after = successors_[at_.guess.board_index];
    at_.guess = {after.board_index, at_.guess.event_number + after.step};
    Successor& guessed = successors_[at_.guess.board_index];
    const std::uint32_t since_promised = at_.guess.event_number - guessed.promised_event;
    if (guessed.promised_in == series_ && since_promised - 1 >= max_series_events) {
        at_.is_known = false;  // a cycle within one event, learned from fragments that arrived out of order
        return false;
    }
    guessed.promised_in = series_;
    guessed.promised_event = at_.guess.event_number;
    guess = at_.guess;
    return true;
}

void CameraPrediction::note(std::size_t n_right, std::size_t n_wrong) noexcept {
    n_right_ += n_right;
    n_wrong_ += n_wrong;
    if (n_right_ + n_wrong_ < judged_over) return;
    if (n_wrong_ > n_right_) n_paused_ = pause_length;
    n_right_ = n_wrong_ = 0;
}

void CameraPrediction::note_unguessed(std::size_t n_datagrams) noexcept {
    n_paused_ -= n_datagrams < n_paused_ ? n_datagrams : n_paused_;
}

}  // namespace anello::camera
