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

/// Looks at the counter page of a process, as copies: whose page it is may write anything into it or make it shorter at
/// any time. Texts come with nothing that a terminal would obey. All members but the constructor throw ConfigError
/// where the page is not whole.
class PageReader {
  public:
    struct Header {
        PageOwner owner;
        Nanoseconds started_ns;  ///< wall clock, when the process began
        std::uint64_t run_number;
        std::string run_name, chain, config_digest, state;
        /// Wall clock: when the slowest of its threads last came by; of a process that has none when its control
        /// thread did.
        Nanoseconds heartbeat_ns;
        Nanoseconds control_ns;  ///< wall clock, when its control thread last came by
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

    /// Throws SystemError where there is none, ConfigError where it is no counter page of this version.
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

/// Of this process's own page.
std::vector<CounterPage::Sample> samples_of(const PageLayout& layout);

}  // namespace anello
