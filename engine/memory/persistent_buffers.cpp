// SPDX-License-Identifier: Apache-2.0
#include "memory/persistent_buffers.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/assert.hpp"
#include "core/errors.hpp"
#include "core/words.hpp"
#include "memory/pinned_cuda.hpp"

namespace anello::memory {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
    return (bytes + unit - 1) / unit * unit;
}

void* map(std::size_t bytes, int extra_flags) noexcept {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
}

}  // namespace

Kind parse_kind(const std::string& text, const std::string& key) {
    return static_cast<Kind>(place_of(text, kind_words, key));
}

const char* name_of(Kind kind) noexcept {
    constexpr const char* names[]{"host", "huge", "pinned", "small", "given", "device"};
    return names[static_cast<std::size_t>(kind)];
}

PersistentBuffers::PersistentBuffers(const BuffersConfig& config)
    : n_buffers_(config.n_buffers),
      buffer_bytes_(round_up(config.buffer_bytes, 64)),
      kind_(config.kind),
      free_(config.n_buffers) {
    if (n_buffers_ < 2 || buffer_bytes_ == 0)
        throw ConfigError("n_buffers", "at least 2 buffers of at least 1 byte",
                          std::to_string(n_buffers_) + " x " + std::to_string(config.buffer_bytes) + " bytes",
                          "One buffer fills while another is used.");
    region_bytes_ = static_cast<std::size_t>(n_buffers_) * buffer_bytes_;
    if (!config.given.empty()) region_ = use_given(config.given);
    if (region_ == nullptr && kind_ != Kind::small) region_bytes_ = round_up(region_bytes_, huge_page_bytes);
    if (kind_ == Kind::huge) region_ = take_huge();
    if (kind_ == Kind::pinned) region_ = take_pinned(region_bytes_, kind_note_);
    if (kind_ == Kind::device) region_ = take_on_device();
    if (region_ == nullptr) region_ = take_plain();
    const bool is_touched = kind_ != Kind::small && kind_ != Kind::device;
    if (is_touched) std::memset(region_, 0, region_bytes_);  // maps all pages before the first datagram
    for (std::uint32_t buffer = 0; buffer < n_buffers_; ++buffer) free_.try_give(buffer);
}

std::byte* PersistentBuffers::use_given(std::span<std::byte> memory) {
    kind_ = Kind::given;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0;
    if (!is_aligned || memory.size() < region_bytes_)
        throw ConfigError("memory", "must be " + std::to_string(region_bytes_) + " bytes, aligned to 64",
                          std::to_string(memory.size()) + " bytes" + (is_aligned ? "" : ", not aligned"),
                          "Give more, or use fewer or smaller buffers.");
    return memory.data();
}

std::byte* PersistentBuffers::take_huge() {
    void* memory = map(region_bytes_, MAP_HUGETLB);
    if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
    kind_note_ = "no huge pages reserved (" + std::generic_category().message(errno) +
                 "): transparent huge pages asked for; reserve with `sysctl vm.nr_hugepages=" +
                 std::to_string(region_bytes_ / huge_page_bytes) + "`";
    return nullptr;
}

std::byte* PersistentBuffers::take_on_device() {
    std::string why;
    std::byte* const memory = take_device(region_bytes_, why);
    if (memory == nullptr)
        throw SystemError("cannot take " + std::to_string(region_bytes_) + " bytes on a CUDA device: " + why, 0,
                          "Use fewer or smaller buffers, or memory of this machine.");
    return memory;
}

/// PERF NOTE: uses transparent huge pages where available: super-packets of 1 kB datagrams cost 15 % less (peers_bench,
/// drained).
std::byte* PersistentBuffers::take_plain() {
    if (kind_ != Kind::small) kind_ = Kind::host;
    void* memory = map(region_bytes_, 0);
    if (memory == MAP_FAILED)
        throw SystemError("cannot take " + std::to_string(region_bytes_) + " bytes for buffers", errno,
                          "Use fewer or smaller buffers.");
    if (kind_ == Kind::host) madvise(memory, region_bytes_, MADV_HUGEPAGE);
    return static_cast<std::byte*>(memory);
}

PersistentBuffers::~PersistentBuffers() {
    if (kind_ == Kind::pinned) give_back_pinned(region_);
    if (kind_ == Kind::device) give_back_device(region_);
    if (kind_ == Kind::host || kind_ == Kind::huge || kind_ == Kind::small) munmap(region_, region_bytes_);
}

void PersistentBuffers::give_back(std::uint32_t buffer) noexcept {
    ANELLO_ASSERT(buffer < n_buffers_);
    [[maybe_unused]] const bool given = free_.try_give(buffer);
    ANELLO_ASSERT(given);
}

}  // namespace anello::memory
