// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anello::camera {

/// Predicts which fragment arrives next at a port: the fragments of each event tend to arrive in the same order. If
/// board b of event n was followed by board b' of event n + s, it probably will be again. A port with one board is the
/// case b' = b, s = 1. After too many wrong guesses, guessing pauses, as a wrong guess costs an additional copy.
class CameraPrediction {
  public:
    struct Guess {
        std::uint32_t board_index, event_number;
    };

    CameraPrediction(std::size_t n_boards, std::size_t n_streams);

    /// Hot path, all: no allocation, no lock, no log, no throw.
    void learn(std::uint16_t stream, std::uint32_t board_index, std::uint32_t event_number) noexcept {
        Last& last = lasts_[stream];
        if (last.is_known) {
            Successor& after = successors_[last.guess.board_index];
            const std::uint32_t step = event_number - last.guess.event_number;
            after = {board_index, step <= max_step ? step : 1, after.promised_in, after.promised_event};
        }
        last = {{board_index, event_number}, true};
    }

    /// begin() starts a series of guesses for a stream; next() returns them one by one. next() returns false if nothing
    /// is known yet or the guesses would repeat. No fragment is guessed twice in a series.
    void begin(std::uint16_t stream) noexcept;
    bool next(Guess& guess) noexcept;

    /// Reports the results of guesses. After too many wrong ones, is_worth_it() is false for some time.
    void note(std::size_t n_right, std::size_t n_wrong) noexcept;
    /// Reports datagrams that arrived while guessing was off.
    void note_unguessed(std::size_t n_datagrams) noexcept;
    bool is_worth_it() const noexcept { return n_paused_ == 0; }

  private:
    static constexpr std::uint32_t max_step = 16;
    static constexpr std::uint32_t max_series_events = 1U << 20;  ///< a larger difference is not a step forward

    struct Successor {
        std::uint32_t board_index = 0, step = 1;
        std::uint32_t promised_in = 0, promised_event = 0;  ///< series and event of this board's last guess
    };
    struct Last {
        Guess guess{};
        bool is_known = false;
    };

    std::vector<Successor> successors_;  ///< by board
    std::vector<Last> lasts_;            ///< by stream
    Last at_;
    std::uint32_t series_ = 0;
    std::size_t n_right_ = 0, n_wrong_ = 0, n_paused_ = 0;
};

}  // namespace anello::camera
