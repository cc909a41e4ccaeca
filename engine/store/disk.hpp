// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace anello::store {

/// A file that is open. Where something is refused, errno says why. One thread. Its end closes it.
class OpenFile {
  public:
    OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    virtual ~OpenFile() = default;

    /// Behind what was appended before. Bytes taken, maybe not all of them; below 0: none.
    virtual ssize_t append(std::span<const iovec> pieces) noexcept = 0;
    /// What is behind `n_bytes` goes, and the next append begins there.
    virtual bool cut(std::uint64_t n_bytes) noexcept = 0;

    // Anywhere in the file:
    virtual ssize_t write_at(std::uint64_t at, std::span<const std::byte> bytes) noexcept = 0;
    virtual ssize_t read_at(std::uint64_t at, std::span<std::byte> bytes) noexcept = 0;  ///< 0: behind its end
    /// There is a place for these bytes on the disk; the file is as long as that.
    virtual bool reserve(std::uint64_t at, std::uint64_t n_bytes) noexcept = 0;

    virtual bool close() noexcept = 0;  ///< False where the last bytes could not be written.
};

/// Where files are: the system's, or those of virtual time (engine/simulate).
class Disk {
  public:
    virtual ~Disk() = default;

    /// Creates it for reading and writing. Null where there is one, or it cannot be; a pipe or a device may be there.
    virtual std::unique_ptr<OpenFile> create(const std::string& path) noexcept = 0;
    /// Null; errno EEXIST where another has the name.
    virtual bool give_name(const std::string& from, const std::string& to) noexcept = 0;
    virtual void remove(const std::string& path) noexcept = 0;

    static Disk& system() noexcept;
};

std::size_t total_bytes(std::span<const iovec> pieces) noexcept;
/// All of them, however many calls that takes; false with errno where the file refuses. Pieces are used up.
bool append_all(OpenFile& file, std::span<iovec> pieces) noexcept;
bool write_all_at(OpenFile& file, std::uint64_t at, std::span<const std::byte> bytes) noexcept;

/// The file that follows as the n-th: of decisions.h5, decisions-0001.h5.
std::string number_in_series(const std::string& path, std::uint32_t n);

/// Of a file that could not be created, from errno.
[[noreturn]] void refuse_to_create(const std::string& path);

}  // namespace anello::store
