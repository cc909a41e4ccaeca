// SPDX-License-Identifier: Apache-2.0
#include "core/counters/counters.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "core/counters/page_layout.hpp"
#include "core/counters/page_reader.hpp"
#include "core/errors.hpp"
#include "core/kernel_handle.hpp"

namespace anello {
namespace {

template <std::size_t n>
void copy_text(std::array<char, n>& to, std::string_view text) noexcept {
    to[text.copy(to.data(), n - 1)] = '\0';
}

/// Grows the page, never shrinks it. It allocates the memory now, because a writer to a hole without free memory is
/// killed (SIGBUS).
void grow(const Descriptor& page, std::size_t n_bytes) {
    struct stat found {};
    if (fstat(page.number(), &found) == 0 && found.st_size >= static_cast<off_t>(n_bytes)) return;
    if (const int error_number = posix_fallocate(page.number(), 0, static_cast<off_t>(n_bytes)); error_number != 0)
        throw SystemError("cannot size the counter page", error_number,
                          "Free space in /dev/shm, or raise `ulimit -f`.");
}

Descriptor new_page(const std::string& name) noexcept {
    shm_unlink(name.c_str());  // removes a page left by a process that died
    return Descriptor(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644));
}

/// If another user owns a page of this name, which this process cannot remove, the new page gets a name that nobody can
/// guess; readers search for it (anello/counters/pages.py).
Descriptor create_page(std::string& name) {
    Descriptor page = new_page(name);
    if (std::uint64_t number = 0; !page.open() && errno == EEXIST && getrandom(&number, sizeof number, 0) > 0) {
        name += fmt::format("-{:016x}", number);
        page = new_page(name);
    }
    if (!page.open())
        throw SystemError("cannot create the counter page " + name, errno, "Choose another run name or free /dev/shm.");
    grow(page, offsetof(PageLayout, legs));
    return page;
}

/// Descriptors of pages in shared memory. Pages grow, so a limit for the size of files applies to them, too.
class Descriptors {
  public:
    void keep(const PageLayout* page, Descriptor descriptor) {
        const std::scoped_lock lock(mutex_);
        of_.insert_or_assign(page, std::move(descriptor));
    }
    void forget(const PageLayout* page) {
        const std::scoped_lock lock(mutex_);
        of_.erase(page);
    }
    /// Allocates the page up to this byte, so that it may be written.
    void grow_to(const PageLayout* page, const void* end) {
        const std::scoped_lock lock(mutex_);
        const auto found = of_.find(page);
        if (found == of_.end()) return;  // private memory
        const auto n_bytes = static_cast<const std::byte*>(end) - reinterpret_cast<const std::byte*>(page);
        grow(found->second, static_cast<std::size_t>(n_bytes));
    }

  private:
    std::mutex mutex_;
    std::map<const PageLayout*, Descriptor> of_;
};

Descriptors& descriptors() {
    static Descriptors all;
    return all;
}

void* map_page(const Descriptor& page) {
    const int flags = page.open() ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS;
    void* const memory = mmap(nullptr, sizeof(PageLayout), PROT_READ | PROT_WRITE, flags, page.number(), 0);
    if (memory == MAP_FAILED) throw SystemError("cannot map the counter page", errno, "Free memory.");
    return memory;
}

/// Writes the magic number last, so that readers ignore a page that is not complete.
void write_head(PageHead& head, const PageIdentity& identity) noexcept {
    head.version = page_version;
    head.owner = this_process();
    head.started_ns = started_wall_ns(head.owner);
    head.run_number = identity.run_number;
    copy_text(head.run_name, identity.run_name);
    copy_text(head.chain, identity.chain);
    copy_text(head.config_digest, identity.config_digest);
    head.beaten_ns.store(SystemClock::instance().wall_ns(), std::memory_order_relaxed);
    std::atomic_ref(head.magic).store(page_magic, std::memory_order_release);
}

/// Makes the next cell; readers see its number only once it is complete.
template <typename Cell, std::size_t n>
Cell& add(std::array<Named<Cell>, n>& cells, std::atomic<std::uint64_t>& n_used, const std::string& name,
          const char* rule) {
    const std::uint64_t index = n_used.load(std::memory_order_relaxed);
    if (index == n) throw ConfigError("counters", rule, name, "Use fewer per process.");
    copy_text(cells[index].name, name);
    Cell* const made = new (cells[index].cell.data()) Cell;
    n_used.store(index + 1, std::memory_order_release);  // pairs with the acquire in page_reader.cpp
    return *made;
}

}  // namespace

