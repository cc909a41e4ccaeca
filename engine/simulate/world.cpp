// SPDX-License-Identifier: Apache-2.0
#include "simulate/world.hpp"

#include <algorithm>

#include "source/random.hpp"

namespace anello::simulate {

void World::at(Nanoseconds when_ns, Actor& actor, std::uint64_t what) {
    heap_.push_back({std::max(when_ns, now_ns_), n_put_down_++, &actor, what});
    std::push_heap(heap_.begin(), heap_.end());
}

bool World::step() noexcept {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end());
    const Event event = heap_.back();
    heap_.pop_back();
    now_ns_ = event.when_ns;
    ++n_events_;
    digest_ =
        source::mix64(digest_ ^ (static_cast<std::uint64_t>(event.when_ns) << 32) ^ (event.number << 16) ^ event.what);
    event.actor->on_event(event.what);
    return true;
}

void World::run_until(Nanoseconds until_ns) noexcept {
    while (!heap_.empty() && heap_.front().when_ns <= until_ns) step();
    now_ns_ = std::max(now_ns_, until_ns);
}

}  // namespace anello::simulate
