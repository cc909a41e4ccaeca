// SPDX-License-Identifier: Apache-2.0
// RICH frame: the first 8 bytes are the packet's time. Records read from any bytes after it are written again to the
// same bytes, and the rest is too short for a record.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rich/wire/rich_frame.hpp"

namespace rich_frame = anello::wire::rich_frame;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// Times are before the packet's time by less than a full cycle of their low half.
void check_stamp(std::int64_t stamp_ns, std::int64_t ready_ns) {
    constexpr std::uint64_t turn_ns = std::uint64_t{1} << 32;
    require(stamp_ns == 0 || static_cast<std::uint64_t>(ready_ns) - static_cast<std::uint64_t>(stamp_ns) < turn_ns);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 8) return 0;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const auto ready_ns = static_cast<std::int64_t>(anello::wire::load_le<std::uint64_t>(bytes));
    // With a heap block of the exact size, a sanitizer finds any read beyond the fragment.
    const std::vector<std::byte> fragment(bytes + 8, bytes + size);
    std::vector<std::byte> again(fragment.size());
    rich_frame::Reader reader(fragment, ready_ns);
    std::size_t n_written = 0;
    for (rich_frame::Record record; reader.next(record); n_written += rich_frame::record_bytes(record.n_hits)) {
        check_stamp(record.sent_ns, ready_ns);
        check_stamp(record.kernel_ns, ready_ns);
        rich_frame::write(record, again.data() + n_written);
    }
    require(n_written + reader.n_bytes_left() == fragment.size());
    require(n_written == 0 || std::memcmp(again.data(), fragment.data(), n_written) == 0);
    return 0;
}
