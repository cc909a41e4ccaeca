// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/refusal.hpp"

namespace anello::store {

/// Raw files of records, one after the other: events.raw, then events-0001.raw ... where one has its size. A record is
/// written whole, or not at all; a process that is killed may leave the last one cut short. One thread.
class RecordFile {
  public:
    /// header: the begin of each file. max_bytes: a new file once one has so many; 0: one file. Throws SystemError,
    /// also where the file exists.
    RecordFile(std::string path, std::uint64_t max_bytes, std::span<const std::byte> header = {});
    ~RecordFile() { close(); }
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// Uses the pieces up. False where the file refuses; what was there before is kept.
    bool try_write(std::span<iovec> pieces) noexcept;
    std::uint64_t length_bytes() const noexcept { return length_before_ + length_bytes_; }  ///< of all its files
    void close() noexcept;
    Refusal& refusal() noexcept { return refusal_; }

  private:
    bool try_next() noexcept;
    bool begin(int file) noexcept;

    const std::string path_;
    const std::uint64_t max_bytes_;
    std::vector<std::byte> header_;
    int file_ = -1;
    std::uint32_t n_files_ = 1;
    std::uint64_t length_before_ = 0, length_bytes_ = 0;
    Refusal refusal_;
};

}  // namespace anello::store
