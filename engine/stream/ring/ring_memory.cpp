// SPDX-License-Identifier: Apache-2.0
#include "stream/ring/ring_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "stream/stream_config.hpp"

namespace anello::stream {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
const std::string memory_remedy =
    "Choose a smaller stream.ring_bytes, or raise the limits (ulimit -v, -f, -l, memory of the container)";

std::size_t page_bytes() noexcept {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}
std::size_t file_bytes(std::size_t size_bytes) noexcept {
    return size_bytes + page_bytes();
}

void refuse(bool holds, const std::string& rule, std::uint64_t given) {
    if (!holds)
        throw ConfigError("peer_ring", rule, std::to_string(given), "The peer is not of this protocol, or means harm");
}

}  // namespace

RingMemory::RingMemory(Descriptor memory, std::size_t size_bytes)
    : memory_(std::move(memory)), size_bytes_(size_bytes) {}

RingMemory::RingMemory(RingMemory&& other) noexcept
    : memory_(std::move(other.memory_)),
      size_bytes_(other.size_bytes_),
      reserved_(std::exchange(other.reserved_, nullptr)),
      reserved_bytes_(other.reserved_bytes_),
      bytes_(other.bytes_),
      header_(other.header_) {}

RingMemory::~RingMemory() {
    unmap();
}

RingMemory RingMemory::create(std::size_t size_bytes) {
    Descriptor memory(memfd_create("anello-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory.open())
        throw SystemError("cannot make shared memory for a ring", errno, "Raise the limit of open files: ulimit -n");
    if (ftruncate(memory.number(), static_cast<off_t>(file_bytes(size_bytes))) != 0)
        throw SystemError(fmt::format("cannot make a ring of {} bytes", size_bytes), errno, memory_remedy);
    RingMemory ring(std::move(memory), size_bytes);
    ring.map();
    ring.take_pages();
    new (ring.header_) RingHeader{ring_magic, ring_version, 0, size_bytes, {0}, {0}, {0}, {0}, {0}, {0}, {0}};
    if (fcntl(ring.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        throw SystemError("cannot seal a ring's memory", errno, "This kernel is too old for streams");
    return ring;
}

RingMemory RingMemory::attach(Descriptor memory, std::size_t size_bytes) {
    refuse(std::has_single_bit(size_bytes) && size_bytes >= smallest_ring_bytes && size_bytes <= largest_ring_bytes,
           "its size must be a power of two within the limits", size_bytes);
    const int seals = fcntl(memory.number(), F_GET_SEALS);
    refuse(seals >= 0 && (seals & F_SEAL_SHRINK) != 0, "must be memory sealed against shrinking",
           static_cast<std::uint64_t>(seals));
    struct stat found {};
    if (fstat(memory.number(), &found) != 0) throw SystemError("cannot look at a peer's ring", errno, "Try again");
    refuse(static_cast<std::size_t>(found.st_size) == file_bytes(size_bytes),
           fmt::format("must have {} bytes, as it was said", file_bytes(size_bytes)),
           static_cast<std::uint64_t>(found.st_size));
    RingMemory ring(std::move(memory), size_bytes);
    ring.map();
    // Allocates now all pages that the peer left out, since a later failure would kill this process.
    ring.take_pages();
    refuse(ring.header_->magic == ring_magic, "its header must begin with ANELRING", ring.header_->magic);
    refuse(ring.header_->version == ring_version, fmt::format("must be of version {}", ring_version),
           ring.header_->version);
    refuse(ring.header_->size_bytes == size_bytes, fmt::format("its header must say {} bytes", size_bytes),
           ring.header_->size_bytes);
    return ring;
}

/// Reserves the addresses first, so that the pieces are adjacent. Huge pages need both address and file position to be
/// multiples of their size, so the header comes last.
void RingMemory::map() {
    const std::size_t n_mapped = 2 * size_bytes_ + page_bytes();
    reserved_bytes_ = n_mapped + huge_page_bytes;
    void* const range = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED)
        throw SystemError(fmt::format("cannot reserve addresses for a ring of {} bytes", size_bytes_), errno,
                          memory_remedy);
    reserved_ = static_cast<std::byte*>(range);
    const auto address = reinterpret_cast<std::uintptr_t>(range);
    bytes_ = reserved_ + (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
    const auto place = [this](std::byte* where, std::size_t n_bytes, std::size_t offset) {
        if (mmap(where, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_.number(),
                 static_cast<off_t>(offset)) == MAP_FAILED)
            throw SystemError(fmt::format("cannot map a ring of {} bytes", size_bytes_), errno, memory_remedy);
    };
    place(bytes_, size_bytes_, 0);
    place(bytes_ + size_bytes_, size_bytes_, 0);
    place(bytes_ + 2 * size_bytes_, page_bytes(), size_bytes_);
    header_ = reinterpret_cast<RingHeader*>(bytes_ + 2 * size_bytes_);
    // Only an optimisation: if the host has no huge pages for shared memory, small pages work, too.
    [[maybe_unused]] const int advised = madvise(bytes_, 2 * size_bytes_, MADV_HUGEPAGE);
}

/// Allocates the memory now, since a page that is missing later kills the process. Linux before 5.14 has no such
/// advice.
void RingMemory::take_pages() {
    if (madvise(bytes_, 2 * size_bytes_ + page_bytes(), MADV_POPULATE_WRITE) == 0) return;
    const int error =
        errno != EINVAL ? errno : posix_fallocate(memory_.number(), 0, static_cast<off_t>(file_bytes(size_bytes_)));
    // The kernel reports a page that it cannot allocate as a bad address.
    if (error != 0)
        throw SystemError(fmt::format("cannot take {} bytes of memory for a ring", size_bytes_),
                          error == EFAULT ? ENOMEM : error, memory_remedy);
}

void RingMemory::unmap() noexcept {
    if (reserved_ != nullptr) munmap(reserved_, reserved_bytes_);
}

}  // namespace anello::stream
