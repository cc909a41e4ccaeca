// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "camera/chain/outlet.hpp"
#include "camera/events/intake.hpp"
#include "camera/events/joiner.hpp"
#include "core/thread.hpp"
#include "pipeline/layout.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/card/make_backend.hpp"

namespace anello::camera {

/// The stages of a node, in the order in which data pass them.
inline constexpr std::array<std::string_view, 4> camera_chain{"receive", "build", "filter", "send"};

struct CameraThreads : pipeline::ThreadsConfig {
    /// PERF NOTE: with a rest of 100 us a datagram costs 20 to 33 % less CPU time than with 20 us (peers_bench, paced).
    CameraThreads() : ThreadsConfig{.layout = {"receive+build+filter", "send"}, .rest_ns = 100'000} {}
};
extern const Keys<CameraThreads> camera_threads_keys;
extern const Keys<receive::PortsConfig> camera_ports_keys;

/// The whole configuration of a camera node.
struct CameraNodeConfig {
    PageIdentity page;         ///< identity of its counter page
    std::uint32_t n_runs = 0;  ///< the node finishes after this many; 0: never by itself
    /// Ports are divided among the groups in order, like the boards. With fewer ports than boards, each port serves a
    /// range of boards.
    receive::BackendConfig backend;
    CameraBuilderConfig build;  ///< `boards` and `stream_boards` follow from groups and ports
    std::uint32_t n_groups = 1;
    CameraJoinerConfig join;
    CameraOutletConfig send;
    std::vector<pipeline::ThreadPlan> threads;  ///< for the camera chain; receive and build are repeated for each group
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< share of each core that measures the machine's hiccups; 0: not measured
};

/// Keys of the sections camera_build (groups), camera_send and publish.
extern const Keys<CameraNodeConfig> camera_groups_keys;
extern const Keys<CameraOutletConfig> camera_send_keys, camera_publish_keys;

}  // namespace anello::camera
