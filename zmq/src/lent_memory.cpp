// SPDX-License-Identifier: Apache-2.0
#include "lent_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "stream/ring/ring_layout.hpp"

namespace anello::zeromq {
namespace {

constexpr std::uint64_t lent_magic = stream::magic_of("ANELLENT");
constexpr std::size_t lent_page_bytes = 4096;
/// Pages are taken in pieces of this size: a few messages do not take the whole memory, and most need no system call.
constexpr std::size_t touch_bytes = std::size_t{2} << 20;

/// Takes pages now. Linux before 5.14 does not know MADV_POPULATE_WRITE: there posix_fallocate() takes them.
bool try_take_pages(void* begin, int memory, std::size_t offset, std::size_t n_bytes) noexcept {
    if (madvise(static_cast<std::byte*>(begin) + offset, n_bytes, MADV_POPULATE_WRITE) == 0) return true;
    return errno == EINVAL && posix_fallocate(memory, static_cast<off_t>(offset), static_cast<off_t>(n_bytes)) == 0;
}

}  // namespace

std::size_t LentMemory::front_bytes(std::size_t size_bytes) noexcept {
    const std::size_t n_bytes = sizeof(Header) + size_bytes / cell_bytes;
    return (n_bytes + lent_page_bytes - 1) & ~(lent_page_bytes - 1);
}

LentMemory::LentMemory(Descriptor memory, RingShare share, void* begin, std::size_t size_bytes) noexcept
    : memory_(std::move(memory)),
      share_(std::move(share)),
      header_(static_cast<Header*>(begin)),
      returned_(reinterpret_cast<std::atomic<std::uint8_t>*>(header_ + 1)),
      cells_(static_cast<std::byte*>(begin) + front_bytes(size_bytes)),
      size_bytes_(size_bytes) {}

LentMemory::~LentMemory() {
    munmap(header_, front_bytes(size_bytes_) + size_bytes_);
}

std::unique_ptr<LentMemory> LentMemory::try_create(std::size_t size_bytes) noexcept {
    Descriptor memory(memfd_create("anello-lent", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const auto n_file = static_cast<off_t>(front_bytes(size_bytes) + size_bytes);
    if (!memory.open() || ftruncate(memory.number(), n_file) != 0 ||
        fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return {};
    auto made = try_map(std::move(memory), size_bytes);
    if (made != nullptr) new (made->header_) Header{lent_magic, size_bytes, {0}, {0}};
    return made;
}

std::unique_ptr<LentMemory> LentMemory::try_attach(Descriptor memory) noexcept {
    if (!memory.open()) return {};
    const int seals = fcntl(memory.number(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return {};
    std::array<std::uint64_t, 2> says{};  // read only once, as the peer may change it at any time
    if (pread(memory.number(), says.data(), sizeof says, 0) != sizeof says || says[0] != lent_magic) return {};
    const std::size_t size_bytes = says[1];
    if (size_bytes == 0 || size_bytes > largest_bytes || size_bytes % cell_bytes != 0) return {};
    struct stat found {};
    if (fstat(memory.number(), &found) != 0 ||
        static_cast<std::size_t>(found.st_size) != front_bytes(size_bytes) + size_bytes)
        return {};
    return try_map(std::move(memory), size_bytes);
}

std::unique_ptr<LentMemory> LentMemory::try_map(Descriptor memory, std::size_t size_bytes) noexcept {
    auto share = RingShare::try_take(size_bytes);
    if (!share) return {};
    const std::size_t n_mapped = front_bytes(size_bytes) + size_bytes;
    void* const begin = mmap(nullptr, n_mapped, PROT_READ | PROT_WRITE, MAP_SHARED, memory.number(), 0);
    if (begin == MAP_FAILED) return {};
    std::unique_ptr<LentMemory> mapped(new (std::nothrow)
                                           LentMemory(std::move(memory), std::move(*share), begin, size_bytes));
    if (mapped == nullptr) munmap(begin, n_mapped);
    if (mapped != nullptr && !try_take_pages(begin, mapped->descriptor(), 0, front_bytes(size_bytes))) mapped.reset();
    return mapped;
}

bool LentMemory::try_touch(std::size_t n_bytes) noexcept {
    if (n_bytes <= touched_bytes_) return true;
    const std::size_t wanted = std::min((n_bytes + touch_bytes - 1) / touch_bytes * touch_bytes, size_bytes_);
    const std::size_t offset = front_bytes(size_bytes_) + touched_bytes_;
    if (!try_take_pages(header_, descriptor(), offset, wanted - touched_bytes_)) return false;
    touched_bytes_ = wanted;
    return true;
}

}  // namespace anello::zeromq
