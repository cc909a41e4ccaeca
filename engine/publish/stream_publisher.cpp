// SPDX-License-Identifier: Apache-2.0
#include "publish/stream_publisher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "stream/ring/ring_layout.hpp"

namespace anello::publish {
namespace {

using stream::StreamStatus;

constexpr Nanoseconds accept_ns = 20'000'000;
// Time for a subscriber to allocate its ring. A client that stays silent blocks the next one for this time.
constexpr Nanoseconds handshake_ns = 2'000'000'000;
constexpr Nanoseconds look_every_ns = 100'000'000;
constexpr std::chrono::milliseconds after_error{100};

std::size_t message_bytes(std::size_t record_bytes) noexcept {
    return stream::message_header_bytes + stream::padded_bytes(record_bytes);
}

stream::StreamConfig stream_config(const PublishConfig& publish) {
    stream::StreamConfig config;
    config.allowed_users = publish.allow_users;
    config.direction = stream::Direction::send;
    config.handshake_ns = handshake_ns;
    return config;
}

}  // namespace

StreamPublisher::StreamPublisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock,
                                 CounterPage& page)
    : Publisher(config, largest_record_bytes, clock, page),
      places_(config.max_subscribers),
      spare_counters_(stream_page_.add_block<stream::StreamCounter>("spare")),
      admissions_(page.add_block<AdmissionCounter>(config.block + ".admission")) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        places_[i].counters = page.add_block<SubscriberCounter>(fmt::format("{}.subscriber{}", config.block, i));
        places_[i].stream_counters = stream_page_.add_block<stream::StreamCounter>(fmt::format("stream{}", i));
    }
    listener_ = std::make_unique<stream::Listener>(config.address, stream_config(config),
                                                   stream_page_.add_block<stream::ListenerCounter>("listener"));
    thread_ = std::make_unique<WorkerThread>(ThreadConfig{.name = "publish"}, [this] { return admit_one(); });
    thread_->start();
}

StreamPublisher::~StreamPublisher() {
    close();
}

// Hot path: no allocation, no lock, no log, no throw.
Publisher::Outcome StreamPublisher::offer(const OutgoingRecord& record, bool may_drop) noexcept {
    look_for_the_dead();
    std::size_t n_asked = 0, n_with_room = 0;
    for (Place& place : places_) {
        ask(place, message_bytes(record.length_bytes()));
        n_asked += place.is_asked ? 1 : 0;
        n_with_room += place.room.empty() ? 0 : 1;
    }
    if (n_asked == 0) return Outcome::nobody;
    if (!may_drop && n_with_room < n_asked) return Outcome::full;
    for (Place& place : places_)
        if (place.is_asked) give(place, record);
    return n_with_room > 0 ? Outcome::sent : Outcome::full;
}

void StreamPublisher::ask(Place& place, std::size_t n_bytes) noexcept {
    place.room = {};
    place.is_asked = place.state.load(std::memory_order_acquire) == State::live;  // pairs with admit()
    if (!place.is_asked) return;
    const StreamStatus status = place.stream->reserve(n_bytes, place.room, 0);
    if (status == StreamStatus::ok) return place.stall.note_room();
    if (status == StreamStatus::would_block) return place.stall.note_full(clock().monotonic_ns());
    place.counters.add(SubscriberCounter::records_offered);
    place.counters.add(SubscriberCounter::records_dropped_gone);
    part_from(place, status);
}

void StreamPublisher::give(Place& place, const OutgoingRecord& record) noexcept {
    place.counters.add(SubscriberCounter::records_offered);
    if (place.room.empty()) return place.counters.add(SubscriberCounter::records_dropped_full);
    const std::uint64_t length_bytes = record.length_bytes();  // a multiple of 8: a message without padding
    std::memcpy(place.room.data(), &length_bytes, sizeof length_bytes);
    record.copy_to(place.room.data() + stream::message_header_bytes);
    place.stream->commit(place.room.size());
    place.counters.add(SubscriberCounter::records_sent);
    place.counters.add(SubscriberCounter::bytes_sent, length_bytes);
}

