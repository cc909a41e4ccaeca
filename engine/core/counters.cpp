// SPDX-License-Identifier: Apache-2.0
#include "core/counters.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "core/errors.hpp"
#include "core/kernel_handle.hpp"
#include "core/page_owner.hpp"

namespace anello {
namespace {

constexpr std::uint64_t page_magic = 0x32524e54434c4e41;  // "ANLCTNR2"
constexpr std::size_t max_counters =
    16384;  // a camera has some ten for each of its 265 boards; unused ones take no memory

struct Entry {
    char block[40];
    char name[40];
    char meaning[128];
};

void copy_text(std::span<char> to, std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), to.size() - 1);
    std::memcpy(to.data(), text.data(), length);
    to[length] = '\0';
}

// The page comes from another process and is not to be trusted: its texts may be unterminated, and are shown on
// terminals.
std::string text_of(std::span<const char> field) {
    std::string text(field.data(), strnlen(field.data(), field.size()));
    std::replace_if(
        text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    return text;
}

Descriptor open_page(const std::string& name) {
    Descriptor page(shm_open(name.c_str(), O_RDONLY, 0));
    if (!page.open()) throw SystemError("cannot open the counter page " + name, errno, "Is the process still running?");
    return page;
}

/// Copies, since the page's owner may shrink it at any time, and then reading the mapping kills the reader.
bool copy_from(const Descriptor& page, std::size_t offset, void* to, std::size_t n_bytes) noexcept {
    return pread(page.number(), to, n_bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(n_bytes);
}

[[noreturn]] void refuse_page(const std::string& name) {
    throw ConfigError("counters", "must name a counter page of this version", name,
                      "List /dev/shm for pages of running processes.");
}

}  // namespace

const char* name_of(Place place) noexcept {
    static constexpr std::array<const char*, static_cast<std::size_t>(Place::count)> names{
        "",      "informative", "verdict",   "packets", "datagrams", "fragments", "hits",
        "parts", "events",      "decisions", "frames",  "records",   "MFPs",      "MEPs"};
    return names[static_cast<std::size_t>(place)];
}

struct CounterPage::Layout {
    std::uint64_t magic;
    PageOwner owner;
    std::atomic<std::uint64_t> n_counters;
    Entry entries[max_counters];
    alignas(64) std::atomic<std::uint64_t> values[max_counters];
};

CounterPage::CounterPage(const std::string& name) : name_(name) {
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    int descriptor = -1;
    if (!name_.empty()) {
        shm_unlink(name_.c_str());  // a page left by a process that died
        descriptor = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0644);
        if (descriptor < 0)
            throw SystemError("cannot create the counter page " + name_, errno,
                              "Choose another run name or free /dev/shm.");
        if (ftruncate(descriptor, sizeof(Layout)) != 0) {
            const int error = errno;
            close(descriptor);
            throw SystemError("cannot size the counter page " + name_, error, "Free space in /dev/shm.");
        }
        flags = MAP_SHARED;
    }
    void* memory = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, flags, descriptor, 0);
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    if (memory == MAP_FAILED) throw SystemError("cannot map the counter page", error, "Free memory.");
    layout_ = new (memory) Layout;  // no {}: what is mapped is 0 already, and would be touched and so taken
    layout_->owner = this_process();
    layout_->magic = page_magic;
}

CounterPage::~CounterPage() {
    munmap(layout_, sizeof(Layout));
    if (!name_.empty()) shm_unlink(name_.c_str());
}

std::atomic<std::uint64_t>* CounterPage::add_block(const std::string& block, std::span<const CounterLabel> labels) {
    const std::uint64_t first = layout_->n_counters.load(std::memory_order_relaxed);
    if (first + labels.size() > max_counters)
        throw ConfigError("counters", "a process has at most 16384 counters", block, "Use fewer streams per process.");
    for (std::size_t i = 0; i < labels.size(); ++i) {
        Entry& entry = layout_->entries[first + i];
        copy_text(entry.block, block);
        copy_text(entry.name, labels[i].name);
        copy_text(entry.meaning, labels[i].meaning);
    }
    layout_->n_counters.store(first + labels.size(), std::memory_order_release);  // pairs with the acquire in read()
    return &layout_->values[first];
}

std::vector<CounterPage::Sample> CounterPage::read(const Layout& layout) {
    std::vector<Sample> samples;
    const std::uint64_t n = std::min<std::uint64_t>(layout.n_counters.load(std::memory_order_acquire), max_counters);
    samples.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) {
        const Entry& entry = layout.entries[i];
        samples.push_back({text_of(entry.block), text_of(entry.name), text_of(entry.meaning),
                           layout.values[i].load(std::memory_order_relaxed)});
    }
    return samples;
}

std::vector<CounterPage::Sample> CounterPage::read() const {
    return read(*layout_);
}

std::vector<CounterPage::Sample> CounterPage::read(const std::string& name) {
    const Descriptor page = open_page(name);
    const auto copy = std::make_unique<Layout>();
    if (!copy_from(page, 0, copy.get(), sizeof(Layout)) || copy->magic != page_magic) refuse_page(name);
    return read(*copy);
}

PageOwner owner_of_page(const std::string& name) {
    struct {
        std::uint64_t magic;
        PageOwner owner;
    } head{};
    if (!copy_from(open_page(name), 0, &head, sizeof head) || head.magic != page_magic) refuse_page(name);
    return head.owner;
}

}  // namespace anello
