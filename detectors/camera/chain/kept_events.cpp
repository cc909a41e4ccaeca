// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/kept_events.hpp"

#include <algorithm>

namespace anello::camera {

KeptEvents::KeptEvents(std::uint32_t n_events, std::uint32_t n_pixels)
    : events_(n_events), to_send_(n_events), sent_(n_events) {
    for (KeptEvent& event : events_) {
        event.charge.resize(n_pixels);
        event.peak_sample.resize(n_pixels);
        event.flags.resize(n_pixels);
    }
    for (std::uint32_t i = n_events; i-- > 0;) free_.push_back(i);
}

void KeptEvent::lay_down(const PixelView& seen) noexcept {
    pixels = {};
    if (seen.charge.size() != charge.size()) return;
    std::ranges::copy(seen.charge, charge.begin());
    std::ranges::copy(seen.peak_sample, peak_sample.begin());
    std::ranges::copy(seen.flags, flags.begin());
    pixels = {.charge = charge,
              .peak_sample = peak_sample,
              .flags = flags,
              .n_boards_missing = seen.n_boards_missing,
              .n_boards_wrong_shape = seen.n_boards_wrong_shape};
}

bool KeptEvents::try_give(const CameraEventView& event, const PixelView& pixels, const Verdict& verdict) noexcept {
    if (free_.empty()) return false;
    KeptEvent& kept = events_[free_.back()];
    kept.event = event;
    kept.verdict = verdict;
    kept.lay_down(pixels);
    to_send_.try_give(free_.back());  // has room for all
    free_.pop_back();
    return true;
}

KeptEvent* KeptEvents::try_take() noexcept {
    std::uint32_t i = 0;
    return to_send_.try_take(i) ? &events_[i] : nullptr;
}

void KeptEvents::give_back(KeptEvent& event) noexcept {
    sent_.try_give(static_cast<std::uint32_t>(&event - events_.data()));  // has room for all
}

const KeptEvent* KeptEvents::try_reclaim() noexcept {
    std::uint32_t i = 0;
    if (!sent_.try_take(i)) return nullptr;
    free_.push_back(i);  // taken for all in the constructor: never grows
    return &events_[i];
}

}  // namespace anello::camera
