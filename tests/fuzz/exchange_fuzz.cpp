// SPDX-License-Identifier: Apache-2.0
// Messages between the nodes of an exchange: a header that is taken is one that we could have written, and entries are
// read as they were written.
// Built from: engine/exchange/messages/messages.cpp
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "exchange/messages/messages.hpp"

using namespace anello::exchange;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

using HeaderBytes = std::array<std::byte, message_header_bytes>;

void check_header(std::span<const std::byte> input) {
    const auto first = input.first(std::min(input.size(), message_header_bytes));
    const std::vector<std::byte> exact(first.begin(), first.end());
    MessageHeader header, again;
    if (!read(exact, header)) return;
    require(exact.size() == message_header_bytes);
    HeaderBytes written;
    write(header, written);
    require(read(written, again));
    HeaderBytes twice;
    write(again, twice);
    require(written == twice);
    require(again.type == header.type && again.from == header.from && again.n_entries == header.n_entries &&
            again.mep == header.mep && again.use == header.use && again.slot == header.slot);
}

template <class Entry>
void check_entry(const std::byte* bytes) {
    std::array<std::byte, entry_bytes> once{}, twice{};
    Entry entry, again;
    read(bytes, entry);
    write(entry, once.data());
    read(once.data(), again);
    write(again, twice.data());
    require(once == twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::span input(reinterpret_cast<const std::byte*>(data), size);
    check_header(input);
    for (; input.size() >= entry_bytes; input = input.subspan(entry_bytes)) {
        const std::vector<std::byte> exact(input.begin(), input.begin() + entry_bytes);
        check_entry<Assignment>(exact.data());
        check_entry<Credit>(exact.data());
        check_entry<NodeEntry>(exact.data());
    }
    return 0;
}
