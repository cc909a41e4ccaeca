// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/stored_meps.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "simulate/world/stored_columns.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace anello::simulate {
namespace {

using wire::load_le;

constexpr std::size_t file_header_bytes = 32, record_header_bytes = 48, checksum_at = 40;

constexpr std::size_t padded(std::size_t n_bytes) noexcept {
    return (n_bytes + 7) / 8 * 8;
}

class Reader {
  public:
    Reader(std::vector<std::byte> file, StoredMeps& meps) : file_(std::move(file)), meps_(meps) {}

    void read(std::uint32_t n_readouts, std::uint32_t packing, std::uint32_t run_id) {
        if (file_.size() < file_header_bytes) {
            meps_.is_cut = true;
            return;
        }
        const std::byte* const header = file_.data();
        if (std::memcmp(header, "MEPFILE1", 8) != 0 || load_le<std::uint32_t>(header + 8) != n_readouts ||
            load_le<std::uint32_t>(header + 12) != packing || load_le<std::uint32_t>(header + 16) != run_id)
            return blame("is no file of this run", 0);
        for (std::size_t at = file_header_bytes; at < file_.size() && meps_.wrong.empty() && !meps_.is_cut;)
            at += read_record(at, n_readouts, packing);
    }

  private:
    void blame(const char* what, std::size_t at) { meps_.wrong = fmt::format("{} at byte {}", what, at); }

    /// Returns the record's length.
    std::size_t read_record(std::size_t at, std::uint32_t n_readouts, std::uint32_t packing) {
        const std::size_t head_bytes = record_header_bytes + padded(4 * std::size_t{n_readouts});
        if (file_.size() - at < head_bytes) return meps_.is_cut = true, 0;
        std::vector<std::byte> head(file_.begin() + static_cast<std::ptrdiff_t>(at),
                                    file_.begin() + static_cast<std::ptrdiff_t>(at + head_bytes));
        const auto checksum = load_le<std::uint32_t>(head.data() + checksum_at);
        std::memset(head.data() + checksum_at, 0, 4);
        if (std::memcmp(head.data(), "MPR1", 4) != 0 || wire::crc32c(head) != checksum)
            return blame("has no record", at), 0;
        const auto length = static_cast<std::size_t>(load_le<std::uint64_t>(head.data() + 32));
        const auto mep = load_le<std::uint64_t>(head.data() + 8);
        if (load_le<std::uint16_t>(head.data() + 4) != n_readouts ||
            load_le<std::uint32_t>(head.data() + 44) != packing ||
            load_le<std::uint64_t>(head.data() + 16) != mep * packing)
            return blame("has a wrong record", at), 0;
        if (file_.size() - at < length) return meps_.is_cut = true, 0;
        StoredMep stored{.mep = mep, .n_missing = load_le<std::uint16_t>(head.data() + 6)};
        std::size_t next = at + head_bytes;
        for (std::uint32_t i = 0; i < n_readouts; ++i) {
            const auto n_bytes = load_le<std::uint32_t>(head.data() + record_header_bytes + 4 * std::size_t{i});
            if (next + padded(n_bytes) > at + length) return blame("has parts longer than their record", at), 0;
            stored.checksum = wire::crc32c(std::span(file_).subspan(next, n_bytes), stored.checksum);
            next += padded(n_bytes);
        }
        if (next != at + length) return blame("has a record longer than its parts", at), 0;
        meps_.all.push_back(stored);
        return length;
    }

    const std::vector<std::byte> file_;
    StoredMeps& meps_;
};

}  // namespace

StoredMeps read_meps(const SimulatedDisk& disk, const std::string& first, std::uint32_t n_readouts,
                     std::uint32_t packing, std::uint32_t run_id) {
    StoredMeps meps;
    for (const std::string& name : series(disk, first)) {
        if (!meps.wrong.empty()) break;
        Reader(disk.content(name), meps).read(n_readouts, packing, run_id);
    }
    return meps;
}

}  // namespace anello::simulate
