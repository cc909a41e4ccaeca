// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello {

/// The process that made a counter page. Process numbers are reused, so the start time makes it unique. Numbers of
/// another container have no meaning here.
struct PageOwner {
    std::int64_t process = 0;
    std::uint64_t start_ticks = 0;         ///< since the start of the machine, in the kernel's ticks
    std::uint64_t process_numbers_of = 0;  ///< the name space of `process`
};

PageOwner this_process() noexcept;
/// True if that process still runs, or if this process cannot know.
bool still_runs(const PageOwner& owner) noexcept;
/// The process's start on the wall clock, to a hundredth of a second.
std::int64_t started_wall_ns(const PageOwner& owner) noexcept;
/// The owner of a page in shared memory. Throws SystemError and ConfigError like CounterPage::read().
PageOwner owner_of_page(const std::string& name);

}  // namespace anello
