// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "rich/decide/decider.hpp"

namespace anello::rich {

/// A device whose rings give the positions and the hits that it received; it fails from a certain batch on.
class DeviceByIds final : public BatchFinder {
  public:
    DeviceByIds(const Placement& placement, int n_sends, int n_collects)
        : placement_(placement), n_sends_left_(n_sends), n_collects_left_(n_collects) {}
    std::uint32_t max_under_way() const noexcept override { return 2; }
    bool find(const HitsView& hits, EventRings* rings) noexcept override {
        EXPECT_TRUE(sent_.empty()) << "a batch is under way";
        for (std::uint32_t event = 0; event < hits.n_events; ++event) rings[event].n_rings = 0;
        return true;
    }
    bool send(const HitIdsView& hits) noexcept override {
        EXPECT_LT(sent_.size(), 2U);
        if (n_sends_left_-- <= 0) return false;
        sent_.push_back(hits);
        return true;
    }
    bool collect(EventRings* rings, PlacedHits& placed) noexcept override {
        const HitIdsView hits = sent_.front();
        sent_.erase(sent_.begin());
        for (std::uint32_t event = 0; event < hits.n_events; ++event) {
            const std::uint16_t first = hits.hit_id[hits.hit_offset[event]];
            rings[event].n_rings = 1;
            rings[event].flags = 0;
            rings[event].ring[0] = {placement_.position[first].x_mm, placement_.position[first].y_mm, 2, 3};
        }
        placed = {hits.hit_offset[hits.n_events] - 3, 1};
        return n_collects_left_-- > 0;
    }
    std::string_view device_name() const noexcept override { return "by ids"; }

  private:
    Placement placement_;
    int n_sends_left_, n_collects_left_;
    std::vector<HitIdsView> sent_;
};

inline DeciderConfig with_device_by_ids(int n_sends = 100, int n_collects = 100) {
    DeciderConfig config;
    config.make_device = [=](const Placement& placement) {
        return std::make_unique<DeviceByIds>(placement, n_sends, n_collects);
    };
    return config;
}

}  // namespace anello::rich
