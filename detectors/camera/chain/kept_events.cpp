// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/kept_events.hpp"

#include <algorithm>

namespace anello::camera {

KeptEvents::KeptEvents(std::uint32_t n_events, std::uint32_t n_pixels, std::uint32_t n_lanes)
    : events_(n_events), sent_(n_events) {
    for (std::uint32_t lane = 0; lane < std::max(n_lanes, 1U); ++lane) given_.emplace_back(n_events);
    for (std::uint32_t lane = 0; lane < n_lanes; ++lane) handed_on_.emplace_back(most_behind_lane);
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
    kept.encoded = {};
    kept.lay_down(pixels);
    given_[n_given_++ % given_.size()].try_give(free_.back());  // each ring has room for all events
    free_.pop_back();
    return true;
}

KeptEvent* KeptEvents::try_take_in(std::uint32_t lane) noexcept {
    std::uint32_t i = 0;
    return given_[lane].try_take(i) ? &events_[i] : nullptr;
}

bool KeptEvents::try_hand_on(std::uint32_t lane, const KeptEvent& event) noexcept {
    return handed_on_[lane].try_give(number_of(event));
}

KeptEvent* KeptEvents::try_take() noexcept {
    std::deque<Ring>& rings = handed_on_.empty() ? given_ : handed_on_;
    std::uint32_t i = 0;
    if (!rings[n_taken_ % rings.size()].try_take(i)) return nullptr;
    ++n_taken_;
    return &events_[i];
}

void KeptEvents::give_back(KeptEvent& event) noexcept {
    sent_.try_give(number_of(event));  // has room for all
}

const KeptEvent* KeptEvents::try_reclaim() noexcept {
    std::uint32_t i = 0;
    if (!sent_.try_take(i)) return nullptr;
    free_.push_back(i);  // never allocates: the constructor took memory for all
    return &events_[i];
}

}  // namespace anello::camera
