// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace anello::exchange {

/// Records which messages of one sender arrived. They are numbered 1, 2, 3 and so on, so that a lost message is known
/// by its number, not only as a difference of totals. Numbers wrap.
class Arrivals {
  public:
    /// A message this far below the newest is given up: by then it would have left all queues on its way.
    static constexpr std::uint32_t window = 4096;

    struct Taken {
        bool is_new = false;           ///< false: this number arrived before, or was given up
        std::uint64_t n_given_up = 0;  ///< earlier messages that are now given up
    };
    // Hot path: no allocation, no lock, no log, no throw.
    Taken take(std::uint32_t number) noexcept;
    /// Gives up all numbers below the newest that have not arrived; returns how many.
    std::uint64_t give_up_open() noexcept;
    void reset() noexcept { *this = {}; }

    std::uint32_t newest() const noexcept { return newest_; }
    std::uint64_t n_come() const noexcept { return n_come_; }
    std::uint64_t n_given_up() const noexcept { return n_given_up_; }

  private:
    static constexpr std::uint64_t all = ~std::uint64_t{0};
    static constexpr std::array<std::uint64_t, window / 64> nothing_open() noexcept {
        std::array<std::uint64_t, window / 64> words{};
        words.fill(all);
        return words;
    }
    bool has(std::uint32_t number) const noexcept { return (word_of(number) >> number % 64 & 1) != 0; }
    std::uint64_t& word_of(std::uint32_t number) noexcept { return seen_[number % window / 64]; }
    const std::uint64_t& word_of(std::uint32_t number) const noexcept { return seen_[number % window / 64]; }

    std::uint32_t newest_ = 0;
    std::uint64_t n_come_ = 0, n_given_up_ = 0;
    std::array<std::uint64_t, window / 64> seen_ = nothing_open();  ///< a bit per number: it arrived, or is not awaited
};

}  // namespace anello::exchange
