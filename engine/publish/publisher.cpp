// SPDX-License-Identifier: Apache-2.0
#include "publish/publisher.hpp"

#include <fmt/format.h>

#include "publish/stream_publisher.hpp"
#include "publish/zmq_publisher.hpp"

namespace anello::publish {

Publisher::Publisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock,
                     CounterPage& page)
    : config_((config.validate(), config)),
      largest_record_bytes_(largest_record_bytes),
      clock_(clock),
      counters_(page.add_block<PublishCounter>(config.block)) {}

bool Publisher::try_publish(const OutgoingRecord& record) noexcept {
    record.header->sequence = sequence_;
    record.header->published_ns = clock_.wall_ns();
    const bool has_given_up = given_up_.load(std::memory_order_relaxed);
    const bool may_drop = has_given_up || config_.when_full == WhenFull::drop;
    const bool fits = record.length_bytes() <= largest_record_bytes_;
    const Outcome outcome = fits ? offer(record, may_drop) : Outcome::too_large;
    watch(outcome);
    if (!may_drop && (outcome == Outcome::full || outcome == Outcome::nobody)) {
        if (!waits_) counters_.add(PublishCounter::records_waited);
        waits_ = true;
        return false;
    }
    account(record, outcome, has_given_up && config_.when_full == WhenFull::wait);
    waits_ = false;
    ++sequence_;
    return true;
}

/// A lack of subscribers is reported only if the run waits for one.
void Publisher::watch(Outcome outcome) noexcept {
    if (outcome == Outcome::full || (outcome == Outcome::nobody && config_.when_full == WhenFull::wait))
        stall_.note_full(clock_.monotonic_ns());
    else
        stall_.note_room();
}

void Publisher::account(const OutgoingRecord& record, Outcome outcome, bool has_given_up) noexcept {
    counters_.add(PublishCounter::records_in);
    switch (outcome) {
        case Outcome::sent:
            counters_.add(PublishCounter::records_sent);
            return counters_.add(PublishCounter::bytes_sent, record.length_bytes());
        case Outcome::full:
            return counters_.add(has_given_up ? PublishCounter::records_dropped_at_end
                                              : PublishCounter::records_dropped_full);
        case Outcome::nobody:
            return counters_.add(has_given_up ? PublishCounter::records_dropped_at_end
                                              : PublishCounter::records_dropped_nobody);
        case Outcome::too_large:
            return counters_.add(PublishCounter::records_dropped_too_large);
        case Outcome::failed:
            return counters_.add(PublishCounter::records_dropped_failed);
    }
}

std::string Publisher::describe() const {
    return fmt::format("{} at {}, {}", word_of(config_.to), address(),
                       config_.when_full == WhenFull::wait ? "waits for subscribers" : "drops for slow subscribers");
}

Notices Publisher::notices() {
    if (!stall_.is_news()) return {};
    return {Notice{fmt::format(
        "publish: no subscriber at {} has taken a record for {} s: {}", address(), stall_ns / 1'000'000'000,
        config_.when_full == WhenFull::wait ? "the run waits; let a subscriber read, or set publish.when_full to drop"
                                            : "records are dropped")}};
}

std::unique_ptr<Publisher> make_publisher(const PublishConfig& config, std::size_t largest_record_bytes,
                                          const Clock& clock, CounterPage& page) {
    if (!config.is_on()) return nullptr;
    if (config.to == PublishTo::stream)
        return std::make_unique<StreamPublisher>(config, largest_record_bytes, clock, page);
    return std::make_unique<ZmqPublisher>(config, largest_record_bytes, clock, page);
}

}  // namespace anello::publish
