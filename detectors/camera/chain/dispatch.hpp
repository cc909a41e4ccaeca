// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/chain/kept_events.hpp"
#include "camera/chain/outlet_config.hpp"
#include "camera/send/event_encoder.hpp"
#include "camera/send/event_record.hpp"
#include "camera/send/streams/r1_streams.hpp"
#include "camera/send/streams/stream.hpp"
#include "camera/send/writer.hpp"
#include "pipeline/stage.hpp"
#include "publish/record_publisher.hpp"

namespace anello::camera {

/// The stage send: writes, streams and publishes kept events, and encodes them if no stage compress does. Files,
/// receivers and subscribers may be slow; no earlier stage waits for them while there is memory for events.
class CameraDispatch {
  public:
    /// Requires config.sends(). choices, kept, clock and page must outlive it. Throws ConfigError, SystemError.
    CameraDispatch(const CameraOutletConfig& config, CompressionChoices& choices, KeptEvents& kept,
                   const CameraShape& shape, const Clock& clock, CounterPage& page);

    /// The stage must not outlive this object. It has drained once all events that the filter gave have been sent.
    pipeline::Stage stage();
    /// See R1Streams::set_of_writer().
    bool set_of_r1_writer(std::size_t writer, const std::string& name, std::uint64_t value) noexcept {
        return r1_ != nullptr && r1_->set_of_writer(writer, name, value);
    }

  private:
    std::size_t do_work() noexcept;  ///< Returns the number of events sent and of steps of the stream.
    Nanoseconds longest_wait_ns() const noexcept;
    std::size_t send_events() noexcept;
    void take(KeptEvent& kept) noexcept;
    bool try_publish() noexcept;
    void close();
    pipeline::Notices notices();
    std::string describe() const;

    CameraOutletConfig config_;
    CompressionChoices& choices_;
    KeptEvents& kept_;
    const Clock& clock_;
    std::optional<Counters<CompressCounter>> compressed_;  ///< set only with writer, stream or R1v1 files
    std::unique_ptr<EventEncoder> encoder_;                ///< set if events arrive unencoded
    std::unique_ptr<CameraWriter> writer_;
    std::unique_ptr<CameraStream> stream_;
    std::unique_ptr<R1Streams> r1_;
    std::unique_ptr<publish::RecordPublisher<CameraEventRecord>> publisher_;
    KeptEvent* event_ = nullptr;  ///< the event being sent, kept until subscribers have room
    std::vector<std::byte> encoded_;
    std::atomic<bool> draining_{false}, drained_{false};
    std::string store_error_;
    pipeline::AddedNotice drops_queue_full_, drops_not_connected_;
};

}  // namespace anello::camera
