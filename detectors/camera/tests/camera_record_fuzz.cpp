// SPDX-License-Identifier: Apache-2.0
// Built from: detectors/camera/send/record.cpp detectors/camera/send/compression.cpp
// Camera records: any bytes give a verdict and bounded memory. The checksum is made right, or nothing would pass it.
#include <cstdlib>
#include <vector>

#include "camera/send/record.hpp"
#include "wire/bytes.hpp"
#include "wire/crc32c.hpp"

namespace camera = anello::camera;
namespace wire = anello::wire;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static camera::CameraDecoder decoder;
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    std::vector<std::byte> record(bytes.begin(), bytes.end());
    if (size >= 64) {
        const std::uint32_t header = wire::crc32c(std::span(record).first(60));
        wire::store_le(record.data() + 60, wire::crc32c(std::span(record).subspan(64), header));
    }
    camera::CameraRecord decoded;
    if (decoder.decode(record, decoded) != camera::RecordVerdict::ok) return 0;
    if (decoded.headers.size() != decoded.header.n_present * 64U) std::abort();
    unsigned sum = 0;
    for (const std::byte byte : decoded.waveforms) sum += std::to_integer<unsigned>(byte);
    for (const std::byte byte : decoded.headers) sum += std::to_integer<unsigned>(byte);
    volatile unsigned read = sum;
    static_cast<void>(read);
    return 0;
}
