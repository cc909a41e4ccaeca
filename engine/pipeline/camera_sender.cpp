// SPDX-License-Identifier: Apache-2.0
#include "pipeline/camera_sender.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace anello::pipeline {
namespace {

constexpr std::size_t images_kept = 16;

}  // namespace

CameraSender::CameraSender(const CameraSenderConfig& config, build::CameraJoiner& joiner, const Clock& clock,
                           CounterPage& page)
    : config_(config),
      joiner_(joiner),
      clock_(clock),
      counters_(page.add_block<SendCounter>("send")),
      latency_(std::make_unique<std::array<LatencyHistogram, static_cast<std::size_t>(CameraLeg::count)>>()),
      images_(std::make_unique<memory::SpscRing<CameraImage>>(images_kept)) {
    if (!config_.integrate) return;
    const trigger::IntegratorConfig& shape = config_.integrator;
    integrator_ = std::make_unique<trigger::PixelIntegrator>(shape);
    filter_ = std::make_unique<trigger::CameraFilter>(
        config_.filter, detector::make_camera_geometry(shape.n_boards, shape.pixels_per_board), page);
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraSender::do_work() noexcept {
    const bool draining = draining_.load(std::memory_order_acquire);  // pairs with the release in drain
    std::size_t n_sent = 0;
    for (build::CameraEventView event; n_sent < config_.max_events_per_step && joiner_.try_take(event); ++n_sent) {
        send(event);
        joiner_.release(event);
    }
    if (n_sent == 0 && draining && joiner_.is_empty())
        drained_.store(true, std::memory_order_release);  // pairs with the acquire in is_drained
    return n_sent;
}

void CameraSender::send(const build::CameraEventView& event) noexcept {
    counters_.add(SendCounter::events_in);
    counters_.add(SendCounter::bytes_in, event.n_present * event.shape.max_payload_bytes);
    bool is_kept = true;
    if (integrator_ != nullptr) {
        const trigger::PixelView pixels = integrator_->integrate(event);
        const trigger::Verdict verdict = filter_->decide(event, pixels);
        is_kept = verdict.is_kept();
        lay_aside(event, pixels, verdict);
    }
    counters_.add(is_kept ? SendCounter::events_kept : SendCounter::events_filtered);
    record_latency(event, clock_.wall_ns());
}

void CameraSender::record_latency(const build::CameraEventView& event, Nanoseconds sent_ns) noexcept {
    const auto record = [this](CameraLeg leg, Nanoseconds from_ns, Nanoseconds to_ns) {
        (*latency_)[static_cast<std::size_t>(leg)].record(to_ns - from_ns);
    };
    record(CameraLeg::first_to_built, event.first_ns, event.closed_ns);
    record(CameraLeg::built_to_sent, event.closed_ns, sent_ns);
    record(CameraLeg::first_to_sent, event.first_ns, sent_ns);
}

void CameraSender::lay_aside(const build::CameraEventView& event, const trigger::PixelView& pixels,
                             const trigger::Verdict& verdict) noexcept {
    if (event.closed_ns - image_laid_ns_ < config_.image_every_ns) return;
    image_laid_ns_ = event.closed_ns;
    image_ = {.event_number = event.event_number,
              .n_pixels = static_cast<std::uint32_t>(std::min<std::size_t>(pixels.charge.size(), max_image_pixels)),
              .verdict = verdict,
              .charge = {}};
    std::copy_n(pixels.charge.begin(), image_.n_pixels, image_.charge.begin());
    if (!images_->try_give(image_)) counters_.add(SendCounter::images_dropped);
}

std::string CameraSender::describe() const {
    if (integrator_ == nullptr) return "events are handed on unseen";
    return fmt::format("pixels integrated on {}, filter {}", trigger::name_of(integrator_->isa()),
                       config_.filter.enabled ? "on" : "off");
}

}  // namespace anello::pipeline
