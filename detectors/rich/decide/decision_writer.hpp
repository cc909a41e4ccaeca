// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/spsc_ring.hpp"
#include "rich/decide/decision_columns.hpp"
#include "rich/decide/store_counters.hpp"

namespace anello::rich {

inline constexpr std::uint32_t max_prescale_log2 = 30;
inline constexpr std::uint32_t max_waiting_events = 1U << 24;

/// Decides by its key whether an event is stored, so that every stage can choose the same events: 1 of
/// 2^prescale_log2.
using Selection = bool (*)(std::uint64_t event_key, std::uint32_t prescale_log2) noexcept;

struct DecisionWriterConfig {
    std::string path;
    std::uint32_t prescale_log2 = 0;
    Selection select = nullptr;              ///< nullptr: stores every event
    std::uint32_t chunk_events = 65'536;     ///< largest number written to the file at once
    std::uint32_t waiting_events = 131'072;  ///< largest number that may wait for the file's thread
    bool quality = false;                    ///< batches have the quality of their rings
    store::FileRules rules{};
    void validate() const;  ///< Throws ConfigError.
};

/// Writes decisions into an HDF5 file: one column per quantity, with separate columns for rings (those of event e are
/// the rows ring_offset[e] .. ring_offset[e] + n_rings[e] - 1). The file itself describes each column. The deciding
/// thread copies what is stored, so that its batch is free again immediately; another thread writes it. The constructor
/// allocates all memory. An error of the file loses a chunk; it is counted and reported, and never stops the chain.
class DecisionWriter {
  public:
    /// Throws ConfigError, SystemError (no such directory, no permission).
    DecisionWriter(const DecisionWriterConfig& config, CounterPage& page, const std::string& block_name = "store");
    ~DecisionWriter() { close(); }

    /// For the deciding thread: true when a batch of n_events can be taken, even if all of them are selected.
    bool has_room(std::uint32_t n_events) const noexcept { return waiting_.size() + n_events <= waiting_.capacity(); }
    /// Hot path: no allocation, no lock, no log, no throw. For the deciding thread; requires has_room().
    void take(const DecisionBatch& decisions) noexcept;

    bool is_idle() const noexcept { return waiting_.size() == 0; }
    /// True when so many events wait that the writing thread should be woken.
    bool is_filling() const noexcept { return waiting_.size() >= waiting_.capacity() / 4; }
    /// The writing thread calls this repeatedly, with the monotonic clock. Events are safe from the end of the process
    /// within a second. Returns the number of events taken.
    std::size_t write(Nanoseconds now_ns) noexcept;
    /// Writes all events in memory to the file and closes it. Call it after both threads have ended; a second call is
    /// safe. Returns false when there was an error since the start.
    bool close() noexcept;

    const Counters<StoreCounter>& counters() const noexcept { return counters_; }
    /// Cause of the last error. Call it in the writing thread, or after close().
    const std::string& last_error() const noexcept { return file_.last_error(); }
    /// refusal() is a stage's state, take_news() a notice for each time that the file begins to refuse data; both are
    /// empty while it accepts them. Any thread may call them.
    std::string refusal() { return file_.refusal().state(file_.path()); }
    std::string take_news() { return file_.refusal().take_news(file_.path(), "events are lost until there is room"); }

  private:
    /// A decision that waits for the writing thread.
    struct Waiting {
        DecidedEvent event;
        EventRings rings;
    };
    void write_event(Waiting& waiting) noexcept;
    void write_chunk() noexcept;
    std::size_t write_waiting(std::size_t n_most) noexcept;

    DecisionWriterConfig config_;
    Counters<StoreCounter> counters_;  ///< only one thread writes each counter
    memory::SpscRing<Waiting> waiting_;
    std::optional<memory::SpscRing<EventQuality>> waiting_quality_;  ///< qualities of waiting_; none if not configured
    store::ColumnFile file_;
    store::ColumnRows<file_columns> events_;
    store::ColumnRows<ring_columns> rings_;
    std::optional<store::ColumnRows<quality_columns>> qualities_;
    std::vector<store::ColumnFile::Rows> rows_;  ///< of a chunk
    bool closed_ = false;
    Nanoseconds next_save_ns_ = 0;
};

}  // namespace anello::rich
