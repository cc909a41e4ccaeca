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

/// An open file. After a refusal errno has the cause. One thread. The destructor closes it.
class OpenFile {
  public:
    OpenFile() = default;
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    virtual ~OpenFile() = default;

    /// Appends bytes. Returns how many were written, perhaps not all; below 0: none.
    virtual ssize_t append(std::span<const iovec> pieces) noexcept = 0;
    /// Cuts the file to `n_bytes`, where the next append begins.
    virtual bool cut(std::uint64_t n_bytes) noexcept = 0;

    // At any position of the file:
    virtual ssize_t write_at(std::uint64_t at, std::span<const std::byte> bytes) noexcept = 0;
    virtual ssize_t read_at(std::uint64_t at, std::span<std::byte> bytes) noexcept = 0;  ///< 0: at the end
    /// Allocates disk space for these bytes and extends the file to their end.
    virtual bool reserve(std::uint64_t at, std::uint64_t n_bytes) noexcept = 0;

    virtual bool close() noexcept = 0;  ///< False if the last bytes could not be written.
};

/// Where files are stored: the system's disk, or a disk of virtual time (engine/simulate).
class Disk {
  public:
    virtual ~Disk() = default;

    /// Creates a file for reading and writing. Null if it exists (also as a pipe or a device), or cannot be created.
    virtual std::unique_ptr<OpenFile> create(const std::string& path) noexcept = 0;
    /// Renames a file; errno is EEXIST if another file has the name.
    virtual bool give_name(const std::string& from, const std::string& to) noexcept = 0;
    virtual void remove(const std::string& path) noexcept = 0;

    static Disk& system() noexcept;
};

std::size_t total_bytes(std::span<const iovec> pieces) noexcept;
/// Writes all pieces, in as many calls as necessary; false with errno if the file refuses. Changes the pieces.
bool append_all(OpenFile& file, std::span<iovec> pieces) noexcept;
bool write_all_at(OpenFile& file, std::uint64_t at, std::span<const std::byte> bytes) noexcept;

/// The name of the n-th following file: decisions-0001.h5 for decisions.h5.
std::string number_in_series(const std::string& path, std::uint32_t n);

/// Throws for a file that could not be created, with the cause from errno.
[[noreturn]] void refuse_to_create(const std::string& path);

}  // namespace anello::store
