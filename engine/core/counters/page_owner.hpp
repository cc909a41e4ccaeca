// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello {

/// The process that made a counter page. A process number is reused once its process has ended; together with the start
/// time it is unique. Numbers of another container mean nothing here.
struct PageOwner {
    std::int64_t process = 0;
    std::uint64_t start_ticks = 0;         ///< since the machine's start, in the kernel's ticks
    std::uint64_t process_numbers_of = 0;  ///< the name space that `process` is a number of
};

PageOwner this_process() noexcept;
/// Whether that process still runs; true where it cannot be known from here.
bool still_runs(const PageOwner& owner) noexcept;
/// When it began, on the wall clock; to a hundredth of a second.
std::int64_t started_wall_ns(const PageOwner& owner) noexcept;
/// Of a page in shared memory. Throws SystemError and ConfigError as CounterPage::read().
PageOwner owner_of_page(const std::string& name);

}  // namespace anello
