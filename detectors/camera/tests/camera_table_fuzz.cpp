// SPDX-License-Identifier: Apache-2.0
// Built from: detectors/camera/send/table/table.cpp detectors/camera/send/record.cpp
// Built from: detectors/camera/send/compression.cpp
// Chunks of the camera's table: any bytes fill what they are said to hold, or are
// refused. The first three bytes say which filters they have passed, and how many bytes they hold.
#include <vector>

#include "camera/send/table/table.hpp"
#include "wire/bytes.hpp"

namespace camera = anello::camera;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static camera::ChunkDecoder decoder;
    if (size < 3) return 0;
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    std::vector<std::byte> out(anello::wire::load_le<std::uint16_t>(bytes.data() + 1));
    const bool is_whole = decoder.decode(bytes.subspan(3), std::to_integer<std::uint32_t>(bytes[0]), out);
    unsigned sum = 0;
    for (const std::byte byte : out) sum += std::to_integer<unsigned>(byte);
    volatile unsigned read = is_whole ? sum : 0;
    static_cast<void>(read);
    return 0;
}
