// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/page_identity.hpp"

namespace anello {

/// The balance in which a counter counts. In each balance the ledger checks for one kind of thing that as many were
/// sent as were built, decided or lost. Tests check that the ledger reads each counter in its balance, and that only
/// counters that nothing reads are informative.
enum class Place : std::uint8_t {
    unset,
    informative,  ///< in no balance: times, sizes, frequencies of things that cost nothing
    verdict,      ///< in no balance, but the verdict on the run reads it
    packets,
    datagrams,
    fragments,
    hits,
    parts,
    events,
    decisions,
    frames,
    records,
    mfps,
    meps,
    count
};

/// The name of the balance in the ledger's rows.
const char* name_of(Place place) noexcept;

/// A counter only rises; a gauge is a current state.
enum class CellKind : std::uint8_t { counter, gauge, histogram, count };
template <>
inline constexpr std::array<const char*, 3> words_of<CellKind>{"counter", "gauge", "histogram"};

enum class Unit : std::uint8_t { number, ns, bytes, count };
template <>
inline constexpr std::array<const char*, 3> words_of<Unit>{"", "ns", "bytes"};

/// Follows the balance in a label if the cell does not count things.
struct CellType {
    CellKind kind = CellKind::counter;
    Unit unit = Unit::number;
};
inline constexpr CellType in_ns{CellKind::counter, Unit::ns}, in_bytes{CellKind::counter, Unit::bytes};
inline constexpr CellType gauge{CellKind::gauge, Unit::number};
inline constexpr CellType gauge_in_ns{CellKind::gauge, Unit::ns}, gauge_in_bytes{CellKind::gauge, Unit::bytes};

/// A counter as users see it: `name` is its stable identifier (snake_case), `meaning` its exact definition in one line.
struct CounterLabel {
    const char* name;
    const char* meaning;
    Place place;
    CellType type{};
};

/// Each stage declares `enum class XCounter : std::uint8_t {..., count}` and specialises
/// `counter_labels<XCounter>` with one CounterLabel per value; the concept below keeps the two in step.
template <typename Enum>
inline constexpr std::array<CounterLabel, 0> counter_labels{};

constexpr bool have_places(std::span<const CounterLabel> labels) {
    for (const CounterLabel& label : labels)
        if (label.place == Place::unset) return false;
    return true;
}

template <typename Enum>
concept CounterEnum = counter_labels<Enum>
.size() == static_cast<std::size_t>(Enum::count) && have_places(counter_labels<Enum>);

/// The counters of one stage or stream, with one writing thread and any number of readers. A copy of the handle refers
/// to the same counters.
template <CounterEnum Enum>
class Counters {
  public:
    Counters() = default;
    explicit Counters(std::atomic<std::uint64_t>* cells) noexcept : cells_(cells) {}

    // Hot path. With only one writer, a plain load and store replace the locked add; readers see whole values.
    void add(Enum counter, std::uint64_t amount = 1) noexcept {
        auto& cell = cells_[static_cast<std::size_t>(counter)];
        cell.store(cell.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    void set(Enum counter, std::uint64_t value) noexcept {
        cells_[static_cast<std::size_t>(counter)].store(value, std::memory_order_relaxed);
    }
    std::uint64_t operator[](Enum counter) const noexcept {
        return cells_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
    }

  private:
    std::atomic<std::uint64_t>* cells_ = nullptr;
};

class EventSlot;
class LatencyLeg;
struct PageLayout;
class ThreadCell;

/// The buffers of a stage, as a gauge. The thread that maintains the page writes it.
struct BufferCell {
    std::atomic<std::uint64_t> n_buffers{0}, n_free{0};
};

/// The page of counters of a process. With a name it lies in shared memory, so that another process can read it while
/// this one runs, and after it died until the page is unlinked (core/counters/page_reader.hpp). Blocks and cells are
/// added at set-up only, and add_... returns references into the page. docs/reference/counter-page.md
class CounterPage {
  public:
    struct Sample {
        std::string block, name, meaning;
        std::uint64_t value;
        CellType type{};
    };

    /// Throws SystemError.
    explicit CounterPage(const PageIdentity& identity = {});
    ~CounterPage();
    CounterPage(const CounterPage&) = delete;
    CounterPage& operator=(const CounterPage&) = delete;

    /// Adds a block of counters named e.g. "receive.board0". All throw ConfigError when the page is full.
    template <CounterEnum Enum>
    Counters<Enum> add_block(const std::string& block) {
        return Counters<Enum>(add_block(block, counter_labels<Enum>));
    }
    LatencyLeg& add_leg(const std::string& name);
    ThreadCell& add_thread(const std::string& name);
    BufferCell& add_buffers(const std::string& stage);
    EventSlot& event() noexcept;

    void set_state(RunState state) noexcept;
    /// The control thread calls it periodically to show that the process is alive.
    void beat(Nanoseconds wall_ns) noexcept;

    std::vector<Sample> read() const;
    /// Reads the page of another process. Throws SystemError if there is none, ConfigError if it is not a counter page.
    static std::vector<Sample> read(const std::string& name);

  private:
    std::atomic<std::uint64_t>* add_block(const std::string& block, std::span<const CounterLabel> labels);

    std::string name_;
    PageLayout* layout_ = nullptr;
};

}  // namespace anello
