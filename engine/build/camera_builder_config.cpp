// SPDX-License-Identifier: Apache-2.0
#include "build/camera_builder_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/errors.hpp"

namespace anello::build {
namespace {

void require(bool holds, const char* field, const char* rule, const std::string& given, const char* remedy) {
    if (!holds) throw ConfigError(field, rule, given, remedy);
}

std::string text_of(const BoardRange& range) {
    return range.count == 0 ? "no boards" : fmt::format("boards {} to {}", range.first, range.first + range.count - 1);
}

bool lies_within(const BoardRange& inner, const BoardRange& outer) {
    return inner.count > 0 && outer.contains(inner.first) && inner.count <= outer.first + outer.count - inner.first;
}

}  // namespace

BoardRange boards_of_group(std::uint32_t n_boards, std::uint32_t n_groups, std::uint32_t group) noexcept {
    const std::uint32_t per_group = (n_boards + n_groups - 1) / n_groups;
    const std::uint32_t first = std::min(n_boards, group * per_group);
    return {first, std::min(per_group, n_boards - first)};
}

void CameraBuilderConfig::validate() const {
    require(shape.n_boards >= 1 && shape.n_boards <= max_camera_boards, "camera.boards", "must be 1 to 1024",
            std::to_string(shape.n_boards), "A camera has some 300.");
    require(shape.max_payload_bytes >= 1 && shape.max_payload_bytes <= wire::camera::max_payload_bytes,
            "camera.payload_bytes", "must be 1 to 8908", std::to_string(shape.max_payload_bytes),
            "A fragment is one datagram of a jumbo frame.");
    require(group < max_camera_groups, "camera_build.groups", "at most 8", std::to_string(group + 1),
            "Each group is a thread.");
    require(lies_within(boards, {0, shape.n_boards}), "camera_build.groups", "each group needs boards of the camera",
            text_of(boards), "Use fewer groups.");
    for (const BoardRange& range : stream_boards)
        require(lies_within(range, boards), "receive.ports", "each port's boards must be of one group", text_of(range),
                "Use as many ports as boards, or a multiple of the groups.");
    require(std::has_single_bit(window_events) && window_events >= 2 && window_events <= 65536,
            "camera_build.window_events", "must be a power of two, 2 to 65536", std::to_string(window_events),
            "64 is the default.");
    require(n_events >= 4 && n_events <= 65536, "camera_build.n_events", "must be 4 to 65536", std::to_string(n_events),
            "Several times window_events: open events and those that wait to be sent.");
    require(timeout_ns > 0, "camera_build.timeout_ms", "must be above 0", std::to_string(timeout_ns / 1'000'000),
            "20 is the default.");
    require(full_policy != receive::FullPolicy::overwrite_oldest, "receive.full_policy", "must be wait or drop_new",
            receive::name_of(full_policy), "An event that is being built cannot be overwritten.");
}

}  // namespace anello::build
