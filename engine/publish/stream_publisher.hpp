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

/// Sends records as messages of streams over shared memory: one copy into the ring of each subscriber. Subscribers may
/// come at any time; a thread of its own admits them, so that the publishing thread never waits for a handshake.
class StreamPublisher final : public Publisher {
  public:
    /// Listens immediately. Throws ConfigError, SystemError.
    StreamPublisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock,
                    CounterPage& page);
    ~StreamPublisher() override;

    void close() noexcept override;
    std::string address() const override { return listener_->address(); }
    Notices notices() override;
    std::uint32_t n_subscribers() const noexcept;

  private:
    /// The admitting thread changes free -> live and gone -> free, the publishing thread live -> gone.
    enum class State : std::uint8_t { free, live, gone };
    struct Place {
        std::atomic<State> state{State::free};
        std::unique_ptr<stream::Stream> stream;
        Counters<SubscriberCounter> counters;
        Counters<stream::StreamCounter> stream_counters;
        StallWatch stall;
        bool is_asked = false;  ///< the current record is offered to this subscriber
        stream::Bytes room;     ///< where the record goes; empty: it has no room
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
    CounterPage stream_page_;                         ///< the streams' own counters, which are not shown
    Counters<stream::StreamCounter> spare_counters_;  ///< for a stream that will be refused
    Counters<AdmissionCounter> admissions_;
    std::unique_ptr<stream::Listener> listener_;
    Nanoseconds next_look_ns_ = 0;
    std::mutex mutex_;
    std::string accept_error_;
    std::uint64_t refused_too_many_reported_ = 0, refused_small_ring_reported_ = 0;
    bool closed_ = false;
    std::unique_ptr<WorkerThread> thread_;
};

}  // namespace anello::publish
