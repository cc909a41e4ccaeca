// SPDX-License-Identifier: Apache-2.0
#include "receive/numbers/sequence_tracker.hpp"

#include <algorithm>

namespace anello::receive {

Arrival SequenceTracker::accept(std::uint32_t sequence, std::uint32_t step) noexcept {
    if (!started_) start_at(sequence);
    const std::int32_t distance = distance_to(sequence);
    return is_near(distance) ? accept_near(distance, step) : accept_far(sequence, step);
}

Arrival SequenceTracker::preview(std::uint32_t sequence) const noexcept {
    const std::int32_t distance = distance_to(sequence);
    if (!started_ || (distance >= 0 && is_near(distance))) return Arrival::in_order;
    if (!is_near(distance)) return Arrival::stray;
    return seen(next_ + static_cast<std::uint64_t>(std::int64_t{distance})) ? Arrival::duplicate : Arrival::late;
}

Arrival SequenceTracker::accept_near(std::int32_t distance, std::uint32_t step) noexcept {
    const std::uint64_t number = next_ + static_cast<std::uint64_t>(std::int64_t{distance});
    if (distance >= 0) {
        advance_to(number + step);
        distinct_ += mark(number, step);
        return Arrival::in_order;
    }
    if (number < origin) return Arrival::stray;  // before the first number that a source can have sent
    const std::uint32_t n_new = mark(number, std::min(step, static_cast<std::uint32_t>(-distance)));
    if (n_new == 0) return Arrival::duplicate;
    if (number < base_) {  // before the packet with which this receiver joined
        before_joining_ -= std::min(before_joining_, base_ - number);
        base_ = number;
    }
    distinct_ += n_new;
    return Arrival::late;
}

Arrival SequenceTracker::accept_far(std::uint32_t sequence, std::uint32_t step) noexcept {
    const bool confirmed = has_stray_ && sequence - stray_next_ < confirm_within;
    has_stray_ = !confirmed;
    stray_next_ = sequence + step;
    if (!confirmed) return Arrival::stray;
    const bool restarted = sequence < next();
    if (restarted) {
        close_epoch();
        start_at(sequence);
    } else {
        advance_to(next_ + (sequence - next()));
    }
    accept_near(distance_to(sequence), step);
    return restarted ? Arrival::restarted : Arrival::in_order;
}

void SequenceTracker::announce_next(std::uint32_t sequence) noexcept {
    if (!started_) start_at(sequence);
    const std::int32_t distance = distance_to(sequence);
    if (distance <= 0) return;
    const bool said_before = has_announced_far_ && announced_far_ == sequence;
    if (is_near(distance) || said_before) {
        advance_to(next_ + static_cast<std::uint32_t>(distance));
    } else {
        has_announced_far_ = true;
        announced_far_ = sequence;
    }
}

void SequenceTracker::restart() noexcept {
    close_epoch();
    start_at(0);
}

/// A source counts from 0. If the first number is within the window, the numbers before it are lost.
void SequenceTracker::start_at(std::uint32_t sequence) noexcept {
    started_ = true;
    base_ = next_ = origin + (sequence < window ? 0 : sequence);
    before_joining_ += base_ - origin;
}

void SequenceTracker::join(std::uint32_t sequence) noexcept {
    started_ = true;
    base_ = next_ = origin + sequence;
    before_joining_ += sequence;
}

void SequenceTracker::close_epoch() noexcept {
    log_epoch();
    ++epoch_;
    closed_lost_ = n_lost();
    closed_distinct_ = n_distinct();
    distinct_ = 0;
    base_ = next_ = origin;
    bits_.fill(0);
    has_announced_far_ = false;
}

/// Adds the numbers next_ .. number - 1 to the window as missing; they replace the oldest numbers.
void SequenceTracker::advance_to(std::uint64_t number) noexcept {
    if (number - next_ >= window) {
        log_missing_of_window();
        log_missing(next_, number - window);
        bits_.fill(0);
    } else {
        for (std::uint64_t i = next_; i < number; ++i) {
            if (!seen(i) && i - window >= base_) log_missing(i - window, i - window + 1);
            bits_[word_of(i)] &= ~(std::uint64_t{1} << (i & 63));
        }
    }
    next_ = number;
}

void SequenceTracker::close_log() noexcept {
    if (started_) log_epoch();
    log_ = nullptr;
}

void SequenceTracker::log_epoch() noexcept {
    if (log_ == nullptr) return;
    log_missing_of_window();
    log_->expected.add(epoch_, base_ - origin, next_ - origin);
}

void SequenceTracker::log_missing_of_window() noexcept {
    for (std::uint64_t i = std::max(base_, next_ - window); i < next_; ++i)
        if (!seen(i)) log_missing(i, i + 1);
}

/// Logs numbers that are finally lost, because they leave the window or their epoch ends.
void SequenceTracker::log_missing(std::uint64_t begin, std::uint64_t end) noexcept {
    if (log_ != nullptr && begin < end) log_->missing.add(epoch_, begin - origin, end - origin);
}

std::uint32_t SequenceTracker::mark(std::uint64_t number, std::uint32_t step) noexcept {
    std::uint32_t n_new = 0;
    for (std::uint64_t i = number; i < number + step; ++i) {
        n_new += seen(i) ? 0 : 1;
        bits_[word_of(i)] |= std::uint64_t{1} << (i & 63);
    }
    return n_new;
}

}  // namespace anello::receive
