// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/world.hpp"

#include <algorithm>
#include <bit>

#include "source/random.hpp"

namespace anello::simulate {

void World::at(Nanoseconds when_ns, Actor& actor, std::uint64_t what) {
    const Event event{std::max(when_ns, now_ns_), n_put_down_++, &actor, what};
    if (time_of(event.when_ns) < time_ + n_times) return put_into_ring(event);
    later_.push_back(event);
    std::push_heap(later_.begin(), later_.end());
}

void World::put_into_ring(const Event& event) {
    const std::uint64_t time = time_of(event.when_ns);
    Heap& events = ring_[time % n_times];
    events.push_back(event);
    is_used_[time % n_times / word_bits] |= std::uint64_t{1} << (time % word_bits);
    if (time == time_) std::push_heap(events.begin(), events.end());
}

void World::take_from_later() noexcept {
    while (!later_.empty() && time_of(later_.front().when_ns) < time_ + n_times) {
        std::pop_heap(later_.begin(), later_.end());
        put_into_ring(later_.back());
        later_.pop_back();
    }
}

/// The events of the next time, as a heap; null: no event is pending.
World::Heap* World::first() noexcept {
    std::size_t word = time_ % n_times / word_bits;
    std::uint64_t used = is_used_[word] & ~std::uint64_t{0} << (time_ % word_bits);
    for (std::size_t i = 0; used == 0 && i < is_used_.size(); ++i) {
        word = (word + 1) % is_used_.size();
        used = is_used_[word];
    }
    if (used == 0 && later_.empty()) return nullptr;
    const std::uint64_t before = time_;
    if (used == 0) {
        time_ = time_of(later_.front().when_ns);
    } else {
        const std::uint64_t place = word * word_bits + static_cast<std::uint64_t>(std::countr_zero(used));
        time_ += (place + n_times - time_ % n_times) % n_times;
    }
    Heap& events = ring_[time_ % n_times];
    if (time_ == before) return &events;
    std::make_heap(events.begin(), events.end());
    take_from_later();
    return &events;
}

bool World::step() noexcept {
    Heap* const events = first();
    if (events == nullptr) return false;
    std::pop_heap(events->begin(), events->end());
    const Event event = events->back();
    events->pop_back();
    if (events->empty()) is_used_[time_ % n_times / word_bits] &= ~(std::uint64_t{1} << (time_ % word_bits));
    now_ns_ = event.when_ns;
    ++n_events_;
    digest_ =
        source::mix64(digest_ ^ (static_cast<std::uint64_t>(event.when_ns) << 32) ^ (event.number << 16) ^ event.what);
    event.actor->on_event(event.what);
    return true;
}

void World::run_until(Nanoseconds until_ns) noexcept {
    struct Stop final : Actor {
        void on_event(std::uint64_t) noexcept override { is_reached = true; }
        bool is_reached = false;
    } stop;
    at(until_ns, stop, 0);
    while (!stop.is_reached) step();
}

}  // namespace anello::simulate
