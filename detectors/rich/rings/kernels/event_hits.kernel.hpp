// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/hd.hpp"
#include "rich/rings/ring_finder.hpp"

/// Hits in the form that the kernels use: origin at the middle of the acceptance, unit 100 mm (sums of fourth powers
/// then stay near one), and also z = u^2 + v^2, so that the distance to a circle is linear in (u, v, z).
namespace anello::rich {

inline constexpr float unit_mm = 100;
inline constexpr float far_away = 1e4f;  ///< z of an absent hit: outside every window

struct alignas(64) EventHits {
    float u[max_hits_per_event], v[max_hits_per_event], z[max_hits_per_event];
    int n;
};

/// The hits of one event, before any check.
struct HitSpan {
    const float *x_mm, *y_mm;
    int n;
    std::uint8_t flags;
};

template <class L>
ANELLO_HD HitSpan span_of(const HitsView& hits, std::uint32_t event) {
    const std::uint32_t first = hits.hit_offset[event], last = hits.hit_offset[event + 1];
    HitSpan span{hits.x_mm + first, hits.y_mm + first, static_cast<int>(last - first), 0};
    if (last < first) {
        span.n = 0;
        span.flags = bad_offsets;
    } else if (last - first > max_hits_per_event) {
        span.n = static_cast<int>(max_hits_per_event);
        span.flags = hits_truncated;
    }
    return span;
}

/// The comparison is false for NaN.
template <class L>
ANELLO_HD bool is_usable(float x_mm, float y_mm) {
    return __builtin_fabsf(x_mm) < max_coordinate_mm && __builtin_fabsf(y_mm) < max_coordinate_mm;
}

/// Converts a coordinate to kernel units.
template <class L>
ANELLO_LANE typename L::F in_units(typename L::F mm, float centre_mm) {
    return (mm - centre_mm) * (1 / unit_mm);
}

/// Adds absent hits after the last of n, up to a multiple of sixteen.
template <class L>
ANELLO_HD void fill_up(EventHits& hits, int n) {
    ANELLO_ROLLED
    for (int i = n; Team<L>::leads() && i < ((n + 15) & ~15); ++i) {
        hits.u[i] = hits.v[i] = 0;
        hits.z[i] = far_away;
    }
}

/// Loads all hits of the span; false if one is not usable. The last registers overlap, so that none reads past the end.
template <class L>
ANELLO_HD bool load_all_hits(const HitSpan& span, const Acceptance& acceptance, EventHits& out) {
    out.n = span.n;
    ANELLO_ROLLED
    for (int at = span.n & ~15; at < ((span.n + 15) & ~15); at += L::width) {
        L::store(out.u + at, L::set(0));
        L::store(out.v + at, L::set(0));
        L::store(out.z + at, L::set(far_away));
    }
    const auto most = L::set(max_coordinate_mm);
    bool usable = true;
    ANELLO_ROLLED
    for (int at = 0; at < span.n; at += L::width) {
        const int i = at + L::width <= span.n ? at : span.n - L::width;
        const auto x_mm = L::load_anywhere(span.x_mm + i), y_mm = L::load_anywhere(span.y_mm + i);
        const auto good = L::both(L::less(L::abs(x_mm), most), L::less(L::abs(y_mm), most));
        usable = usable && L::bits(good) == (1u << L::width) - 1;
        const auto u = in_units<L>(x_mm, acceptance.centre_x_mm), v = in_units<L>(y_mm, acceptance.centre_y_mm);
        L::store_anywhere(out.u + i, u);
        L::store_anywhere(out.v + i, v);
        L::store_anywhere(out.z + i, u * u + v * v);
    }
    return usable;
}

/// Copies the usable hits, in order.
/// PERF NOTE: usually all hits are usable, and enough to fill a register.
template <class L>
ANELLO_HD void load_hits(const HitSpan& span, const Acceptance& acceptance, EventHits& out, std::uint8_t& flags) {
    using S = typename L::Scalar;
    flags = span.flags;
    if (span.n >= L::width && load_all_hits<L>(span, acceptance, out)) return;
    int n = 0;
    ANELLO_ROLLED
    for (int i = 0; i < span.n; ++i) {
        if (!is_usable<L>(span.x_mm[i], span.y_mm[i])) continue;
        const float u = in_units<S>(span.x_mm[i], acceptance.centre_x_mm);
        const float v = in_units<S>(span.y_mm[i], acceptance.centre_y_mm);
        out.u[n] = u;
        out.v[n] = v;
        out.z[n++] = u * u + v * v;
    }
    if (n < span.n) flags |= hits_rejected;
    out.n = n;
    fill_up<L>(out, n);
}

/// One event per lane: hit i of all lanes is stored together.
template <class L>
struct alignas(64) LaneHits {
    float u[max_hits_per_event][L::width], v[max_hits_per_event][L::width], z[max_hits_per_event][L::width];
    float n[L::width];  ///< hits in use; 0 in an empty lane
    int n_max;
    int n_lanes;  ///< lanes filled
    std::uint32_t event[L::width];
    std::uint8_t flags[L::width];
};

template <class L>
ANELLO_HD void clear_lanes(LaneHits<L>& lanes) {
    lanes.n_max = lanes.n_lanes = 0;
    ANELLO_ROLLED
    for (int lane = 0; lane < L::width; ++lane) lanes.n[lane] = 0;
}

/// Puts an event into the next free lane.
template <class L>
ANELLO_HD void add_lane(const HitSpan& span, std::uint32_t event, LaneHits<L>& lanes) {
    const int lane = lanes.n_lanes++;
    int n = 0;
    ANELLO_ROLLED
    for (int i = 0; i < span.n; ++i) {
        lanes.u[n][lane] = span.x_mm[i];
        lanes.v[n][lane] = span.y_mm[i];
        n += is_usable<L>(span.x_mm[i], span.y_mm[i]);
    }
    lanes.n[lane] = static_cast<float>(n);
    lanes.n_max = n > lanes.n_max ? n : lanes.n_max;
    lanes.event[lane] = event;
    lanes.flags[lane] = static_cast<std::uint8_t>(span.flags | (n < span.n ? hits_rejected : 0));
}

/// Converts to kernel units, and fills each lane with absent hits after its last one; before, these are undefined.
template <class L>
ANELLO_HD void finish_lanes(const Acceptance& acceptance, LaneHits<L>& lanes) {
    const auto n = L::load(lanes.n), zero = L::set(0);
    ANELLO_ROLLED
    for (int i = 0; i < lanes.n_max; ++i) {
        const auto present = L::less(L::set(static_cast<float>(i)), n);
        const auto u = L::select(present, in_units<L>(L::load(lanes.u[i]), acceptance.centre_x_mm), zero);
        const auto v = L::select(present, in_units<L>(L::load(lanes.v[i]), acceptance.centre_y_mm), zero);
        L::store(lanes.u[i], u);
        L::store(lanes.v[i], v);
        L::store(lanes.z[i], L::select(present, u * u + v * v, L::set(far_away)));
    }
}

}  // namespace anello::rich
