// SPDX-License-Identifier: Apache-2.0
#include "core/counters/page_owner.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/kernel_handle.hpp"

namespace anello {
namespace {

constexpr int field_of_state = 0, field_of_start = 19;  // counted after the name, which may contain anything

struct Process {
    char state = '\0';  ///< '\0': there is no such process
    std::uint64_t start_ticks = 0;
};

/// Reads /proc/NUMBER/stat, see proc(5).
Process look_at(std::int64_t number) noexcept {
    std::array<char, 64> path{"/proc/"};
    const auto [end, error] = std::to_chars(path.data() + 6, path.data() + 32, number);
    std::string_view("/stat").copy(end, 5);
    const Descriptor file(open(path.data(), O_RDONLY | O_CLOEXEC));
    std::array<char, 1024> text;
    const ssize_t n_bytes = read(file.number(), text.data(), text.size());
    if (error != std::errc() || n_bytes <= 0) return {};
    std::string_view left(text.data(), static_cast<std::size_t>(n_bytes));
    left.remove_prefix(std::min(left.rfind(')') + 2, left.size()));
    Process found;
    for (int field = 0; field <= field_of_start && !left.empty(); ++field) {
        const std::string_view word = left.substr(0, left.find(' '));
        if (field == field_of_state) found.state = word.front();
        if (field == field_of_start) std::from_chars(word.data(), word.data() + word.size(), found.start_ticks);
        left.remove_prefix(std::min(word.size() + 1, left.size()));
    }
    return found;
}

std::uint64_t process_numbers() noexcept {
    struct stat found {};
    return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace

PageOwner this_process() noexcept {
    return {getpid(), look_at(getpid()).start_ticks, process_numbers()};
}

std::int64_t started_wall_ns(const PageOwner& owner) noexcept {
    timespec since_boot{}, wall{};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    clock_gettime(CLOCK_REALTIME, &wall);
    const std::int64_t ticks_per_s = sysconf(_SC_CLK_TCK);
    const auto start_ns = static_cast<std::int64_t>(owner.start_ticks) * (1'000'000'000 / ticks_per_s);
    const auto ns_of = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
    return ns_of(wall) - (ns_of(since_boot) - start_ns);
}

bool still_runs(const PageOwner& owner) noexcept {
    if (owner.process_numbers_of != process_numbers()) return true;
    const Process found = look_at(owner.process);
    const bool has_ended = found.state == '\0' || found.state == 'Z' || found.state == 'X';
    return !has_ended && found.start_ticks == owner.start_ticks;
}

}  // namespace anello
