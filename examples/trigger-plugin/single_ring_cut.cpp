// SPDX-License-Identifier: Apache-2.0
// A trigger algorithm of one's own: the single-ring cut of NA62's high-level trigger. An event with 4 to 21 hits,
// spread over at most 400 mm, is fitted as one ring; an event without a ring sends no primitive.
//   trigger.plugin_parameters = "MIN_HITS MAX_HITS SPREAD_MM", each of them optional
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <sstream>

#include "rich/plugin_abi.h"

namespace {

struct Cut {
    unsigned min_hits = 4, max_hits = 21;
    float spread_mm = 400;
};

struct Hits {
    const float *x_mm, *y_mm;
    unsigned n;
};

float extent(const float* values, unsigned n) {
    const auto [least, greatest] = std::minmax_element(values, values + n);
    return *greatest - *least;
}

/// Least sum of (d^2 - R^2)^2 over the hits: a linear 2x2 system around their mean (Crawford, NIM 211 (1983) 223).
anello_ring fit(const Hits& hits) {
    double x0 = 0, y0 = 0;
    for (unsigned i = 0; i < hits.n; ++i) {
        x0 += double{hits.x_mm[i]} / hits.n;
        y0 += double{hits.y_mm[i]} / hits.n;
    }
    double uu = 0, uv = 0, vv = 0, a = 0, b = 0;
    for (unsigned i = 0; i < hits.n; ++i) {
        const double u = hits.x_mm[i] - x0, v = hits.y_mm[i] - y0, square = u * u + v * v;
        uu += u * u;
        uv += u * v;
        vv += v * v;
        a += u * square / 2;
        b += v * square / 2;
    }
    const double determinant = uu * vv - uv * uv;  // 0 for hits on one line: what follows is then no number
    const double u = (a * vv - b * uv) / determinant, v = (b * uu - a * uv) / determinant;
    const double radius = std::sqrt(u * u + v * v + (uu + vv) / hits.n);
    return {static_cast<float>(x0 + u), static_cast<float>(y0 + v), static_cast<float>(radius), hits.n};
}

}  // namespace

extern "C" {

uint32_t anello_trigger_abi_version(void) {
    return ANELLO_TRIGGER_ABI_VERSION;
}

void* anello_trigger_create(const char* parameters, char* error, size_t error_size) {
    Cut cut;
    std::istringstream words(parameters);
    words >> cut.min_hits >> cut.max_hits >> cut.spread_mm;
    if ((words.fail() && !words.eof()) || cut.min_hits < 3 || cut.max_hits < cut.min_hits) {
        std::snprintf(error, error_size, "They are MIN_HITS (at least 3) MAX_HITS SPREAD_MM, such as: 4 21 400");
        return nullptr;
    }
    return new (std::nothrow) Cut(cut);
}

int anello_trigger_decide(void* handle, const anello_trigger_batch* batch, anello_trigger_decisions* out) {
    const Cut& cut = *static_cast<const Cut*>(handle);
    for (uint32_t event = 0; event < batch->n_events; ++event) {
        const uint32_t first = batch->hit_offset[event];
        const Hits hits{batch->x_mm + first, batch->y_mm + first, batch->hit_offset[event + 1] - first};
        out->primitive_id[event] = 0;
        if (hits.n < cut.min_hits || hits.n > cut.max_hits) continue;
        if (extent(hits.x_mm, hits.n) > cut.spread_mm || extent(hits.y_mm, hits.n) > cut.spread_mm) continue;
        const anello_ring ring = fit(hits);
        if (!std::isfinite(ring.radius_mm)) continue;
        out->ring[event * ANELLO_MAX_RINGS] = ring;
        out->n_rings[event] = 1;
        out->primitive_id[event] = ANELLO_PRIMITIVE_DEFAULT;
    }
    return 0;
}

void anello_trigger_destroy(void* handle) {
    delete static_cast<Cut*>(handle);
}
}
