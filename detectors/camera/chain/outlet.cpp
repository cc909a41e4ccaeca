// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/outlet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace anello::camera {
namespace {

constexpr std::size_t images_kept = 16;

}  // namespace

CameraOutlet::CameraOutlet(const CameraOutletConfig& config, CameraEvents& events, const CameraShape& shape,
                           const Clock& clock, CounterPage& page)
    : config_(config),
      events_(events),
      clock_(clock),
      counters_(page.add_block<pipeline::SendCounter>("send")),
      latency_(std::make_unique<std::array<LatencyHistogram, static_cast<std::size_t>(CameraLeg::count)>>()),
      images_(std::make_unique<memory::SpscRing<CameraImage>>(images_kept)) {
    if (config_.integrate) {
        const IntegratorConfig& pixels = config_.integrator;
        integrator_ = std::make_unique<PixelIntegrator>(pixels);
        filter_ = std::make_unique<CameraFilter>(config_.filter,
                                                 make_camera_geometry(pixels.n_boards, pixels.pixels_per_board), page);
    }
    if (!config_.file.empty()) writer_ = std::make_unique<CameraWriter>(CameraWriterConfig{.path = config_.file}, page);
    if (!config_.stream.host.empty()) stream_ = std::make_unique<CameraStream>(config_.stream, clock_, page);
    if (config_.publish.is_on())
        publisher_ = std::make_unique<publish::RecordPublisher<CameraEventRecord>>(
            config_.publish,
            CameraEventRecord(shape, config_.integrate ? std::optional(config_.integrator) : std::nullopt,
                              config_.published),
            clock_, page);
    if (writer_ == nullptr && stream_ == nullptr) return;
    encoder_ = std::make_unique<CameraEncoder>(config_.compression, shape, page);
    record_.resize(encoder_->max_record_bytes());
}

pipeline::Stage CameraOutlet::stage() {
    return {.name = "send",
            .do_work = [this](std::uint32_t) { return do_work(); },
            .longest_wait_ns = [this](std::uint32_t) { return longest_wait_ns(); },
            .drain = [this] { draining_.store(true, std::memory_order_release); },      // pairs with do_work()
            .is_drained = [this] { return drained_.load(std::memory_order_acquire); },  // pairs with do_work()
            .give_up_subscribers =
                [this] {
                    if (publisher_ != nullptr) publisher_->publisher().give_up();
                },
            .close = [this] { close(); },
            .add_notices = [this](pipeline::Notices& lines) { pipeline::append(notices(), lines); },
            .add_states = [this](pipeline::States& states) { states["send"] = describe(); },
            .add_latency = [this](pipeline::Latencies& latency) { add_latency(latency); }};
}

