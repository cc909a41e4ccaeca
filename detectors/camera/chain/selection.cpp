// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

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
      waits_(page.add_block<CameraWaitCounter>("waits")),
      event_slot_(page.event()),
      images_(std::make_unique<memory::SpscRing<CameraImage>>(images_kept)) {
    for (std::size_t leg = 0; leg < latency_.size(); ++leg) latency_[leg] = &page.add_leg(camera_leg_names[leg]);
    std::optional<CameraGeometry> geometry;
    if (config_.integrate) {
        geometry =
            camera_geometry(config_.pixels_file, config_.integrator.n_boards, config_.integrator.pixels_per_board);
        filter_ = std::make_unique<CameraFilter>(config_.filter, *geometry, page);
    }
    pixels_ = std::make_unique<CameraPixels>(config_, geometry ? &*geometry : nullptr, page);
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
    if (filter_ == nullptr) return "events are handed on unseen";
    return fmt::format("{}, filter {}", pixels_->describe(), config_.filter.enabled ? "on" : "off");
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t CameraSelection::do_work() noexcept {
    const bool draining = draining_.load(std::memory_order_acquire);  // pairs with the stage's drain
    const std::size_t n_done = reclaim() + decide_events();
    const bool is_away = pixels_->n_away() > 0 || (kept_ != nullptr && kept_->n_away() > 0);
    if (n_done == 0 && draining && !is_away && events_.is_empty())
        drained_.store(true, std::memory_order_release);  // pairs with the stage's is_drained
    return n_done;
}

/// The threads of the stage pixels wake this one, but the sender does not, and parts of an event have a time-out.
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

/// Gives new events to the pixels' threads first, so that these have work while this thread decides.
std::size_t CameraSelection::decide_events() noexcept {
    std::size_t n_decided = 0;
    for (; n_decided < config_.max_events_per_step; ++n_decided) {
        give_to_pixels();
        if (!try_decide()) break;
        const bool is_handed_on = try_hand_on();
        wait_for(CameraWaitCounter::for_sender, !is_handed_on);
        if (!is_handed_on) break;
        pixels_->give_back(*std::exchange(decided_, nullptr));
    }
    return n_decided;
}

void CameraSelection::give_to_pixels() noexcept {
    CameraEventView event;
    while (pixels_->has_room() && events_.try_take(event)) {
        counters_.add(pipeline::SendCounter::events_in);
        const std::size_t board_bytes =
            config_.integrate ? config_.integrator.board_bytes() : event.shape.max_payload_bytes;
        counters_.add(pipeline::SendCounter::bytes_in, event.n_present * board_bytes);
        pixels_->give(event);
    }
    wait_for(CameraWaitCounter::for_pixels,
             pixels_->has_threads() && decided_ == nullptr && !pixels_->has_room() && !events_.is_empty());
}

bool CameraSelection::try_decide() noexcept {
    if (decided_ != nullptr) return true;
    decided_ = pixels_->try_take();
    if (decided_ != nullptr) decide(*decided_);
    return decided_ != nullptr;
}

void CameraSelection::decide(const SeenEvent& seen) noexcept {
    verdict_ = {.kept_by = KeptBy::no_filter};
    if (filter_ != nullptr) {
        verdict_ = filter_->decide(seen.event, seen.view());
        lay_aside(seen);
    }
    counters_.add(verdict_.is_kept() ? pipeline::SendCounter::events_kept : pipeline::SendCounter::events_filtered);
    decided_ns_ = clock_.wall_ns();
    record(CameraLeg::first_to_built, seen.event.first_ns, seen.event.closed_ns);
    record(CameraLeg::built_to_decided, seen.event.closed_ns, decided_ns_);
    record(CameraLeg::first_to_decided, seen.event.first_ns, decided_ns_);
}

bool CameraSelection::try_hand_on() noexcept {
    if (kept_ != nullptr && verdict_.is_kept()) return kept_->try_give(decided_->event, decided_->view(), verdict_);
    record_sent(decided_->event, decided_ns_);
    events_.release(decided_->event);
    return true;
}

/// Counts each wait once.
void CameraSelection::wait_for(CameraWaitCounter what, bool waits) noexcept {
    bool& is_waiting = is_waiting_[static_cast<std::size_t>(what)];
    if (waits && !is_waiting) waits_.add(what);
    is_waiting = waits;
}

void CameraSelection::record(CameraLeg leg, Nanoseconds from_ns, Nanoseconds to_ns) noexcept {
    latency_[static_cast<std::size_t>(leg)]->record(to_ns, to_ns - from_ns);
}

void CameraSelection::record_sent(const CameraEventView& event, Nanoseconds sent_ns) noexcept {
    record(CameraLeg::built_to_sent, event.closed_ns, sent_ns);
    record(CameraLeg::first_to_sent, event.first_ns, sent_ns);
    first_to_sent_.record(sent_ns, sent_ns - event.first_ns);
}

void CameraSelection::lay_aside(const SeenEvent& seen) noexcept {
    const CameraEventView& event = seen.event;
    const bool is_wanted = event.closed_ns - image_laid_ns_ >= config_.image_every_ns;
    const bool is_shown = verdict_.is_kept() && event_slot_.wants(event.closed_ns);
    if (!is_wanted && !is_shown) return;
    make_image(seen);
    if (is_shown) {
        const std::size_t n_bytes = offsetof(CameraImage, charge) + image_.n_pixels * sizeof(float);
        event_slot_.put("camera", event.closed_ns, std::as_bytes(std::span(&image_, 1)).first(n_bytes));
    }
    if (!is_wanted) return;
    image_laid_ns_ = event.closed_ns;
    if (!images_->try_give(image_)) counters_.add(pipeline::SendCounter::images_dropped);
}

void CameraSelection::make_image(const SeenEvent& seen) noexcept {
    const std::vector<float>& charge = seen.pixels.charge;
    image_ = {.event_number = seen.event.event_number,
              .n_pixels = static_cast<std::uint32_t>(std::min<std::size_t>(charge.size(), max_image_pixels)),
              .verdict = verdict_,
              .charge = {}};
    std::copy_n(charge.begin(), image_.n_pixels, image_.charge.begin());
}

}  // namespace anello::camera
