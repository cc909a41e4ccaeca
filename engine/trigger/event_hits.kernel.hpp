// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "trigger/hd.hpp"
#include "trigger/ring_finder.hpp"

/// Hits as the kernels see them: origin at the middle of the acceptance, unit 100 mm (sums of fourth powers then stay
/// near one), and z = u^2 + v^2 beside them, so that the distance to a circle is linear in (u, v, z).
namespace anello::trigger {

inline constexpr float unit_mm = 100;
inline constexpr float far_away = 1e4f;  ///< z of an absent hit: outside every window

struct alignas(64) EventHits {
    float u[max_hits_per_event], v[max_hits_per_event], z[max_hits_per_event];
    int n;
};

/// The hits of one event, before any is judged.
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

/// Written so that NaN fails it.
template <class L>
ANELLO_HD bool is_usable(float x_mm, float y_mm) {
    return __builtin_fabsf(x_mm) < max_coordinate_mm && __builtin_fabsf(y_mm) < max_coordinate_mm;
}

/// Copies the usable hits, in order, and fills the rest with absent ones.
template <class L>
ANELLO_HD void load_hits(const HitSpan& span, const Acceptance& acceptance, EventHits& out, std::uint8_t& flags) {
    int n = 0;
    for (int i = 0; i < span.n; ++i) {
        out.u[n] = (span.x_mm[i] - acceptance.centre_x_mm) * (1 / unit_mm);
        out.v[n] = (span.y_mm[i] - acceptance.centre_y_mm) * (1 / unit_mm);
        n += is_usable<L>(span.x_mm[i], span.y_mm[i]);
    }
    flags = static_cast<std::uint8_t>(span.flags | (n < span.n ? hits_rejected : 0));
    out.n = n;
    const int padded = (n + 15) & ~15;
    for (int i = n; i < padded; ++i) out.u[i] = out.v[i] = 0;
    for (int i = 0; i < n; ++i) out.z[i] = out.u[i] * out.u[i] + out.v[i] * out.v[i];
    for (int i = n; i < padded; ++i) out.z[i] = far_away;
}

/// One event per lane: hit i of all lanes stands together.
template <class L>
struct alignas(64) LaneHits {
    float u[max_hits_per_event][L::width], v[max_hits_per_event][L::width], z[max_hits_per_event][L::width];
    float n[L::width];  ///< hits in use
    int n_max;
    std::uint8_t flags[L::width];
};

/// Events [first, first + width) of the batch; lanes beyond its end are empty.
template <class L>
ANELLO_HD void load_lanes(const HitsView& hits, std::uint32_t first, const Acceptance& acceptance, LaneHits<L>& out) {
    int n[L::width];
    out.n_max = 0;
    for (int lane = 0; lane < L::width; ++lane) {
        n[lane] = 0;
        out.flags[lane] = 0;
        const std::uint32_t event = first + static_cast<std::uint32_t>(lane);
        if (event >= hits.n_events) continue;
        const HitSpan span = span_of<L>(hits, event);
        int m = 0;
        for (int i = 0; i < span.n; ++i) {
            out.u[m][lane] = span.x_mm[i];
            out.v[m][lane] = span.y_mm[i];
            m += is_usable<L>(span.x_mm[i], span.y_mm[i]);
        }
        n[lane] = m;
        out.flags[lane] = static_cast<std::uint8_t>(span.flags | (m < span.n ? hits_rejected : 0));
        out.n_max = m > out.n_max ? m : out.n_max;
    }
    for (int lane = 0; lane < L::width; ++lane) {
        out.n[lane] = static_cast<float>(n[lane]);
        for (int i = n[lane]; i < out.n_max; ++i) out.u[i][lane] = out.v[i][lane] = 0;
    }
    const auto n_lanes = L::load(out.n);
    for (int i = 0; i < out.n_max; ++i) {
        const auto present = L::less(L::set(static_cast<float>(i)), n_lanes);
        const auto u = L::select(present, (L::load(out.u[i]) - acceptance.centre_x_mm) * (1 / unit_mm), L::set(0));
        const auto v = L::select(present, (L::load(out.v[i]) - acceptance.centre_y_mm) * (1 / unit_mm), L::set(0));
        L::store(out.u[i], u);
        L::store(out.v[i], v);
        L::store(out.z[i], L::select(present, u * u + v * v, L::set(far_away)));
    }
}

}  // namespace anello::trigger