void CameraOutlet::add_latency(pipeline::Latencies& latency) const {
    for (std::size_t leg = 0; leg < camera_leg_names.size(); ++leg) latency[camera_leg_names[leg]] = &(*latency_)[leg];
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraOutlet::do_work() noexcept {
    const bool draining = draining_.load(std::memory_order_acquire);  // pairs with the stage's drain
    const std::size_t n_sent = send_events();
    const bool streamed = stream_ != nullptr && stream_->do_work() > 0;
    const bool waits_for_receiver = stream_ != nullptr && stream_->is_connected() && !stream_->is_drained();
    if (n_sent == 0 && draining && !holds_event_ && events_.is_empty() && !waits_for_receiver)
        drained_.store(true, std::memory_order_release);  // pairs with the stage's is_drained
    return n_sent + (streamed ? 1 : 0);
}

/// Receivers and subscribers do not tell when they have room, and parts of an event have a time-out.
Nanoseconds CameraOutlet::longest_wait_ns() const noexcept {
    return stream_ != nullptr || holds_event_ || !events_.is_empty() ? usual_wait_ns : longest_idle_ns;
}

std::size_t CameraOutlet::send_events() noexcept {
    std::size_t n_sent = 0;
    for (; n_sent < config_.max_events_per_step; ++n_sent) {
        if (!holds_event_) {
            if (!events_.try_take(event_)) break;
            look_at(event_);
        }
        holds_event_ = !try_publish();
        if (holds_event_) break;
        record_latency(event_, clock_.wall_ns());
        events_.release(event_);
    }
    return n_sent;
}

bool CameraOutlet::try_publish() noexcept {
    return publisher_ == nullptr || !verdict_.is_kept() || publisher_->try_publish(event_, pixels_, verdict_);
}

void CameraOutlet::look_at(const CameraEventView& event) noexcept {
    counters_.add(pipeline::SendCounter::events_in);
    counters_.add(pipeline::SendCounter::bytes_in, std::uint64_t{event.n_present} * event.shape.max_payload_bytes);
    verdict_ = {.kept_by = KeptBy::no_filter};
    if (integrator_ != nullptr) {
        pixels_ = integrator_->integrate(event);
        verdict_ = filter_->decide(event, pixels_);
        lay_aside(event, pixels_, verdict_);
    }
    counters_.add(verdict_.is_kept() ? pipeline::SendCounter::events_kept : pipeline::SendCounter::events_filtered);
    if (verdict_.is_kept() && encoder_ != nullptr) hand_on(event, verdict_);
}

/// An event that cannot be encoded is counted by the encoder.
void CameraOutlet::hand_on(const CameraEventView& event, const Verdict& verdict) noexcept {
    const std::size_t n_bytes = encoder_->encode_event(event, record_);
    if (n_bytes == 0) return;
    const std::span<const std::byte> record = std::span(record_).first(n_bytes);
    if (writer_ != nullptr) writer_->write(event, verdict, record);
    if (stream_ != nullptr) stream_->offer(record);
}

void CameraOutlet::record_latency(const CameraEventView& event, Nanoseconds sent_ns) noexcept {
    const auto record = [this](CameraLeg leg, Nanoseconds from_ns, Nanoseconds to_ns) {
        (*latency_)[static_cast<std::size_t>(leg)].record(to_ns - from_ns);
    };
    record(CameraLeg::first_to_built, event.first_ns, event.closed_ns);
    record(CameraLeg::built_to_sent, event.closed_ns, sent_ns);
    record(CameraLeg::first_to_sent, event.first_ns, sent_ns);
}

void CameraOutlet::lay_aside(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept {
    if (event.closed_ns - image_laid_ns_ < config_.image_every_ns) return;
    image_laid_ns_ = event.closed_ns;
    image_ = {.event_number = event.event_number,
              .n_pixels = static_cast<std::uint32_t>(std::min<std::size_t>(pixels.charge.size(), max_image_pixels)),
              .verdict = verdict,
              .charge = {}};
    std::copy_n(pixels.charge.begin(), image_.n_pixels, image_.charge.begin());
    if (!images_->try_give(image_)) counters_.add(pipeline::SendCounter::images_dropped);
}

/// After the thread has stopped: what waits for a receiver is given up, the file is closed.
void CameraOutlet::close() {
    if (publisher_ != nullptr) publisher_->publisher().close();
    if (stream_ != nullptr) stream_->close();
    if (writer_ != nullptr && !writer_->close()) store_error_ = writer_->last_error();
}

pipeline::Notices CameraOutlet::notices() {
    using enum CameraStreamCounter;
    pipeline::Notices lines;
    if (!store_error_.empty())
        lines.push_back(fmt::format("the file {} is not complete: {}", config_.file, std::exchange(store_error_, {})));
    if (publisher_ != nullptr) pipeline::append(publisher_->publisher().notices(), lines);
    if (stream_ == nullptr) return lines;
    const auto& counters = stream_->counters();
    const auto tell = [&](pipeline::AddedNotice& drops, std::uint64_t n_so_far, const char* cause) {
        if (const std::uint64_t n = drops.added(n_so_far); n > 0)
            lines.push_back(fmt::format("the stream to {}:{} dropped {} events: {}", config_.stream.host,
                                        config_.stream.port, n, cause));
    };
    tell(drops_queue_full_, counters[dropped_queue_full], "its receiver is slower than they come");
    tell(drops_not_connected_, counters[dropped_not_connected], "nobody receives there");
    return lines;
}

std::string CameraOutlet::describe() const {
    std::string words = integrator_ == nullptr
                            ? "events are handed on unseen"
                            : fmt::format("pixels integrated on {}, filter {}", name_of(integrator_->isa()),
                                          config_.filter.enabled ? "on" : "off");
    if (writer_ != nullptr) words += fmt::format(", into {}", config_.file);
    if (stream_ != nullptr) words += fmt::format(", to {}:{}", config_.stream.host, config_.stream.port);
    if (publisher_ != nullptr) words += ", " + publisher_->publisher().describe();
    return words;
}

}  // namespace anello::camera
