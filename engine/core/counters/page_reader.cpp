// SPDX-License-Identifier: Apache-2.0
#include "core/counters/page_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/counters/copied_event.hpp"
#include "core/counters/page_layout.hpp"
#include "core/errors.hpp"

namespace anello {
namespace {

template <std::size_t n>
std::string text_of(const std::array<char, n>& field) {
    std::string text(field.data(), strnlen(field.data(), n));
    std::ranges::replace_if(
        text, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    return text;
}

template <typename Enum>
Enum value_of(std::uint64_t number) noexcept {
    return number < words_of<Enum>.size() ? static_cast<Enum>(number) : Enum{};
}

/// Opens a page with care, because any user may put any file into the folder of shared memory: a pipe that blocks its
/// reader, or false content under the name of a finished run.
Descriptor open_page(const std::string& name) {
    Descriptor page(shm_open(name.c_str(), O_RDONLY | O_NONBLOCK, 0));
    if (!page.open()) throw SystemError("cannot open the counter page " + name, errno, "Is the process still running?");
    struct stat found {};
    const bool is_file = fstat(page.number(), &found) == 0 && S_ISREG(found.st_mode);
    if (is_file && (found.st_uid == geteuid() || found.st_uid == 0)) return page;
    throw ConfigError("counters", "must name a page of this user or of root", name,
                      "It belongs to another user: read it as that user (sudo -u), or remove it from /dev/shm.");
}

[[noreturn]] void refuse_page(const std::string& name) {
    throw ConfigError("counters", "must name a counter page of this version", name,
                      "List /dev/shm for pages of running processes.");
}

CounterPage::Sample sample_of(const PageEntry& entry, std::uint64_t value) {
    return {.block = text_of(entry.block),
            .name = text_of(entry.name),
            .meaning = text_of(entry.meaning),
            .value = value,
            .type = {value_of<CellKind>(entry.kind), value_of<Unit>(entry.unit)}};
}

/// Wraps on overflow, because a page may hold any values.
Nanoseconds minus(Nanoseconds one, Nanoseconds other) noexcept {
    return static_cast<Nanoseconds>(static_cast<std::uint64_t>(one) - static_cast<std::uint64_t>(other));
}

/// The current difference of the clocks. The reader may be interrupted between two readings of the clocks, so the
/// fastest of some tries counts.
Nanoseconds wall_ahead_of_monotonic_ns() noexcept {
    const SystemClock& clock = SystemClock::instance();
    Nanoseconds shortest_ns = std::numeric_limits<Nanoseconds>::max(), ahead_ns = 0;
    for (int i = 0; i < 8; ++i) {
        const Nanoseconds before_ns = clock.monotonic_ns(), wall_ns = clock.wall_ns();
        const Nanoseconds took_ns = clock.monotonic_ns() - before_ns;
        if (took_ns < shortest_ns) ahead_ns = wall_ns - before_ns - took_ns / 2;
        shortest_ns = std::min(shortest_ns, took_ns);
    }
    return ahead_ns;
}

Nanoseconds heartbeat(const std::vector<PageReader::Thread>& threads, Nanoseconds control_ns) noexcept {
    Nanoseconds slowest_ns = std::numeric_limits<Nanoseconds>::max();
    for (const auto& thread : threads)
        if (thread.told.runs) slowest_ns = std::min(slowest_ns, thread.seen_wall_ns);
    return slowest_ns == std::numeric_limits<Nanoseconds>::max() ? control_ns : slowest_ns;
}

}  // namespace

std::vector<CounterPage::Sample> samples_of(const PageLayout& layout) {
    // Pairs with the release in CounterPage::add_block.
    const std::uint64_t n = layout.head.n_counters.load(std::memory_order_acquire);
    std::vector<CounterPage::Sample> samples;
    samples.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i)
        samples.push_back(sample_of(layout.entries[i], layout.values[i].load(std::memory_order_relaxed)));
    return samples;
}

PageReader::PageReader(const std::string& name) : name_(name), page_(open_page(name)) {
    std::array<std::uint64_t, 2> magic_and_version{};
    copy(0, magic_and_version.data(), sizeof magic_and_version);
    if (magic_and_version != std::array{page_magic, page_version}) refuse_page(name_);
}

/// Copies by system call, because a reader of a mapping is killed if the owner truncates the file.
void PageReader::copy(std::size_t offset, void* to, std::size_t n_bytes) const {
    const ssize_t n_read = pread(page_.number(), to, n_bytes, static_cast<off_t>(offset));
    if (n_read != static_cast<ssize_t>(n_bytes)) refuse_page(name_);
}

PageReader::Header PageReader::header() const {
    PageHead head{};
    copy(0, &head, sizeof head);
    return {.owner = head.owner,
            .started_ns = head.started_ns,
            .run_number = head.run_number,
            .run_name = text_of(head.run_name),
            .chain = text_of(head.chain),
            .config_digest = text_of(head.config_digest),
            .state = word_of(value_of<RunState>(head.state)),
            .heartbeat_ns = heartbeat(threads(), head.beaten_ns),
            .control_ns = head.beaten_ns};
}

std::vector<CounterPage::Sample> PageReader::cells() const {
    PageHead head{};
    copy(0, &head, sizeof head);
    const std::uint64_t n = std::min<std::uint64_t>(head.n_counters, max_counters);
    std::vector<PageEntry> entries(n);
    std::vector<std::uint64_t> values(n);
    copy(offsetof(PageLayout, entries), entries.data(), n * sizeof(PageEntry));
    copy(offsetof(PageLayout, values), values.data(), n * sizeof(std::uint64_t));
    std::vector<CounterPage::Sample> samples;
    samples.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) samples.push_back(sample_of(entries[i], values[i]));
    return samples;
}

