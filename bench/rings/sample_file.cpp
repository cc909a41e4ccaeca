// SPDX-License-Identifier: Apache-2.0
#include "rings/sample_file.hpp"

#include <bit>
#include <fstream>
#include <span>
#include <stdexcept>

namespace rings {
namespace {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(TrueRing) == 16);

template <typename T>
void write(std::ofstream& file, const T& values) {
    const auto bytes = std::as_bytes(std::span(values));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

void write_sample(const Sample& sample, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    const std::uint32_t counts[]{sample.n_events(), static_cast<std::uint32_t>(sample.x_mm.size()),
                                 static_cast<std::uint32_t>(sample.ring.size())};
    file.write("ANELRING", 8);
    write(file, counts);
    write(file, sample.hit_offset);
    write(file, sample.ring_offset);
    write(file, sample.x_mm);
    write(file, sample.y_mm);
    write(file, sample.ring);
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
}

}  // namespace rings
