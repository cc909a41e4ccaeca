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

/// Delivers records to subscribers. What happens without room, the stamps and the accounts are here; the transports
/// are below. One thread publishes, the control thread calls everything else.
class Publisher {
  public:
    /// largest_record_bytes: no record is longer, as subscribers can rely on.
    Publisher(const PublishConfig& config, std::size_t largest_record_bytes, const Clock& clock, CounterPage& page);
    virtual ~Publisher() = default;
    Publisher(const Publisher&) = delete;
    Publisher& operator=(const Publisher&) = delete;

    /// Hot path: no lock, no log, no throw, never waits; of memory only what libzmq takes for itself. False: no room
    /// now, the same comes again (when_full wait). True: it has its outcome.
    bool try_publish(const OutgoingRecord& record) noexcept;

    /// Any thread: from now on records without room are dropped and counted. For the end of a run.
    void give_up() noexcept { given_up_.store(true, std::memory_order_relaxed); }  // nothing is ordered by it
    /// After the publishing thread has stopped: tells subscribers that this was all.
    virtual void close() noexcept = 0;
    /// The address for subscribers, with the actual port.
    virtual std::string address() const = 0;
    /// For the operator: what changed since the last call, one line each.
    virtual Notices notices();

    std::string describe() const;
    const Counters<PublishCounter>& counters() const noexcept { return counters_; }

  protected:
    enum class Outcome : std::uint8_t { sent, full, nobody, too_large, failed };
    /// One try; may_drop: subscribers without room miss it. Otherwise all subscribers get it, or none.
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
    StallWatch stall_;  ///< of all subscribers
    std::uint64_t sequence_ = 0;
    bool waits_ = false;
    std::atomic<bool> given_up_{false};
};

/// Null where nothing is published. Throws ConfigError, SystemError.
std::unique_ptr<Publisher> make_publisher(const PublishConfig& config, std::size_t largest_record_bytes,
                                          const Clock& clock, CounterPage& page);

}  // namespace anello::publish