const char* name_of(Place place) noexcept {
    static constexpr std::array<const char*, static_cast<std::size_t>(Place::count)> names{
        "",      "informative", "verdict",   "packets", "datagrams", "fragments", "hits",
        "parts", "events",      "decisions", "frames",  "records",   "MFPs",      "MEPs"};
    return names[static_cast<std::size_t>(place)];
}

CounterPage::CounterPage(const PageIdentity& identity) : name_(identity.name) {
    Descriptor page = name_.empty() ? Descriptor() : create_page(name_);
    layout_ = new (map_page(page)) PageLayout;  // without {}, which would touch and allocate all of the mapping
    if (page.open()) descriptors().keep(layout_, std::move(page));
    write_head(layout_->head, identity);
}

CounterPage::~CounterPage() {
    descriptors().forget(layout_);
    munmap(layout_, sizeof(PageLayout));
    if (!name_.empty()) shm_unlink(name_.c_str());
}

std::atomic<std::uint64_t>* CounterPage::add_block(const std::string& block, std::span<const CounterLabel> labels) {
    const std::uint64_t first = layout_->head.n_counters.load(std::memory_order_relaxed);
    if (first + labels.size() > max_counters)
        throw ConfigError("counters", "a process has at most 16384 counters", block, "Use fewer streams per process.");
    descriptors().grow_to(layout_, layout_->entries.data() + first + labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
        PageEntry& entry = layout_->entries[first + i];
        copy_text(entry.block, block);
        copy_text(entry.name, labels[i].name);
        copy_text(entry.meaning, labels[i].meaning);
        entry.kind = static_cast<std::uint8_t>(labels[i].type.kind);
        entry.unit = static_cast<std::uint8_t>(labels[i].type.unit);
    }
    // Pairs with the acquire in page_reader.cpp.
    layout_->head.n_counters.store(first + labels.size(), std::memory_order_release);
    return &layout_->values[first];
}

LatencyLeg& CounterPage::add_leg(const std::string& name) {
    const std::uint64_t n_legs = layout_->head.n_legs.load(std::memory_order_relaxed);
    descriptors().grow_to(layout_, layout_->legs.data() + std::min<std::uint64_t>(n_legs + 1, max_legs));
    return add(layout_->legs, layout_->head.n_legs, name, "a process has at most 16 legs of latency");
}

ThreadCell& CounterPage::add_thread(const std::string& name) {
    return add(layout_->threads, layout_->head.n_threads, name, "a process has at most 64 threads of stages");
}

BufferCell& CounterPage::add_buffers(const std::string& stage) {
    return add(layout_->buffers, layout_->head.n_buffers, stage, "a process has at most 64 stages with buffers");
}

EventSlot& CounterPage::event() noexcept {
    return layout_->event;
}

void CounterPage::set_state(RunState state) noexcept {
    layout_->head.state.store(static_cast<std::uint64_t>(state), std::memory_order_relaxed);
}

void CounterPage::beat(Nanoseconds wall_ns) noexcept {
    layout_->head.beaten_ns.store(wall_ns, std::memory_order_relaxed);
}

std::vector<CounterPage::Sample> CounterPage::read() const {
    return samples_of(*layout_);
}

std::vector<CounterPage::Sample> CounterPage::read(const std::string& name) {
    return PageReader(name).cells();
}

}  // namespace anello
