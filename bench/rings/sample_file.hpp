// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rich/tests/rings/sample.hpp"

namespace rings {

/// Writes a sample for other programs (bench/system/ring_sample.py reads it): little-endian, without padding,
///   "ANELRING", u32 n_events, u32 n_hits, u32 n_rings, u32 hit_offset[n_events + 1], u32 ring_offset[n_events + 1],
///   f32 x_mm[n_hits], f32 y_mm[n_hits], then per ring f32 x_mm, f32 y_mm, f32 radius_mm, i32 n_hits.
/// Throws std::runtime_error where the file cannot be written.
void write_sample(const Sample& sample, const std::string& path);

}  // namespace rings
