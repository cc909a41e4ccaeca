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

/// Raw files of records, one after the other: events.raw, then events-0001.raw and so on, each up to a given size. A
/// record is written completely or not at all, but a killed process may leave the last one incomplete. One thread.
class RecordFile {
  public:
    /// `header` begins each file; the attributes of a file are written to another file. Throws SystemError, also if the
    /// file exists.
    RecordFile(std::string path, FileRules rules, std::span<const std::byte> header = {});
    ~RecordFile() { close(); }
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;

    /// Changes the pieces. Returns false if the file refuses; its earlier records are kept.
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
