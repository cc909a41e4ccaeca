// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/counters/event_slot.hpp"
#include "core/counters/page_owner.hpp"
#include "core/counters/thread_cell.hpp"
#include "core/kernel_handle.hpp"
#include "core/latency/histogram.hpp"

namespace anello {

/// Reads the counter page of another process by copying, because its owner may change or truncate it at any time.
/// Control characters are removed from texts. All members except the constructor throw ConfigError if the page is not
/// valid.
class PageReader {
  public:
    struct Header {
        PageOwner owner;
        Nanoseconds started_ns;  ///< wall clock, when the process began
        std::uint64_t run_number;
        std::string run_name, chain, config_digest, state;
        /// Wall clock of the last step of its slowest thread, or of its control thread if it has no others.
        Nanoseconds heartbeat_ns;
        Nanoseconds control_ns;  ///< wall clock, last report of its control thread
    };
    struct Leg {
        std::string name;
        std::unique_ptr<LatencyHistogram> run, last_10s, last_1s;
    };
    struct Thread {
        std::string name;
        ThreadCell::Told told;
        Nanoseconds seen_wall_ns;
    };
    struct Buffers {
        std::string stage;
        std::uint64_t n_buffers, n_free;
    };

    /// Throws SystemError if there is no page, ConfigError if it is not a counter page of this version.
    explicit PageReader(const std::string& name);

    Header header() const;
    std::vector<CounterPage::Sample> cells() const;
    std::vector<Leg> legs() const;
    std::vector<Thread> threads() const;
    std::vector<Buffers> buffers() const;
    std::optional<EventSlot::Event> event() const;

  private:
    void copy(std::size_t offset, void* to, std::size_t n_bytes) const;
    template <typename Cell>
    std::vector<std::pair<std::string, std::unique_ptr<Cell>>> named(std::size_t first, std::uint64_t n_used,
                                                                     std::size_t n_most) const;

    std::string name_;
    Descriptor page_;
};

/// The samples of this process's own page.
std::vector<CounterPage::Sample> samples_of(const PageLayout& layout);

}  // namespace anello
