// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>

#include "rich/decide/decision.hpp"
#include "store/columns.hpp"

/// What is stored and published of a decision: each quantity is declared here, and nowhere else.
namespace anello::rich {

/// A decision that waits for the writing thread.
struct DecidedEvent {
    std::uint64_t key, ring_offset;
    Nanoseconds sent_ns, kernel_ns, placed_ns, built_ns, decided_ns;
    std::uint16_t primitive_id;
    std::uint8_t fine_time, flags, n_rings, ring_flags;
};

/// A column of decisions that a batch has for each of its events, or once for all of them.
template <typename T>
struct DecisionColumn : store::Column<DecidedEvent, T> {
    using Base = store::Column<DecidedEvent, T>;
    constexpr DecisionColumn(const char* its_name, const char* its_unit, const char* its_meaning,
                             T DecidedEvent::*its_member, const T* DecisionBatch::*of_events)
        : Base(its_name, its_unit, its_meaning, its_member), values(of_events) {}
    constexpr DecisionColumn(const char* its_name, const char* its_unit, const char* its_meaning,
                             T DecidedEvent::*its_member, T DecisionBatch::*of_batch)
        : Base(its_name, its_unit, its_meaning, its_member), value(of_batch) {}

    const T* DecisionBatch::*values = nullptr;
    T DecisionBatch::*value = nullptr;

    T of(const DecisionBatch& batch, std::uint32_t event) const noexcept {
        return values != nullptr ? (batch.*values)[event] : batch.*value;
    }
};

inline constexpr const char* wall_clock = "ns, wall clock";
inline constexpr std::tuple decision_columns{
    DecisionColumn("event_key", "burst << 32 | tick of 24.951 ns", "which event", &DecidedEvent::key,
                   &DecisionBatch::event_key),
    DecisionColumn("fine_time", "1/256 tick", "time within the tick", &DecidedEvent::fine_time,
                   &DecisionBatch::fine_time),
    DecisionColumn("flags", "bits", "1: a board is missing, 2: hits truncated", &DecidedEvent::flags,
                   &DecisionBatch::event_flags),
    DecisionColumn("primitive_id", "", "0: no primitive", &DecidedEvent::primitive_id, &DecisionBatch::primitive_id),
    DecisionColumn("sent_ns", wall_clock, "sent by the front end; 0: not known", &DecidedEvent::sent_ns,
                   &DecisionBatch::sent_ns),
    DecisionColumn("kernel_ns", wall_clock, "received by the system; 0: none", &DecidedEvent::kernel_ns,
                   &DecisionBatch::kernel_ns),
    DecisionColumn("placed_ns", wall_clock, "handed on by receive", &DecidedEvent::placed_ns,
                   &DecisionBatch::placed_ns),
    DecisionColumn("built_ns", wall_clock, "handed on by build", &DecidedEvent::built_ns, &DecisionBatch::built_ns),
    DecisionColumn("decided_ns", wall_clock, "decided by the trigger", &DecidedEvent::decided_ns,
                   &DecisionBatch::decided_ns),
};
/// A file says in these columns where the rings of an event are; a record says it in its own.
inline constexpr std::tuple file_columns = std::tuple_cat(
    decision_columns, std::tuple{
                          store::Column{"n_rings", "", "rings found", &DecidedEvent::n_rings},
                          store::Column{"ring_offset", "row", "first ring of the event", &DecidedEvent::ring_offset},
                          store::Column{"ring_flags", "bits", "of the search: RingFlag", &DecidedEvent::ring_flags},
                      });

inline constexpr std::tuple ring_columns{
    store::Column{"ring_x_mm", "mm", "ring centre, fit frame", &Ring::x_mm},
    store::Column{"ring_y_mm", "mm", "ring centre, fit frame", &Ring::y_mm},
    store::Column{"ring_radius_mm", "mm", "ring radius", &Ring::radius_mm},
    store::Column{"ring_n_hits", "", "hits on the ring", &Ring::n_hits},
};
inline constexpr std::tuple quality_columns{
    store::Column{"ring_n_assigned", "", "hits likelier of this ring than of another or of noise",
                  &RingQuality::n_assigned},
    store::Column{"ring_log_likelihood_ratio", "natural logarithm",
                  "likelihood with this ring over that without it; NaN: not judged",
                  &RingQuality::log_likelihood_ratio},
    store::Column{"ring_covariance_mm2",
                  "mm^2",
                  "of centre x, y and radius; NaN: not judged",
                  &RingQuality::covariance_mm2,
                  {3, 3}},
};

}  // namespace anello::rich
