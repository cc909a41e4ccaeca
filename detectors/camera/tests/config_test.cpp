// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "camera/tests/rig.hpp"
#include "core/errors.hpp"

namespace anello::camera::test {
namespace {

/// Each bound from both sides: the last that is allowed, and the first that is not.
TEST(CameraBuilderConfig, EachBoundIsWhereItsMessageSays) {
    struct Bound {
        const char* field;
        std::function<void(CameraBuilderConfig&)> allowed, refused;
    };
    using C = CameraBuilderConfig;
    using receive::FullPolicy;
    const Bound bounds[]{
        {"camera.boards", [](C& c) { c.shape.n_boards = 4; }, [](C& c) { c.shape.n_boards = 0; }},
        {"camera.boards", [](C& c) { c.shape.n_boards = 1024; }, [](C& c) { c.shape.n_boards = 1025; }},
        {"camera.payload_bytes", [](C& c) { c.shape.max_payload_bytes = 1; },
         [](C& c) { c.shape.max_payload_bytes = 0; }},
        {"camera.payload_bytes", [](C& c) { c.shape.max_payload_bytes = 8908; },
         [](C& c) { c.shape.max_payload_bytes = 8909; }},
        {"camera_build.groups", [](C& c) { c.group = 7; }, [](C& c) { c.group = 8; }},
        {"camera_build.groups",
         [](C& c) {
             c.boards = {3, 1};
         },
         [](C& c) {
             c.boards = {3, 2};
         }},
        {"camera_build.groups",
         [](C& c) {
             c.boards = {0, 1};
         },
         [](C& c) {
             c.boards = {0, 0};
         }},
        {"camera_build.groups", [](C&) {},
         [](C& c) {
             c.boards = {4, 1};
         }},
        {"receive.ports",
         [](C& c) {
             c.stream_boards = {{0, 2}, {2, 2}};
         },
         [](C& c) {
             c.stream_boards = {{0, 2}, {2, 3}};
         }},
        {"camera_build.window_events", [](C& c) { c.window_events = 2; }, [](C& c) { c.window_events = 1; }},
        {"camera_build.window_events", [](C& c) { c.window_events = 32768, c.n_events = 65536; },
         [](C& c) { c.window_events = 65536; }},
        {"camera_build.window_events", [](C&) {}, [](C& c) { c.window_events = 24; }},
        {"camera_build.n_events", [](C& c) { c.window_events = 2, c.n_events = 4; }, [](C& c) { c.n_events = 3; }},
        {"camera_build.n_events", [](C& c) { c.window_events = 16, c.n_events = 32; }, [](C& c) { c.n_events = 31; }},
        {"camera_build.n_events", [](C& c) { c.n_events = 65536; }, [](C& c) { c.n_events = 65537; }},
        {"camera_build.timeout_ms", [](C& c) { c.timeout_ns = 100'000; }, [](C& c) { c.timeout_ns = 99'999; }},
        {"receive.policy", [](C& c) { c.full_policy = FullPolicy::drop_new; },
         [](C& c) { c.full_policy = FullPolicy::overwrite_oldest; }},
    };
    for (const Bound& bound : bounds) {
        CameraBuilderConfig config = small_camera();
        bound.allowed(config);
        EXPECT_NO_THROW(config.validate()) << bound.field;
        bound.refused(config);
        try {
            config.validate();
            ADD_FAILURE() << bound.field << " is not checked";
        } catch (const ConfigError& error) {
            EXPECT_EQ(error.field(), bound.field);
        }
    }
}

TEST(CameraGroups, HaveAsManyBoardsAsTheOthersOrFewerAtTheEnd) {
    const auto group = [](std::uint32_t n_boards, std::uint32_t n_groups, std::uint32_t number) {
        const BoardRange range = boards_of_group(n_boards, n_groups, number);
        return std::pair(range.first, range.count);
    };
    EXPECT_EQ(group(8, 3, 0), std::pair(0U, 3U));
    EXPECT_EQ(group(8, 3, 1), std::pair(3U, 3U));
    EXPECT_EQ(group(8, 3, 2), std::pair(6U, 2U));
    EXPECT_EQ(group(9, 3, 2), std::pair(6U, 3U));
    EXPECT_EQ(group(3, 5, 4).second, 0U) << "more groups than boards";
}

}  // namespace
}  // namespace anello::camera::test
