// SPDX-License-Identifier: Apache-2.0
#include "wire/packet_format.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "wire/mfp.hpp"
#include "wire/mgp.hpp"
#include "wire/packet_contents.hpp"

namespace anello::wire {
namespace {

using namespace contents;

constexpr std::array<PacketFormat, 2> formats_of_engine{{
    {"mgp", "Anello's multi-event packet", begins_le<mgp::magic>, mgp::datagram_bytes, check_mgp, read_mgp},
    {"mfp", "multi-fragment packet, between nodes", begins_le<mfp::magic>, nullptr, check_mfp, read_mfp},
}};

struct Formats {
    std::array<PacketFormat, most_packet_formats> all{};
    std::size_t n = 0;

    Formats() { n = static_cast<std::size_t>(std::ranges::copy(formats_of_engine, all.begin()).out - all.begin()); }
    std::span<const PacketFormat> known() const noexcept { return std::span(all).first(n); }
};

Formats& formats() noexcept {
    static Formats known;
    return known;
}

}  // namespace

void add_packet_formats(std::span<const PacketFormat> added) {
    Formats& known = formats();
    for (const PacketFormat& format : added) {
        if (find_packet_format(format.name) != nullptr) continue;
        if (known.n == known.all.size())
            throw ConfigError("formats", "must be at most " + std::to_string(most_packet_formats), format.name,
                              "Install fewer detectors.");
        known.all[known.n++] = format;
    }
}

std::span<const PacketFormat> packet_formats() noexcept {
    return formats().known();
}

const PacketFormat* find_packet_format(std::string_view name) noexcept {
    for (const PacketFormat& format : packet_formats())
        if (name == format.name) return &format;
    return nullptr;
}

const PacketFormat& packet_format_named(const std::string& name) {
    if (const PacketFormat* const format = find_packet_format(name); format != nullptr) return *format;
    std::string names;
    for (const PacketFormat& format : packet_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
    throw ConfigError("format", "must be one of " + names, name,
                      "Leave it out to recognise the format, or for raw data.");
}

const PacketFormat* recognise(std::span<const std::byte> datagram) noexcept {
    for (const PacketFormat& format : packet_formats())
        if (format.has_magic != nullptr && format.has_magic(datagram)) return &format;
    Summary summary;
    for (const PacketFormat& format : packet_formats())
        if (format.has_magic == nullptr && format.can_be_recognised && format.check(datagram, summary) == Verdict::ok)
            return &format;
    return nullptr;
}

std::size_t any_datagram_bytes(std::span<const std::byte> bytes) noexcept {
    const auto formats = packet_formats();
    for (const PacketFormat& format : formats)
        if (format.has_magic != nullptr && format.has_magic(bytes))
            return format.length_of == nullptr ? 0 : format.length_of(bytes);
    // Formats without a magic number have their length in the same place, or nowhere.
    for (const PacketFormat& format : formats)
        if (format.has_magic == nullptr && format.length_of != nullptr) return format.length_of(bytes);
    return 0;
}

}  // namespace anello::wire
