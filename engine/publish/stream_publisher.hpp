// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/thread.hpp"
#include "publish/publisher.hpp"
#include "stream/stream.hpp"

namespace anello::publish {

/// Records as messages of streams over shared memory: one copy, into the ring of each subscriber. Subscribers come at
/// any time; a thread of the publisher's lets them in, so that the one that publishes never waits for a handshake.
class StreamPublisher final : public Publisher {
  public:
    /// Listens at once. Throws ConfigError, SystemError.
    StreamPublisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock,
                    CounterPage& page);
    ~StreamPublisher() override;

    void close() noexcept override;
    std::string address() const override { return listener_->address(); }
    Notices notices() override;
    std::uint32_t n_subscribers() const noexcept;

  private:
    /// free -> live by the admitting thread, live -> gone by the publishing one, gone -> free by the admitting one.
    enum class State : std::uint8_t { free, live, gone };
    struct Place {
        std::atomic<State> state{State::free};
        std::unique_ptr<stream::Stream> stream;
        Counters<SubscriberCounter> counters;
        Counters<stream::StreamCounter> stream_counters;
        StallWatch stall;
        bool is_asked = false;  ///< it is there for the record that is being offered,
        stream::Bytes room;     ///< which goes here; empty: it has no room
    };

    Outcome offer(const OutgoingRecord& record, bool may_drop) noexcept override;
    void ask(Place& place, std::size_t n_bytes) noexcept;
    void give(Place& place, const OutgoingRecord& record) noexcept;
    void look_for_the_dead() noexcept;
    void part_from(Place& place, stream::StreamStatus why) noexcept;
    std::size_t admit_one() noexcept;
    void admit(std::unique_ptr<stream::Stream> stranger, Place* place) noexcept;
    Place* free_place() noexcept;

    std::vector<Place> places_;
    CounterPage stream_page_;                         ///< of the streams' own counters, which nobody needs to see
    Counters<stream::StreamCounter> spare_counters_;  ///< of a stream that will be turned away
    Counters<AdmissionCounter> admissions_;
    std::unique_ptr<stream::Listener> listener_;
    Nanoseconds next_look_ns_ = 0;
    std::mutex mutex_;
    std::string accept_error_;
    std::uint64_t refused_too_many_told_ = 0, refused_small_ring_told_ = 0;
    bool closed_ = false;
    std::unique_ptr<WorkerThread> thread_;
};

}  // namespace anello::publish
