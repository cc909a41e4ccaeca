// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "rich/tests/rings/sample.hpp"

namespace rings {

/// Events from CSV files, each with the ring of the experiment's own reconstruction as the truth.
/// hits: event,pmt_seq,disk,x_mm,y_mm,in_time; rings: event,particle,ring_x_mm,ring_y_mm,ring_radius_mm,...
/// Throws std::runtime_error where a file cannot be read.
Sample read_events(const std::string& hits_path, const std::string& rings_path, bool in_time_only);

}  // namespace rings
