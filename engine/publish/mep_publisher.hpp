// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exchange/mep_sink.hpp"
#include "publish/record_publisher.hpp"

namespace anello::publish {

/// A multi-event packet as a record: its MFPs one after the other, each at a multiple of 8 bytes.
class MepRecord {
  public:
    MepRecord(std::uint32_t n_readouts, std::size_t max_mfp_bytes, std::uint32_t run_id);

    std::size_t largest_bytes() const noexcept;
    /// Hot path: no allocation, no lock, no log, no throw. The MFPs must stay until outgoing() is sent.
    void fill(const exchange::MepView& mep) noexcept;
    const OutgoingRecord& outgoing() const noexcept { return outgoing_; }

  private:
    std::size_t max_mfp_bytes_;
    std::uint32_t run_id_;
    RecordWriter writer_;
    OutgoingRecord outgoing_;
    std::vector<std::uint64_t> offset_;
    std::vector<std::uint32_t> length_;
};

/// Publishes built events on their way to the next stage. If there is no room (when_full wait) it refuses them, and the
/// builder waits.
class MepPublisher final : public exchange::MepSink {
  public:
    /// Throws ConfigError, SystemError.
    MepPublisher(const PublishConfig& config, MepRecord record, std::unique_ptr<exchange::MepSink> behind,
                 const Clock& clock, CounterPage& page)
        : published_(config, std::move(record), clock, page), behind_(std::move(behind)) {}

    bool try_take(const exchange::MepView& mep) noexcept override;
    bool try_give_back(std::uint32_t& slot) noexcept override { return behind_->try_give_back(slot); }
    void close() noexcept override;
    Notices notices() override;

    Publisher& publisher() noexcept { return published_.publisher(); }

  private:
    RecordPublisher<MepRecord> published_;
    std::unique_ptr<exchange::MepSink> behind_;
    bool is_published_ = false;  ///< the MEP for which the next stage has no room
};

}  // namespace anello::publish
