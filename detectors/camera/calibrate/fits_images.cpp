// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/fits_images.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace anello::camera {
namespace {

constexpr std::size_t block_bytes = 2880, card_bytes = 80, keyword_bytes = 8, value_at = 10;
constexpr std::int64_t max_axes = 8;
constexpr std::uintmax_t max_file_bytes = 1U << 30;  // the coefficients of an LST are 61 MB

std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// A header: its cards up to END, unchanged.
class Header {
  public:
    /// at: position of the header's begin; moved to the first byte of its data.
    Header(std::span<const std::byte> bytes, std::size_t& at) {
        for (;; at += card_bytes) {
            if (bytes.size() - at < card_bytes) throw std::runtime_error("it ends within a header");
            const std::string_view card(reinterpret_cast<const char*>(bytes.data() + at), card_bytes);
            if (trimmed(card.substr(0, keyword_bytes)) == "END") break;
            if (card.substr(keyword_bytes, 2) == "= ")
                values_.try_emplace(std::string(trimmed(card.substr(0, keyword_bytes))), card.substr(value_at));
        }
        at = (at / block_bytes + 1) * block_bytes;
    }

    bool has(const std::string& keyword) const { return values_.contains(keyword); }
    /// Value of a keyword that is a string in quotes; empty if there is none.
    std::string text(const std::string& keyword) const {
        const auto found = values_.find(keyword);
        if (found == values_.end()) return {};
        const std::string_view value = trimmed(found->second);
        if (value.empty() || value.front() != '\'') return {};
        return std::string(trimmed(value.substr(1, value.find('\'', 1) - 1)));
    }
    template <typename T>
    T number(const std::string& keyword, std::optional<T> otherwise = {}) const {
        const auto found = values_.find(keyword);
        if (found == values_.end() && otherwise) return *otherwise;
        const std::string_view value =
            found == values_.end() ? std::string_view{} : trimmed(found->second.substr(0, found->second.find('/')));
        T result{};
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
        if (error != std::errc{} || end != value.data() + value.size())
            throw std::runtime_error("its header has no number for " + keyword);
        return result;
    }

  private:
    std::map<std::string, std::string_view> values_;
};

struct Extent {
    std::vector<std::size_t> shape;
    std::size_t value_bytes = 0, n_values = 0, n_bytes = 0;
};

/// Number of values of an array. Each product is compared with `available`, so that none overflows.
Extent extent_of(const Header& header, std::size_t available) {
    const auto bits = header.number<std::int64_t>("BITPIX");
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != -32 && bits != -64)
        throw std::runtime_error("BITPIX " + std::to_string(bits) + " does not exist");
    const auto n_axes = header.number<std::int64_t>("NAXIS");
    if (n_axes < 0 || n_axes > max_axes)
        throw std::runtime_error("it has an array of " + std::to_string(n_axes) + " axes");
    Extent extent{
        .shape = {}, .value_bytes = static_cast<std::size_t>(bits < 0 ? -bits : bits) / 8, .n_values = 0, .n_bytes = 0};
    std::size_t n = n_axes > 0 ? 1 : 0;
    for (std::int64_t axis = n_axes; axis > 0; --axis) {
        const auto length = header.number<std::int64_t>("NAXIS" + std::to_string(axis));
        if (length < 0) throw std::runtime_error("an array has an axis of negative length");
        const auto size = static_cast<std::size_t>(length);
        if (n != 0 && size > available / n) throw std::runtime_error("it ends within an array");
        n *= size;
        extent.shape.push_back(size);
    }
    const auto heap = header.number<std::int64_t>("PCOUNT", 0);
    const auto groups = header.number<std::int64_t>("GCOUNT", 1);
    if (heap < 0 || groups != 1) throw std::runtime_error("it has groups of arrays");
    const std::size_t room = available / extent.value_bytes;
    if (n > room || static_cast<std::size_t>(heap) > room - n) throw std::runtime_error("it ends within an array");
    extent.n_values = n;
    extent.n_bytes = (n + static_cast<std::size_t>(heap)) * extent.value_bytes;
    return extent;
}

template <typename T>
T big_endian(const std::byte* at) noexcept {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), at, sizeof(T));
    if constexpr (std::endian::native == std::endian::little) std::ranges::reverse(bytes);
    return std::bit_cast<T>(bytes);
}

template <typename T>
void convert(const std::byte* from, double scale, double zero, std::vector<float>& to) {
    for (float& value : to) {
        value = static_cast<float>(static_cast<double>(big_endian<T>(from)) * scale + zero);
        from += sizeof(T);
    }
}

FitsImage image_of(const Header& header, const Extent& extent, const std::byte* data) {
    const auto scale = header.number<double>("BSCALE", 1.0), zero = header.number<double>("BZERO", 0.0);
    FitsImage image{extent.shape, std::vector<float>(extent.n_values)};
    switch (header.number<std::int64_t>("BITPIX")) {
        case 8:
            convert<std::uint8_t>(data, scale, zero, image.values);
            break;
        case 16:
            convert<std::int16_t>(data, scale, zero, image.values);
            break;
        case 32:
            convert<std::int32_t>(data, scale, zero, image.values);
            break;
        case -32:
            convert<float>(data, scale, zero, image.values);
            break;
        case -64:
            convert<double>(data, scale, zero, image.values);
            break;
        default:
            throw std::runtime_error("an array has whole numbers of 64 bits");
    }
    return image;
}

std::string capitals(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

}  // namespace

FitsImages parse_fits_images(std::span<const std::byte> bytes, std::span<const char* const> names) {
    const auto begins_with = [&](std::string_view word) {
        return bytes.size() >= word.size() && std::memcmp(bytes.data(), word.data(), word.size()) == 0;
    };
    if (begins_with("\x1f\x8b")) throw std::runtime_error("it is compressed: gunzip it");
    if (!begins_with("SIMPLE  =")) throw std::runtime_error("it is no FITS file");
    FitsImages images;
    for (std::size_t at = 0; at < bytes.size();) {
        const bool is_first = at == 0;
        const Header header(bytes, at);
        const std::size_t available = at < bytes.size() ? bytes.size() - at : 0;
        const Extent extent = extent_of(header, available);
        const std::string name = capitals(header.text("EXTNAME"));
        const bool is_wanted = std::ranges::any_of(names, [&](const char* wanted) { return capitals(wanted) == name; });
        if (is_wanted && header.has("ZIMAGE")) throw std::runtime_error(name + " is a compressed image: funpack it");
        if (is_wanted && (is_first || header.text("XTENSION") == "IMAGE"))
            images.try_emplace(name, image_of(header, extent, bytes.data() + std::min(at, bytes.size())));
        at += (extent.n_bytes + block_bytes - 1) / block_bytes * block_bytes;
    }
    return images;
}

FitsImages read_fits_images(const std::string& path, std::span<const char* const> names) {
    std::error_code error;
    const std::uintmax_t n_bytes = std::filesystem::file_size(path, error);
    if (error) throw std::runtime_error(error.message());
    if (n_bytes > max_file_bytes)
        throw std::runtime_error("it has " + std::to_string(n_bytes) + " bytes, more than 1 GiB");
    std::vector<std::byte> bytes(n_bytes);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(n_bytes));
    if (!file) throw std::runtime_error("it cannot be read");
    return parse_fits_images(bytes, names);
}

}  // namespace anello::camera
