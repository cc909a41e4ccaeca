// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "core/notice.hpp"
#include "publish/publish_config.hpp"
#include "publish/publish_counters.hpp"
#include "publish/record_writer.hpp"
#include "publish/stall_watch.hpp"

namespace anello::publish {

/// Delivers records to subscribers. This class handles full subscribers, time stamps and counters; derived classes are
/// the transports. One thread publishes, the control thread calls all other functions.
class Publisher {
  public:
    /// largest_record_bytes is the limit that subscribers rely on.
    Publisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock, CounterPage& page);
    virtual ~Publisher() = default;
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    /// Hot path: no lock, no log, no throw, never waits; allocates only what libzmq allocates. Returns false if there
    /// is no room now: the caller offers the same record again (when_full wait). Returns true if the record has an
    /// outcome.
    bool try_publish(const OutgoingRecord& record) noexcept;

    /// Any thread: from now on, records without room are dropped and counted. For the end of a run.
    void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }  // nothing is ordered by it
    /// Call it after the publishing thread has stopped: informs subscribers of the end.
    virtual void close() noexcept = 0;
    /// The address for subscribers, with the actual port number.
    virtual std::string address() const = 0;
    /// What changed since the last call, for the operator.
    virtual Notices notices();

    std::string describe() const;
    const Counters<PublishCounter>& counters() const noexcept { return counters_; }

  protected:
    enum class Outcome : std::uint8_t { sent, full, nobody, too_large, failed };
    /// Makes one try. With may_drop, subscribers without room miss the record. Without, all subscribers get it, or
    /// none.
    virtual Outcome offer(const OutgoingRecord& record, bool may_drop) noexcept = 0;

    std::uint64_t next_sequence() const noexcept { return sequence_; }
    const PublishConfig& config() const noexcept { return config_; }
    std::size_t largest_record_bytes() const noexcept { return largest_record_bytes_; }
    const Clock& clock() const noexcept { return clock_; }
    void count(PublishCounter counter, std::uint64_t amount) noexcept { counters_.add(counter, amount); }

  private:
    void watch(Outcome outcome) noexcept;
    void account(const OutgoingRecord& record, Outcome outcome, bool has_given_up) noexcept;

    const PublishConfig config_;
    const std::size_t largest_record_bytes_;
    const Clock& clock_;
    Counters<PublishCounter> counters_;
    StallWatch stall_;  ///< for all subscribers together
    std::uint64_t sequence_ = 0;
    bool waits_ = false;
    std::atomic<bool> given_up_{false};
};

/// Null if nothing is published. Throws ConfigError, SystemError.
std::unique_ptr<Publisher> make_publisher(const PublishConfig& config, std::size_t largest_record_bytes,
                                          const Clock& clock, CounterPage& page);

}  // namespace anello::publish
