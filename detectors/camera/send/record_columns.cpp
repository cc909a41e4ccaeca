// SPDX-License-Identifier: Apache-2.0
#include "camera/send/table/board_columns.hpp"

namespace anello::camera {
namespace {

/// HDF5 reads and writes whole chunks of this many bytes; the end of one write and the begin of the next share one.
constexpr std::size_t record_chunk_bytes = 1U << 20;

/// Records, one after the other in a column of bytes; that of event e has record_bytes[e] bytes from record_offset[e].
class RecordColumns final : public BoardColumns {
  public:
    RecordColumns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes)
        : file_(file),
          offset_(file, "record_offset", H5T_NATIVE_UINT64, "byte", "of the event in records", n_events, {n_events}),
          length_(file, "record_bytes", H5T_NATIVE_UINT32, "byte", "length of its record", n_events, {n_events}),
          records_(file, "records", H5T_NATIVE_UINT8, "byte", "records, one after the other", n_bytes,
                   {record_chunk_bytes}) {}

    std::size_t size_of(const EncodedEvent& encoded) const noexcept override { return encoded.record.size(); }
    void add(const CameraEventView&, const EncodedEvent& encoded) noexcept override {
        offset_.rows.push_back(file_.n_rows(records_.number()) + records_.rows.size());
        length_.rows.push_back(static_cast<std::uint32_t>(encoded.record.size()));
        records_.rows.insert(records_.rows.end(), encoded.record.begin(), encoded.record.end());
    }
    std::size_t n_bytes() const noexcept override { return records_.rows.size(); }
    void list(std::vector<store::ColumnFile::Rows>& all) const noexcept override {
        all.insert(all.end(), {offset_.in_file(), length_.in_file(), records_.in_file()});
    }
    void clear() noexcept override {
        offset_.rows.clear();
        length_.rows.clear();
        records_.rows.clear();
    }

  private:
    const store::ColumnFile& file_;
    HeldColumn<std::uint64_t> offset_;
    HeldColumn<std::uint32_t> length_;
    HeldColumn<std::byte> records_;
};

}  // namespace

std::unique_ptr<BoardColumns> make_record_columns(store::ColumnFile& file, std::size_t n_events, std::size_t n_bytes) {
    return std::make_unique<RecordColumns>(file, n_events, n_bytes);
}

}  // namespace anello::camera
