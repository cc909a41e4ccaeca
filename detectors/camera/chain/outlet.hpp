// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "camera/events/events.hpp"
#include "camera/filter/filter.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/geometry.hpp"
#include "camera/send/event_record.hpp"
#include "camera/send/record.hpp"
#include "camera/send/stream.hpp"
#include "camera/send/writer.hpp"
#include "core/histogram.hpp"
#include "memory/spsc_ring.hpp"
#include "pipeline/send_counters.hpp"
#include "pipeline/stage.hpp"
#include "publish/record_publisher.hpp"

namespace anello::camera {

/// The way of a camera event, cut at the stamps that it carries.
enum class CameraLeg : std::uint8_t { first_to_built, built_to_sent, first_to_sent, count };

inline constexpr std::array<const char*, static_cast<std::size_t>(CameraLeg::count)> camera_leg_names{
    "first_to_built", "built_to_sent", "first_to_sent"};

inline constexpr std::uint32_t max_image_pixels = 2048;

/// A camera image, copied aside for the display; dropped when nobody takes it.
struct CameraImage {
    std::uint32_t event_number;
    std::uint32_t n_pixels;  ///< at most max_image_pixels
    Verdict verdict;
    std::array<float, max_image_pixels> charge;
};

struct CameraOutletConfig {
    IntegratorConfig integrator;
    FilterConfig filter;
    bool integrate = true;  ///< false: waveforms have no shape; all events go on
    CompressionConfig compression;
    std::string file;                       ///< HDF5; empty: none
    CameraStreamConfig stream{.host = {}};  ///< TCP; no host: none
    publish::PublishConfig publish;
    CameraContent published = CameraContent::event;
    std::uint32_t max_events_per_step = 16;
    Nanoseconds image_every_ns = 20'000'000;  ///< one image in so long is laid aside
};

/// The last stage: takes whole events, looks at the pixels, filters, compresses, writes, streams and publishes
/// what is kept, and gives the event's memory back.
class CameraOutlet {
  public:
    /// events, clock and page must outlive it. Throws ConfigError, SystemError.
    CameraOutlet(const CameraOutletConfig& config, CameraEvents& events, const CameraShape& shape, const Clock& clock,
                 CounterPage& page);

    /// The stage send, which must not outlive it. Drained once all that the builders gave has been sent.
    pipeline::Stage stage();
    bool try_take(CameraImage& image) noexcept { return images_->try_take(image); }

  private:
    std::size_t do_work() noexcept;  ///< Events sent, and steps of the stream.
    Nanoseconds longest_wait_ns() const noexcept;
    std::size_t send_events() noexcept;
    void close();
    pipeline::Notices notices();
    std::string describe() const;
    void add_latency(pipeline::Latencies& latency) const;
    void look_at(const CameraEventView& event) noexcept;
    void hand_on(const CameraEventView& event, const Verdict& verdict) noexcept;
    bool try_publish() noexcept;
    void record_latency(const CameraEventView& event, Nanoseconds sent_ns) noexcept;
    void lay_aside(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept;

    CameraOutletConfig config_;
    CameraEvents& events_;
    const Clock& clock_;
    Counters<pipeline::SendCounter> counters_;
    std::unique_ptr<PixelIntegrator> integrator_;
    std::unique_ptr<CameraFilter> filter_;
    std::unique_ptr<CameraEncoder> encoder_;  ///< with writer or stream only
    std::unique_ptr<CameraWriter> writer_;
    std::unique_ptr<CameraStream> stream_;
    std::unique_ptr<publish::RecordPublisher<CameraEventRecord>> publisher_;
    CameraEventView event_;  ///< the one in hand, until subscribers have room
    PixelView pixels_;       ///< of it
    Verdict verdict_;
    bool holds_event_ = false;
    std::vector<std::byte> record_;
    std::unique_ptr<std::array<LatencyHistogram, static_cast<std::size_t>(CameraLeg::count)>> latency_;
    std::unique_ptr<memory::SpscRing<CameraImage>> images_;
    Nanoseconds image_laid_ns_ = 0;
    CameraImage image_{};  ///< too large for a stack
    std::atomic<bool> draining_{false}, drained_{false};
    std::string store_error_;
    pipeline::AddedNotice drops_queue_full_, drops_not_connected_;
};

}  // namespace anello::camera
