// SPDX-License-Identifier: Apache-2.0
#include "exchange/builder/arrivals.hpp"

#include <algorithm>
#include <bit>

namespace anello::exchange {

Arrivals::Taken Arrivals::take(std::uint32_t number) noexcept {
    const auto ahead = static_cast<std::int32_t>(number - newest_);
    if (ahead <= 0 && (newest_ - number >= window || has(number))) return {};
    Taken taken{.is_new = true};
    if (ahead > 0) {
        const auto n_ahead = static_cast<std::uint32_t>(ahead);
        const std::uint32_t n_steps = std::min(n_ahead, window);
        for (std::uint32_t step = 1; step <= n_steps; ++step) {
            if (!has(newest_ + step)) ++taken.n_given_up;  // the number one window earlier
            word_of(newest_ + step) &= ~(std::uint64_t{1} << (newest_ + step) % 64);
        }
        taken.n_given_up += n_ahead - n_steps;
        newest_ = number;
    }
    word_of(number) |= std::uint64_t{1} << number % 64;
    ++n_come_;
    n_given_up_ += taken.n_given_up;
    return taken;
}

std::uint64_t Arrivals::give_up_open() noexcept {
    std::uint64_t n_open = 0;
    for (std::uint64_t& word : seen_) {
        n_open += static_cast<std::uint64_t>(std::popcount(~word));
        word = all;
    }
    n_given_up_ += n_open;
    return n_open;
}

}  // namespace anello::exchange
