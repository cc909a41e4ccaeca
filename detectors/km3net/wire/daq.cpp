// SPDX-License-Identifier: Apache-2.0
#include "km3net/wire/daq.hpp"

#include "wire/bytes.hpp"

namespace anello::wire::daq {
namespace {

constexpr std::uint32_t clock_state = 1U << 31;  // some programs set it in the seconds
constexpr std::size_t status_bytes = 24, origin_bytes = 20;
constexpr std::size_t count_bytes = 4, event_head_bytes = 20;  // the parts after a header
constexpr std::size_t rate_frame_bytes = status_bytes + n_channels;

std::uint32_t word(std::span<const std::byte> bytes, std::size_t at) noexcept {
    return load_le<std::uint32_t>(bytes.data() + at);
}

Origin read_origin(std::span<const std::byte> bytes) noexcept {
    return {word(bytes, 0), word(bytes, 4), word(bytes, 8), word(bytes, 12) & ~clock_state, word(bytes, 16)};
}

Status read_status(std::span<const std::byte> bytes) noexcept {
    const std::uint32_t daq = word(bytes, 4);
    return {word(bytes, 0),
            static_cast<std::uint16_t>(daq),
            static_cast<std::uint16_t>(daq >> 16),
            {word(bytes, 8), word(bytes, 12), word(bytes, 16), word(bytes, 20)}};
}

bool are_channels_right(std::span<const std::byte> items, std::size_t item_bytes, std::size_t at) noexcept {
    bool is_right = true;
    for (std::size_t i = at; i < items.size(); i += item_bytes)
        is_right = is_right && static_cast<std::size_t>(items[i]) < n_channels;
    return is_right;
}

/// Takes n items from the front of `rest`; returns false if it has fewer.
bool try_take(std::span<const std::byte>& rest, std::size_t n, std::size_t item_bytes,
              std::span<const std::byte>& items) noexcept {
    if (n > rest.size() / item_bytes) return false;
    items = rest.first(n * item_bytes);
    rest = rest.subspan(items.size());
    return true;
}

Verdict parse_frame(std::span<const std::byte>& rest, const Origin& origin) noexcept {
    if (rest.size() < frame_header_bytes) return Verdict::event_truncated;
    const std::size_t length = word(rest, 0), n_hits = word(rest, 52);
    if (length > rest.size() || length != frame_header_bytes + n_hits * hit_bytes) return Verdict::event_truncated;
    if (static_cast<Type>(word(rest, 4)) != Type::frame || read_origin(rest.subspan(8)) != origin)
        return Verdict::wrong_event_number;
    const auto hits = rest.first(length).subspan(frame_header_bytes);
    rest = rest.subspan(length);
    return are_channels_right(hits, hit_bytes, 0) ? Verdict::ok : Verdict::wrong_hit;
}

Verdict parse_slice(std::span<const std::byte> rest, const MessageView& view) noexcept {
    for (std::uint32_t i = 0; i < view.n_frames; ++i)
        if (const Verdict verdict = parse_frame(rest, view.header.origin); verdict != Verdict::ok) return verdict;
    return rest.empty() ? Verdict::ok : Verdict::wrong_event_count;
}

Verdict parse_event(std::span<const std::byte> rest, MessageView& view) noexcept {
    if (rest.size() < event_head_bytes + count_bytes) return Verdict::event_truncated;
    view.number = load_le<std::uint64_t>(rest.data());
    view.mask = load_le<std::uint64_t>(rest.data() + 8);
    view.n_overlays = word(rest, 16);
    const std::uint32_t n_triggered = word(rest, event_head_bytes);
    rest = rest.subspan(event_head_bytes + count_bytes);
    if (!try_take(rest, n_triggered, triggered_bytes, view.triggered) || rest.size() < count_bytes)
        return Verdict::event_truncated;
    const std::uint32_t n_snapshot = word(rest, 0);
    rest = rest.subspan(count_bytes);
    if (!try_take(rest, n_snapshot, snapshot_bytes, view.snapshot)) return Verdict::event_truncated;
    if (!rest.empty()) return Verdict::wrong_event_count;
    const bool is_right =
        are_channels_right(view.triggered, triggered_bytes, 4) && are_channels_right(view.snapshot, snapshot_bytes, 4);
    return is_right ? Verdict::ok : Verdict::wrong_hit;
}

Verdict parse_body(std::span<const std::byte> body, MessageView& view) noexcept {
    if (view.header.type == Type::event) return parse_event(body, view);
    if (body.size() < count_bytes) return Verdict::event_truncated;
    view.n_frames = word(body, 0);
    body = body.subspan(count_bytes);
    if (is_slice(view.header.type)) return parse_slice(body, view);
    return body.size() == std::uint64_t{view.n_frames} * rate_frame_bytes ? Verdict::ok : Verdict::wrong_event_count;
}

}  // namespace

std::uint16_t version_of(Type type) noexcept {
    if (is_slice(type)) return 1;
    return type == Type::summary ? 6 : type == Type::event ? 4 : 0;
}

std::size_t message_bytes(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < header_bytes || word(bytes, 0) < header_bytes) return 0;
    const std::uint16_t version = version_of(static_cast<Type>(word(bytes, 4)));
    return version > 0 && load_le<std::uint16_t>(bytes.data() + 8) == version ? word(bytes, 0) : 0;
}

Verdict parse(std::span<const std::byte> message, MessageView& view) noexcept {
    if (message.size() < header_bytes) return Verdict::too_short;
    view = {.header = {word(message, 0), static_cast<Type>(word(message, 4)),
                       load_le<std::uint16_t>(message.data() + 8), read_origin(message.subspan(10))},
            .bytes = message};
    if (version_of(view.header.type) == 0) return Verdict::wrong_magic;
    if (view.header.version != version_of(view.header.type)) return Verdict::wrong_version;
    if (view.header.length_bytes != message.size()) return Verdict::wrong_length;
    return parse_body(message.subspan(header_bytes), view);
}

FrameReader::FrameReader(const MessageView& view) noexcept
    : rest_(view.n_frames > 0 ? view.bytes.subspan(header_bytes + count_bytes) : std::span<const std::byte>{}) {}

bool FrameReader::next(Frame& frame) noexcept {
    if (rest_.empty()) return false;
    const std::span<const std::byte> whole = rest_.first(word(rest_, 0));
    frame = {read_status(whole.subspan(8 + origin_bytes)), whole.subspan(frame_header_bytes)};
    rest_ = rest_.subspan(whole.size());
    return true;
}

bool FrameReader::next(RateFrame& frame) noexcept {
    if (rest_.empty()) return false;
    frame = {read_status(rest_), rest_.subspan(status_bytes, n_channels)};
    rest_ = rest_.subspan(rate_frame_bytes);
    return true;
}

}  // namespace anello::wire::daq