template <typename Cell>
std::vector<std::pair<std::string, std::unique_ptr<Cell>>> PageReader::named(std::size_t first, std::uint64_t n_used,
                                                                             std::size_t n_most) const {
    std::vector<std::pair<std::string, std::unique_ptr<Cell>>> found;
    for (std::size_t i = 0; i < std::min<std::uint64_t>(n_used, n_most); ++i) {
        const std::size_t place = first + i * sizeof(Named<Cell>);
        std::array<char, sizeof(Named<Cell>::name)> name;
        copy(place, name.data(), name.size());
        auto cell = std::make_unique<Cell>();
        copy(place + offsetof(Named<Cell>, cell), cell.get(), sizeof(Cell));
        found.emplace_back(text_of(name), std::move(cell));
    }
    return found;
}

std::vector<PageReader::Leg> PageReader::legs() const {
    PageHead head{};
    copy(0, &head, sizeof head);
    std::vector<Leg> legs;
    for (const auto& [name, leg] : named<LatencyLeg>(offsetof(PageLayout, legs), head.n_legs, max_legs)) {
        const Nanoseconds now_ns = SystemClock::instance().wall_ns();
        auto run = std::make_unique<LatencyHistogram>();
        run->merge(leg->run());
        legs.push_back({name, std::move(run), leg->last(10'000'000'000, now_ns), leg->last(1'000'000'000, now_ns)});
    }
    return legs;
}

std::vector<PageReader::Thread> PageReader::threads() const {
    PageHead head{};
    copy(0, &head, sizeof head);
    std::vector<Thread> threads;
    const Nanoseconds ahead_ns = wall_ahead_of_monotonic_ns();
    for (const auto& [name, cell] : named<ThreadCell>(offsetof(PageLayout, threads), head.n_threads, max_threads)) {
        const ThreadCell::Told told = cell->told();
        threads.push_back({name, told, minus(told.seen_ns, -ahead_ns)});
    }
    return threads;
}

std::vector<PageReader::Buffers> PageReader::buffers() const {
    PageHead head{};
    copy(0, &head, sizeof head);
    std::vector<Buffers> buffers;
    for (const auto& [stage, cell] : named<BufferCell>(offsetof(PageLayout, buffers), head.n_buffers, max_buffers))
        buffers.push_back({stage, cell->n_buffers, cell->n_free});
    return buffers;
}

std::optional<EventSlot::Event> PageReader::event() const {
    constexpr std::size_t place = offsetof(PageLayout, event);
    auto event =
        take_copied([&](std::size_t offset, void* to, std::size_t n_bytes) { copy(place + offset, to, n_bytes); });
    if (event)
        std::ranges::replace_if(
            event->kind, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    return event;
}

PageOwner owner_of_page(const std::string& name) {
    return PageReader(name).header().owner;
}

}  // namespace anello
