// SPDX-License-Identifier: Apache-2.0
// All registered formats: the first byte chooses one, the rest has one verdict, whether it is only checked or read
// whole.
#include <cstdlib>
#include <vector>

#include "all_formats.hpp"
#include "camera/wire/packet_formats.hpp"
#include "km3net/wire/packet_formats.hpp"
#include "rich/wire/packet_formats.hpp"
#include "wire/packet_format.hpp"

namespace wire = anello::wire;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

/// Only reading, not checking, looks into the boards' own data in NA62's packets.
bool is_stricter_when_read(const wire::PacketFormat& format) {
    return std::string_view(format.name) == "mep";
}

void check_tables(const wire::Contents& contents) {
    for (const wire::Table& table : contents.tables)
        for (const wire::Column& column : table.columns)
            require(column.values.size() == table.columns.front().values.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    // A heap block of the exact size shows any read beyond the datagram.
    const std::vector<std::byte> datagram(bytes + 1, bytes + size);
    const wire::PacketFormat& format = wire::packet_formats()[data[0] % wire::packet_formats().size()];
    wire::Summary summary;
    wire::Contents contents;
    const wire::Verdict checked = format.check(datagram, summary), read = format.read(datagram, contents);
    require(checked == read || (checked == wire::Verdict::ok && is_stricter_when_read(format)));
    check_tables(contents);
    wire::recognise(datagram);
    wire::any_datagram_bytes(datagram);
    return 0;
}
