// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/clock.hpp"

/// The builder's output: a batch of events as structure of arrays in one persistent buffer. NumPy and CUDA kernels read
/// it without a copy.
namespace anello::events {

struct BatchShape {
    std::uint32_t max_events = 1024;
    std::uint32_t max_hits = 1024 * 48;
    bool operator==(const BatchShape&) const = default;
};

enum EventFlag : std::uint8_t {
    incomplete = 1,  ///< at least one configured board is missing, see missing_boards
    truncated = 2,   ///< more hits than a batch can hold; the others are counted
};

/// burst_id << 32 | timestamp_ticks: sorts by time; two events within one tick have the same key.
constexpr std::uint64_t event_key(std::uint32_t burst_id, std::uint32_t timestamp_ticks) noexcept {
    return (std::uint64_t{burst_id} << 32) | timestamp_ticks;
}

struct BatchColumns {
    std::uint64_t* event_key;       ///< [max_events]
    Nanoseconds* sent_ns;           ///< [max_events] earliest of its fragments, sender's wall clock; 0 = not known
    Nanoseconds* kernel_ns;         ///< [max_events] latest of its fragments, kernel's receive stamp; 0 = none
    Nanoseconds* placed_ns;         ///< [max_events] latest hand-over of its fragments by the receive stage
    std::uint32_t* hit_offset;      ///< [max_events + 1]
    std::uint32_t* missing_boards;  ///< [max_events] one bit per board
    std::uint8_t* fine_time;        ///< [max_events]
    std::uint8_t* flags;            ///< [max_events] EventFlag
    std::uint16_t* hit_id;          ///< [max_hits]
    std::int16_t* hit_time_fine;    ///< [max_hits] 1/256 tick from the event's time
};

std::size_t batch_bytes(const BatchShape& shape) noexcept;
BatchColumns columns_of(std::span<std::byte> buffer, const BatchShape& shape) noexcept;

/// A full batch, handed on by value through a ring.
struct BatchCompletion {
    std::uint32_t buffer;
    std::uint32_t n_events, n_hits;
    std::uint32_t burst_id;
    bool end_of_burst;            ///< the last batch of its burst (may have no events)
    Nanoseconds burst_origin_ns;  ///< the front ends' wall clock at timestamp 0 of the burst; 0 = not known
    Nanoseconds built_ns;         ///< wall clock when it was handed on
    Nanoseconds build_cpu_ns;     ///< time spent merging this batch (monotonic), for the execution-time plot
};

}  // namespace anello::events