/// Detects dead subscribers, because a full ring does not show whether its owner is slow or dead.
void StreamPublisher::look_for_the_dead() noexcept {
    const Nanoseconds now_ns = clock().monotonic_ns();
    if (now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + look_every_ns;
    for (Place& place : places_) {
        if (place.state.load(std::memory_order_acquire) != State::live) continue;  // pairs with admit()
        const StreamStatus status = place.stream->check_peer();
        if (status != StreamStatus::ok) part_from(place, status);
    }
}

void StreamPublisher::part_from(Place& place, StreamStatus why) noexcept {
    if (why != StreamStatus::closed)
        place.counters.add(SubscriberCounter::bytes_unread_at_death, place.stream->unread_bytes());
    place.is_asked = false;
    place.room = {};
    place.stall.note_room();
    place.state.store(State::gone, std::memory_order_release);  // pairs with admit_one()
}

// --- The thread that admits subscribers
std::size_t StreamPublisher::admit_one() noexcept {
    for (Place& place : places_) {
        if (place.state.load(std::memory_order_acquire) != State::gone) continue;  // pairs with part_from()
        place.stream.reset();
        place.state.store(State::free, std::memory_order_relaxed);  // only this thread takes free places
    }
    try {
        Place* const place = free_place();
        auto stranger = listener_->accept(place == nullptr ? spare_counters_ : place->stream_counters, accept_ns);
        if (stranger != nullptr) admit(std::move(stranger), place);
        return 0;
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        accept_error_ = error.what();
    }
    std::this_thread::sleep_for(after_error);
    return 0;
}

void StreamPublisher::admit(std::unique_ptr<stream::Stream> stranger, Place* place) noexcept {
    const bool is_small = stranger->send_ring_bytes() < message_bytes(largest_record_bytes());
    if (place == nullptr || is_small) {
        admissions_.add(is_small ? AdmissionCounter::refused_small_ring : AdmissionCounter::refused_too_many);
        return stranger->abandon();
    }
    place->counters.add(SubscriberCounter::subscriptions);  // no other thread uses them while the place is free
    place->stream = std::move(stranger);
    place->state.store(State::live, std::memory_order_release);  // pairs with ask()
    admissions_.add(AdmissionCounter::admitted);                 // last, so that a counted subscriber is admitted
}

StreamPublisher::Place* StreamPublisher::free_place() noexcept {
    for (Place& place : places_)
        if (place.state.load(std::memory_order_relaxed) == State::free) return &place;
    return nullptr;
}

// --- The control thread
std::uint32_t StreamPublisher::n_subscribers() const noexcept {
    return static_cast<std::uint32_t>(std::count_if(places_.begin(), places_.end(), [](const Place& place) {
        return place.state.load(std::memory_order_relaxed) == State::live;
    }));
}

void StreamPublisher::close() noexcept {
    if (std::exchange(closed_, true)) return;
    thread_->stop();
    for (Place& place : places_)
        if (place.stream != nullptr) place.stream->finish();  // the ring keeps its content for its owner
}

Notices StreamPublisher::notices() {
    Notices lines = Publisher::notices();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (places_[i].stall.is_news())
            lines.push_back(fmt::format("publish.subscriber{} stands still: its ring has been full for {} s", i,
                                        stall_ns / 1'000'000'000));
    const auto report = [&](AdmissionCounter counter, std::uint64_t& n_reported, const std::string& why) {
        const std::uint64_t n = admissions_[counter];
        if (n != n_reported) lines.push_back(fmt::format("publish: {} subscriber(s) refused: {}", n - n_reported, why));
        n_reported = n;
    };
    report(AdmissionCounter::refused_too_many, refused_too_many_reported_,
           fmt::format("there are {} already; raise publish.max_subscribers", places_.size()));
    report(AdmissionCounter::refused_small_ring, refused_small_ring_reported_,
           fmt::format("a ring must hold the largest record; subscribe with ring_bytes of {} or more",
                       std::bit_ceil(message_bytes(largest_record_bytes()))));
    const std::lock_guard lock(mutex_);
    if (!accept_error_.empty())
        lines.push_back("publish: no subscriber can be admitted: " + std::exchange(accept_error_, {}));
    return lines;
}

}  // namespace anello::publish
