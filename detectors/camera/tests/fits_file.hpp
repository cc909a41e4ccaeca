// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace anello::camera::test {

struct FitsArray {
    std::string name;
    std::vector<std::size_t> shape;
    std::vector<float> values;
};

inline std::string fits_header(const std::vector<std::string>& cards) {
    std::string text;
    for (const std::string& card : cards) text += fmt::format("{:<80}", card);
    text += fmt::format("{:<80}", "END");
    text.resize((text.size() + 2879) / 2880 * 2880, ' ');
    return text;
}

inline std::string fits_array(const FitsArray& array) {
    std::vector<std::string> cards{"XTENSION= 'IMAGE   '           / Image extension", "BITPIX  =                  -32",
                                   fmt::format("NAXIS   = {:20}", array.shape.size())};
    for (std::size_t i = 0; i < array.shape.size(); ++i)
        cards.push_back(fmt::format("NAXIS{:<3}= {:20}", i + 1, array.shape[array.shape.size() - 1 - i]));
    cards.push_back(fmt::format("EXTNAME = '{:<8}'", array.name));
    std::string text = fits_header(cards);
    for (const float value : array.values) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((bits >> shift) & 0xff);
    }
    text.resize((text.size() + 2879) / 2880 * 2880);
    return text;
}

inline std::string fits_bytes(const std::vector<FitsArray>& arrays) {
    std::string text = fits_header(
        {"SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    0"});
    for (const FitsArray& array : arrays) text += fits_array(array);
    return text;
}

/// On disk while it lives.
class FitsFile {
  public:
    explicit FitsFile(const std::vector<FitsArray>& arrays) {
        char name[] = "/tmp/anello-fits-XXXXXX";
        close(mkstemp(name));
        path = name;
        std::ofstream(path, std::ios::binary) << fits_bytes(arrays);
    }
    FitsFile(const FitsFile&) = delete;
    FitsFile& operator=(const FitsFile&) = delete;
    ~FitsFile() { std::filesystem::remove(path); }

    std::string path;
};

}  // namespace anello::camera::test
