// SPDX-License-Identifier: Apache-2.0
// Camera fragments: any bytes give a verdict; what is ok is written again to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "camera/wire/camera.hpp"

namespace camera = anello::wire::camera;
using anello::wire::Verdict;

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

void check_totals(const std::vector<std::byte>& datagram, const camera::Header& header) {
    std::vector<std::byte> again(datagram.size());
    const camera::Totals totals = camera::parse_totals(datagram);
    require(camera::write_marker(again, header, totals) == datagram.size());
    require(camera::parse_totals(again) == totals);
}

void check_first_cells(const std::vector<std::byte>& datagram, const camera::Header& header) {
    const camera::FirstCells cells = camera::read_first_cells(datagram);
    for (const std::uint16_t cell : cells) require(cell < camera::drs4_cells);
    require(camera::header_bytes + header.waveform_bytes() + camera::first_cells_bytes == datagram.size());
    std::vector<std::byte> again(datagram);
    camera::write_first_cells(again, cells);
    require(again == datagram);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A heap block of the exact size shows any read beyond the datagram.
    const auto* bytes = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> datagram(bytes, bytes + size);
    camera::Header header;
    if (camera::parse(datagram, header) != Verdict::ok) return 0;
    if (camera::verify(datagram, header) != Verdict::ok) return 0;
    std::vector<std::byte> again(datagram);
    std::memset(again.data(), 0, camera::header_bytes);
    require(camera::seal(again, header) == size && again == datagram);
    if (header.is_marker()) check_totals(datagram, header);
    if (header.has_first_cells()) check_first_cells(datagram, header);
    return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Three mutants of four get a right length and checksum, or few would come past the header.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 4 == 0 || size < camera::header_bytes || size > camera::header_bytes + camera::max_payload_bytes)
        return size;
    const auto payload_bytes = static_cast<std::uint16_t>(size - camera::header_bytes);
    std::memcpy(data + 38, &payload_bytes, sizeof payload_bytes);
    if (seed % 4 == 1) std::memset(data + 32, 0, 2);
    const std::span datagram(reinterpret_cast<std::byte*>(data), size);
    camera::Header header;
    if (camera::parse(datagram, header) == Verdict::ok) camera::seal(datagram, header);
    return size;
}
