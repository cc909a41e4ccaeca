// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/errors.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t images_kept = 16;
static_assert(offsetof(CameraImage, verdict) == 8 && offsetof(CameraImage, verdict.multiplicity) == 9 &&
                  offsetof(CameraImage, verdict.n_pixels_above) == 10 &&
                  offsetof(CameraImage, verdict.charge_sum) == 12 && offsetof(CameraImage, charge) == 16,
              "last_event.py reads it so");

}  // namespace

CameraSelection::CameraSelection(const CameraOutletConfig& config, CameraEvents& events, KeptEvents* kept,
                                 const Clock& clock, CounterPage& page)
    : config_(config),
      events_(events),
      kept_(kept),
      clock_(clock),
      counters_(page.add_block<pipeline::SendCounter>("send")),
      event_slot_(page.event()),
      images_(std::make_unique<memory::SpscRing<CameraImage>>(images_kept)) {
    for (std::size_t leg = 0; leg < latency_.size(); ++leg) latency_[leg] = &page.add_leg(camera_leg_names[leg]);
    if (!config_.integrate) {
        if (!config_.calibrate.is_on()) return;
        throw ConfigError("camera_calibrate.file", "must be empty where camera.payload_bytes gives fragments no shape",
                          config_.calibrate.file, "There are no samples to calibrate.");
    }
    const IntegratorConfig& pixels = config_.integrator;
    integrator_ = std::make_unique<PixelIntegrator>(config_.pixels());
    const CameraGeometry geometry = camera_geometry(config_.pixels_file, pixels.n_boards, pixels.pixels_per_board);
    filter_ = std::make_unique<CameraFilter>(config_.filter, geometry, page);
    if (config_.calibrate.is_on())
        calibration_ =
            std::make_unique<EventCalibration>(config_.calibrate,
                                               CalibratedShape{pixels.n_boards, pixels.pixels_per_board, pixels.n_gains,
                                                               pixels.n_samples, pixels.gain_ratio},
                                               geometry.pixel_id, page);
}

pipeline::Stage CameraSelection::stage() {
    return {.name = "filter",
            .do_work = [this](std::uint32_t) { return do_work(); },
            .longest_wait_ns = [this](std::uint32_t) { return longest_wait_ns(); },
            .drain = [this] { draining_.store(true, std::memory_order_release); },      // pairs with do_work()
            .is_drained = [this] { return drained_.load(std::memory_order_acquire); },  // pairs with do_work()
            .add_states = [this](pipeline::States& states) { states["filter"] = describe(); },
            .add_latency = [this](pipeline::Latencies& latency) { add_latency(latency); },
            .add_latency_over_time =
                [this](pipeline::LatenciesOverTime& latency) { latency["first_to_sent"] = &first_to_sent_; }};
}

void CameraSelection::add_latency(pipeline::Latencies& latency) const {
    for (std::size_t leg = 0; leg < camera_leg_names.size(); ++leg)
        latency[camera_leg_names[leg]] = &latency_[leg]->run();
}

std::string CameraSelection::describe() const {
    if (integrator_ == nullptr) return "events are handed on unseen";
    const std::string calibrated = calibration_ ? fmt::format("calibrated ({}), ", calibration_->describe()) : "";
    return fmt::format("{}pixels integrated on {}, filter {}", calibrated, name_of(integrator_->isa()),
                       config_.filter.enabled ? "on" : "off");
}

