// SPDX-License-Identifier: Apache-2.0
#include "core/counters.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/errors.hpp"

namespace anello {
namespace {

constexpr std::uint64_t page_magic = 0x31524e54434c4e41;  // "ANLCTNR1"
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

// The page comes from another process and is not to be trusted: its texts may lack their end.
std::string text_of(std::span<const char> field) {
    return {field.data(), strnlen(field.data(), field.size())};
}

}  // namespace

struct CounterPage::Layout {
    std::uint64_t magic;
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
    layout_ = new (memory) Layout{};
    layout_->magic = page_magic;
}

CounterPage::~CounterPage() {
    munmap(layout_, sizeof(Layout));
    if (!name_.empty()) shm_unlink(name_.c_str());
}

std::atomic<std::uint64_t>* CounterPage::add_block(const std::string& block, std::span<const CounterLabel> labels) {
    const std::uint64_t first = layout_->n_counters.load(std::memory_order_relaxed);
    if (first + labels.size() > max_counters)
        throw ConfigError("counters", "a process has at most 1024 counters", block, "Use fewer streams per process.");
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
    const int descriptor = shm_open(name.c_str(), O_RDONLY, 0);
    if (descriptor < 0)
        throw SystemError("cannot open the counter page " + name, errno, "Is the process still running?");
    struct stat status {};
    const bool whole = fstat(descriptor, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(Layout));
    void* memory = whole ? mmap(nullptr, sizeof(Layout), PROT_READ, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (memory == MAP_FAILED || static_cast<const Layout*>(memory)->magic != page_magic) {
        if (memory != MAP_FAILED) munmap(memory, sizeof(Layout));
        throw ConfigError("counters", "must name a counter page of this version", name,
                          "List /dev/shm for pages of running processes.");
    }
    auto samples = read(*static_cast<const Layout*>(memory));
    munmap(memory, sizeof(Layout));
    return samples;
}

}  // namespace anello
