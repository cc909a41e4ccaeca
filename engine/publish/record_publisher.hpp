// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "publish/publisher.hpp"

namespace anello::publish {

/// Makes and publishes records of one kind. Record must have fill(what...), outgoing() and largest_bytes(). A record
/// that has to wait for room is made only once.
template <typename Record>
class RecordPublisher {
  public:
    /// Requires config.is_on(). Throws ConfigError, SystemError.
    RecordPublisher(const PublishConfig& config, Record record, const Clock& clock, CounterPage& page)
        : record_(std::move(record)), publisher_(make_publisher(config, record_.largest_bytes(), clock, page)) {}

    /// Hot path. Returns false if there is no room now; the caller offers the same again.
    template <typename... What>
    bool try_publish(const What&... what) noexcept {
        if (!is_filled_) record_.fill(what...);
        is_filled_ = !publisher_->try_publish(record_.outgoing());
        return !is_filled_;
    }
    Publisher& publisher() noexcept { return *publisher_; }
    const Publisher& publisher() const noexcept { return *publisher_; }

  private:
    Record record_;
    std::unique_ptr<Publisher> publisher_;
    bool is_filled_ = false;
};

}  // namespace anello::publish
