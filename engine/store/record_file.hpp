// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/disk.hpp"
#include "store/file_rules.hpp"
#include "store/refusal.hpp"

namespace anello::store {

/// Raw files of records, one after the other: events.raw, then events-0001.raw ... where one has its size. A record is
/// written whole, or not at all; a process that is killed may leave the last one cut short. One thread.
class RecordFile {
  public:
    /// header: the begin of each file. What a file says of itself stands in another one. Throws SystemError, also where
    /// the file exists.
    RecordFile(std::string path, FileRules rules, std::span<const std::byte> header = {});
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
    bool begin(std::unique_ptr<OpenFile> file) noexcept;

    const std::string path_;
    const FileRules rules_;
    std::vector<std::byte> header_;
    std::unique_ptr<OpenFile> file_;
    std::uint32_t n_files_ = 1;
    std::uint64_t length_before_ = 0, length_bytes_ = 0;
    Refusal refusal_;
};

}  // namespace anello::store
