// SPDX-License-Identifier: Apache-2.0
// Camera group: any bytes give a verdict; what is ok is written again to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "camera/wire/camera_group.hpp"

namespace camera_group = anello::wire::camera_group;
using anello::wire::load_le;
using anello::wire::store_le;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_rewritten(const camera_group::GroupView& view) {
    std::vector<std::byte> again(view.bytes.size());
    camera_group::write_header(again, view.header);
    std::byte* to = again.data() + camera_group::slots_offset(view.header.n_boards);
    std::size_t n_present = 0;
    for (std::size_t i = 0; i < view.header.n_boards; ++i) {
        if (view.has(i)) camera_group::set_present(again, i);
        n_present += view.has(i);
        const std::span<const std::byte> slot = view.slot(i);
        if (!slot.empty()) std::memcpy(to + i * slot.size(), slot.data(), slot.size());
    }
    require(n_present == view.header.n_present);
    require(std::memcmp(again.data(), view.bytes.data(), again.size()) == 0);
}

/// Of the bits up to `end`, after those of no board were cleared.
std::uint16_t count_present(std::byte* bits, const std::byte* end, std::size_t n_boards) {
    std::uint16_t n_present = 0;
    for (std::size_t i = 0; bits + i / 8 < end; ++i) {
        const std::byte bit = std::byte{1} << (i % 8);
        if (i >= n_boards) bits[i / 8] &= ~bit;
        if ((bits[i / 8] & bit) != std::byte{0}) ++n_present;
    }
    return n_present;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A heap block of the exact size shows any read beyond the group.
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> group(bytes, bytes + size);
    camera_group::GroupView view;
    if (camera_group::parse(group, view) == Verdict::ok) check_rewritten(view);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Three mutants of four get a right length and bits, or few would come past the header.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < camera_group::header_bytes) return size;
    auto* bytes = reinterpret_cast<std::byte*>(data);
    const auto n_boards = load_le<std::uint16_t>(bytes + 8);
    const std::size_t offset = camera_group::slots_offset(n_boards);
    if (n_boards == 0 || size < offset) return size;
    const std::size_t slot_bytes = (size - offset) / n_boards / camera_group::unit * camera_group::unit;
    store_le(bytes + 12, static_cast<std::uint32_t>(slot_bytes));
    store_le(bytes + 10, count_present(bytes + camera_group::header_bytes, bytes + offset, n_boards));
    return camera_group::group_bytes(n_boards, slot_bytes);
}
