// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/pixels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "camera/events/builder/builder_config.hpp"
#include "core/errors.hpp"
#include "core/thread.hpp"

namespace anello::camera {

PixelView SeenEvent::view() const noexcept {
    BoardsLeftOut left_out;
    for (const Share& share : shares) left_out += share.left_out;
    return pixels.view(left_out);
}

CameraPixels::CameraPixels(const CameraOutletConfig& config, const CameraGeometry* geometry, CounterPage& page)
    : has_threads_(config.integrate && n_threads_of(config.filter.n_threads) > 0) {
    const std::uint32_t n_lanes = has_threads_ ? n_threads_of(config.filter.n_threads) : 1;
    if (geometry != nullptr) {
        const IntegratorConfig& pixels = config.integrator;
        integrator_ = std::make_unique<PixelIntegrator>(config.pixels());
        if (config.calibrate.is_on())
            calibration_ =
                std::make_unique<EventCalibration>(config.calibrate,
                                                   CalibratedShape{pixels.n_boards, pixels.pixels_per_board,
                                                                   pixels.n_gains, pixels.n_samples, pixels.gain_ratio},
                                                   geometry->pixel_id, page);
    } else if (config.calibrate.is_on()) {
        throw ConfigError("camera_calibrate.file", "must be empty where camera.payload_bytes gives fragments no shape",
                          config.calibrate.file, "There are no samples to calibrate.");
    }
    events_.resize(has_threads_ ? n_in_flight : 1);
    for (SeenEvent& seen : events_) {
        if (integrator_) seen.pixels = PixelMemory(integrator_->n_pixels());
        seen.shares.resize(n_lanes);
    }
    for (auto i = static_cast<std::uint32_t>(events_.size()); i-- > 0;) free_.push_back(i);
    for (std::uint32_t lane = 0; lane < n_lanes; ++lane)
        lanes_.emplace_back(boards_of_group(config.integrator.n_boards, n_lanes, lane), events_.size());
}

pipeline::Stage CameraPixels::stage() {
    return {.name = "pixels",
            .n_lanes = static_cast<std::uint32_t>(lanes_.size()),
            .is_aside = true,
            .do_work = [this](std::uint32_t lane) { return do_work(lane); },
            .has_input =
                [this](std::uint32_t) {
                    return std::ranges::any_of(lanes_, [](const Lane& lane) { return lane.given.size() > 0; });
                },
            .has_given_back = [this](std::uint32_t lane) { return lanes_[lane].done.size() > 0; },
            .longest_wait_ns = pipeline::no_timers};
}

std::string CameraPixels::describe() const {
    if (integrator_ == nullptr) return "";
    const std::string calibrated = calibration_ ? fmt::format("calibrated ({}), ", calibration_->describe()) : "";
    const std::string threads = has_threads_ ? fmt::format(" by {} thread(s)", lanes_.size()) : "";
    return fmt::format("{}pixels integrated on {}{}", calibrated, name_of(integrator_->isa()), threads);
}

std::vector<store::FileAttribute> CameraPixels::attributes() const {
    return calibration_ ? calibration_->attributes() : std::vector<store::FileAttribute>{};
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void CameraPixels::give(const CameraEventView& event) noexcept {
    const std::uint32_t i = free_.back();
    free_.pop_back();
    events_[i].event = event;
    for (Lane& lane : lanes_) lane.given.try_give(i);  // has room for all
    if (!has_threads_) do_work(0);
}

std::size_t CameraPixels::do_work(std::uint32_t number) noexcept {
    Lane& lane = lanes_[number];
    std::uint32_t i = 0;
    if (!lane.given.try_take(i)) return 0;
    look_at(events_[i], number);
    lane.done.try_give(i);  // has room for all
    return 1;
}

/// Calibrates and integrates board by board, so that calibrated samples are still in the first-level cache.
void CameraPixels::look_at(SeenEvent& seen, std::uint32_t number) noexcept {
    SeenEvent::Share& share = seen.shares[number];
    share = {};
    if (integrator_ == nullptr) return;
    const BoardRange boards = lanes_[number].boards;
    const std::uint32_t end = boards.first + boards.count;
    for (std::uint32_t board = boards.first; board < end; ++board) {
        if (board + 1 < end) {
            integrator_->prefetch(seen.event, board + 1);
            if (calibration_) calibration_->prefetch(seen.event, board + 1);
        }
        if (calibration_) calibration_->correct(seen.event, board, share.calibrated);
        share.left_out += integrator_->integrate(seen.event, board, seen.pixels);
    }
}

SeenEvent* CameraPixels::try_take() noexcept {
    if (!std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.done.size() > 0; })) return nullptr;
    std::uint32_t i = 0;
    for (Lane& lane : lanes_) lane.done.try_take(i);  // all lanes return events in the same order
    if (calibration_) {
        for (const SeenEvent::Share& share : events_[i].shares) calibration_->count(share.calibrated);
        CalibrationTally one;
        one.add(CalibrateCounter::events_in);
        calibration_->count(one);
    }
    return &events_[i];
}

void CameraPixels::give_back(const SeenEvent& seen) noexcept {
    free_.push_back(static_cast<std::uint32_t>(&seen - events_.data()));  // never allocates
}

}  // namespace anello::camera