std::vector<store::FileAttribute> CameraSelection::attributes() const {
    return calibration_ ? calibration_->attributes() : std::vector<store::FileAttribute>{};
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraSelection::do_work() noexcept {
    const bool draining = draining_.load(std::memory_order_acquire);  // pairs with the stage's drain
    const std::size_t n_done = reclaim() + decide_events();
    const bool is_away = holds_event_ || (kept_ != nullptr && kept_->n_away() > 0);
    if (n_done == 0 && draining && !is_away && events_.is_empty())
        drained_.store(true, std::memory_order_release);  // pairs with the stage's is_drained
    return n_done;
}

/// The sender does not tell when it is done, and parts of an event have a time-out.
Nanoseconds CameraSelection::longest_wait_ns() const noexcept {
    const bool is_away = kept_ != nullptr && kept_->n_away() > 0;
    return is_away || !events_.is_empty() ? usual_wait_ns : longest_idle_ns;
}

std::size_t CameraSelection::reclaim() noexcept {
    if (kept_ == nullptr) return 0;
    std::size_t n_done = 0;
    while (const KeptEvent* const kept = kept_->try_reclaim()) {
        record_sent(kept->event, kept->sent_ns);
        events_.release(kept->event);
        ++n_done;
    }
    return n_done;
}

std::size_t CameraSelection::decide_events() noexcept {
    std::size_t n_decided = 0;
    for (; n_decided < config_.max_events_per_step; ++n_decided) {
        if (!holds_event_) {
            if (!events_.try_take(event_)) break;
            look_at(event_);
        }
        holds_event_ = !try_hand_on();
        if (holds_event_) break;
    }
    return n_decided;
}

void CameraSelection::look_at(const CameraEventView& event) noexcept {
    counters_.add(pipeline::SendCounter::events_in);
    const std::size_t board_bytes =
        config_.integrate ? config_.integrator.board_bytes() : event.shape.max_payload_bytes;
    counters_.add(pipeline::SendCounter::bytes_in, event.n_present * board_bytes);
    verdict_ = {.kept_by = KeptBy::no_filter};
    if (calibration_ != nullptr) calibration_->correct(event);
    if (integrator_ != nullptr) {
        pixels_ = integrator_->integrate(event);
        verdict_ = filter_->decide(event, pixels_);
        lay_aside(event);
    }
    counters_.add(verdict_.is_kept() ? pipeline::SendCounter::events_kept : pipeline::SendCounter::events_filtered);
    decided_ns_ = clock_.wall_ns();
    record(CameraLeg::first_to_built, event.first_ns, event.closed_ns);
    record(CameraLeg::built_to_decided, event.closed_ns, decided_ns_);
    record(CameraLeg::first_to_decided, event.first_ns, decided_ns_);
}

bool CameraSelection::try_hand_on() noexcept {
    if (kept_ != nullptr && verdict_.is_kept()) return kept_->try_give(event_, pixels_, verdict_);
    record_sent(event_, decided_ns_);
    events_.release(event_);
    return true;
}

void CameraSelection::record(CameraLeg leg, Nanoseconds from_ns, Nanoseconds to_ns) noexcept {
    latency_[static_cast<std::size_t>(leg)]->record(to_ns, to_ns - from_ns);
}

void CameraSelection::record_sent(const CameraEventView& event, Nanoseconds sent_ns) noexcept {
    record(CameraLeg::built_to_sent, event.closed_ns, sent_ns);
    record(CameraLeg::first_to_sent, event.first_ns, sent_ns);
    first_to_sent_.record(sent_ns, sent_ns - event.first_ns);
}

void CameraSelection::lay_aside(const CameraEventView& event) noexcept {
    const bool is_wanted = event.closed_ns - image_laid_ns_ >= config_.image_every_ns;
    const bool is_shown = verdict_.is_kept() && event_slot_.wants(event.closed_ns);
    if (!is_wanted && !is_shown) return;
    make_image(event);
    if (is_shown) {
        const std::size_t n_bytes = offsetof(CameraImage, charge) + image_.n_pixels * sizeof(float);
        event_slot_.put("camera", event.closed_ns, std::as_bytes(std::span(&image_, 1)).first(n_bytes));
    }
    if (!is_wanted) return;
    image_laid_ns_ = event.closed_ns;
    if (!images_->try_give(image_)) counters_.add(pipeline::SendCounter::images_dropped);
}

void CameraSelection::make_image(const CameraEventView& event) noexcept {
    image_ = {.event_number = event.event_number,
              .n_pixels = static_cast<std::uint32_t>(std::min<std::size_t>(pixels_.charge.size(), max_image_pixels)),
              .verdict = verdict_,
              .charge = {}};
    std::copy_n(pixels_.charge.begin(), image_.n_pixels, image_.charge.begin());
}

}  // namespace anello::camera
