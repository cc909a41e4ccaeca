// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/builder_config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"
#include "core/keys.hpp"

namespace anello::camera {
namespace {

namespace builder_table {

using C = CameraBuilderConfig;
using K = Key<C>;

constexpr std::array keys{
    K::of<&C::window_events>("window_events", Limits{2, 32'768}.powers_of_two(),
                             "Number of events open at a time, and so how far apart boards may be."),
    K::of<&C::n_events>("n_events", {4, 65'536},
                        "Event buffers of each builder: for open events and those that wait to be sent; at least twice "
                        "window_events."),
    K::of<&C::timeout_ns, ns_per_ms>("timeout_ms", {0.1, 10'000},
                                     "Maximum time that an event waits for a missing board, ms."),
    K::of<&C::event_number_bits>("event_number_bits", {10, 32},
                                 "How many bits boards count events with; beyond them the builder counts on."),
    K::of<&C::verify_checksum>("verify_checksum", "Check the CRC-32C of fragments that carry one."),
    K::of<&C::copy>("copy",
                    "How fragments are copied to event memory; auto: the method, and with sockets the bytes per system "
                    "call, with the lowest cost, measured on live traffic and reported."),
    K::of<&C::in_place>("in_place",
                        "The kernel writes a fragment directly into its slot if the next one can be predicted; needs "
                        "receive.gro = false.")
        .for_experts(),
};

}  // namespace builder_table

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

constinit const Keys<CameraBuilderConfig> camera_builder_keys{
    "camera_build", "Fragments of all boards into camera events, by event number.", builder_table::keys};

void CameraBuilderConfig::validate() const {
    camera_builder_keys.check(*this);
    require(shape.n_boards >= 1 && shape.n_boards <= max_camera_boards, "camera.boards", "must be 1 to 1024",
            std::to_string(shape.n_boards), "A camera has some 300.");
    require(shape.max_payload_bytes >= 1 && shape.max_payload_bytes <= wire::camera::max_payload_bytes,
            "camera.payload_bytes", "must be 1 to 8908", std::to_string(shape.max_payload_bytes),
            "A fragment is one datagram of a jumbo frame.");
    require(std::uint64_t{window_events} << 2 <= std::uint64_t{1} << event_number_bits, "camera_build.window_events",
            "must be at most a quarter of the numbers that camera_build.event_number_bits has",
            fmt::format("{}, with {} bits", window_events, event_number_bits), "Use a smaller window.");
    // Otherwise events that wait for a board could use all buffers, and no datagram be read until they time out.
    require(n_events >= 2 * window_events, "camera_build.n_events", "must be at least twice camera_build.window_events",
            fmt::format("{}, with {} open at a time", n_events, window_events),
            "Use more event buffers, or a smaller window.");
    require(group < max_camera_groups, "camera_build.groups", "at most 8", std::to_string(group + 1),
            "Each group is a thread.");
    require(lies_within(boards, {0, shape.n_boards}), "camera_build.groups", "each group needs boards of the camera",
            text_of(boards), "Use fewer groups.");
    for (const BoardRange& range : stream_boards)
        require(lies_within(range, boards), "receive.ports", "each port's boards must be of one group", text_of(range),
                "Use as many ports as boards, or a multiple of the groups.");
    require(full_policy != receive::FullPolicy::overwrite_oldest, "receive.policy", "must be wait or drop_new",
            receive::name_of(full_policy), "An event that is being built cannot be overwritten.");
}

}  // namespace anello::camera
