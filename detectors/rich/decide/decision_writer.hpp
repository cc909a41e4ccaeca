// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "memory/spsc_ring.hpp"
#include "rich/decide/decision.hpp"
#include "rich/decide/store_counters.hpp"
#include "store/column_file.hpp"

namespace anello::rich {

inline constexpr std::uint32_t max_prescale_log2 = 30;
inline constexpr std::uint32_t max_waiting_events = 1U << 24;

/// Says by its key whether an event is stored, so that every stage can choose the same events. prescale_log2: 1 of
/// 2^prescale_log2.
using Selection = bool (*)(std::uint64_t event_key, std::uint32_t prescale_log2) noexcept;

struct DecisionWriterConfig {
    std::string path;
    std::uint32_t prescale_log2 = 0;
    Selection select = nullptr;              ///< nullptr: every event
    std::uint32_t chunk_events = 65'536;     ///< that go to the file at once, at most
    std::uint32_t waiting_events = 131'072;  ///< that may wait for the file's thread
    bool quality = false;                    ///< batches have that of their rings
    store::FileRules rules{};
    void validate() const;  ///< Throws ConfigError.
};

/// Decisions into an HDF5 file: one column per quantity, rings apart (rings of event e are the rows
/// ring_offset[e] .. ring_offset[e] + n_rings[e] - 1 of the ring columns). See docs of each column in the file itself.
/// What is stored is copied by the thread that decides, so that its batch is free at once, and written by another.
/// Memory is taken in the constructor; an error of the file loses a chunk, is counted and named, and never stops the
/// chain.
class DecisionWriter {
  public:
    /// Throws ConfigError, SystemError (no such directory, no permission).
    DecisionWriter(const DecisionWriterConfig& config, CounterPage& page, const std::string& block_name = "store");
    ~DecisionWriter() { close(); }

    /// A batch of so many events can be taken, whatever is selected of it. Deciding thread.
    bool has_room(std::uint32_t n_events) const noexcept { return waiting_.size() + n_events <= waiting_.capacity(); }
    /// Hot path: no allocation, no lock, no log, no throw. Deciding thread, where has_room().
    void take(const DecisionBatch& decisions) noexcept;

    bool is_idle() const noexcept { return waiting_.size() == 0; }
    /// So much waits that the writing thread should be woken.
    bool is_filling() const noexcept { return waiting_.size() >= waiting_.capacity() / 4; }
    /// Writing thread, again and again, with the monotonic clock: what came is safe from the end of the process within
    /// a second. Events taken over.
    std::size_t write(Nanoseconds now_ns) noexcept;
    /// Empties memory into the file and closes it, once neither thread calls any more. Safe to call twice. False when
    /// an error was seen since the start.
    bool close() noexcept;

    const Counters<StoreCounter>& counters() const noexcept { return counters_; }
    /// The cause of the last error; by the writing thread, or after close().
    const std::string& last_error() const noexcept { return file_.last_error(); }
    /// As a stage's state, and as a notice once each time that it begins; empty where the file takes what comes. Any
    /// thread.
    std::string refusal() { return file_.refusal().state(file_.path()); }
    std::string take_news() { return file_.refusal().take_news(file_.path(), "events are lost until there is room"); }

  private:
    static constexpr std::size_t n_columns = 18;
    /// A decision on its way from one thread to the other.
    struct Event {
        std::uint64_t key;
        Nanoseconds sent_ns, kernel_ns, placed_ns, built_ns, decided_ns;
        EventRings rings;
        std::uint16_t primitive_id;
        std::uint8_t fine_time, flags;
    };
    /// One quantity: rows in memory until they go to the file.
    template <typename T>
    struct Column {
        std::size_t number = 0;
        std::vector<T> rows{};
    };
    template <typename T>
    Column<T> column(const char* name, hid_t type, const char* unit, const char* meaning, std::size_t rows,
                     std::vector<hsize_t> row_shape = {});
    template <typename Visit>
    void for_each_column(Visit visit);

    void write_event(const Event& event) noexcept;
    void write_quality(std::uint32_t n_rings) noexcept;
    void write_chunk() noexcept;
    std::size_t write_waiting(std::size_t n_most) noexcept;

    DecisionWriterConfig config_;
    Counters<StoreCounter> counters_;  ///< each of one thread's
    memory::SpscRing<Event> waiting_;
    std::optional<memory::SpscRing<EventQuality>> waiting_quality_;  ///< of these; none: nobody asked
    store::ColumnFile file_;
    bool closed_ = false;
    Nanoseconds next_save_ns_ = 0;
    Column<std::uint64_t> event_key_, ring_offset_;
    Column<std::uint16_t> primitive_id_;
    Column<std::uint8_t> fine_time_, flags_, n_rings_;
    Column<std::int64_t> sent_ns_, kernel_ns_, placed_ns_, built_ns_, decided_ns_;
    Column<float> ring_x_mm_, ring_y_mm_, ring_radius_mm_;
    Column<std::uint16_t> ring_n_hits_, ring_n_assigned_;
    Column<float> ring_log_likelihood_ratio_;
    Column<std::array<float, 9>> ring_covariance_mm2_;
};

}  // namespace anello::rich
