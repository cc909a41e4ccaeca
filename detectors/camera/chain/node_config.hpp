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

/// The stages of a node, in the order of the data's way.
inline constexpr std::array<std::string_view, 4> camera_chain{"receive", "build", "filter", "send"};

struct CameraThreads : pipeline::ThreadsConfig {
    /// PERF NOTE: a fifth to a third less CPU time per datagram than with a fifth of the rest (peers_bench, paced).
    CameraThreads() : ThreadsConfig{.layout = {"receive+build+filter", "send"}, .rest_ns = 100'000} {}
};
extern const Keys<CameraThreads> camera_threads_keys;
extern const Keys<receive::PortsConfig> camera_ports_keys;

/// Everything a camera node is told before it starts.
struct CameraNodeConfig {
    PageIdentity page;         ///< of its counters
    std::uint32_t n_runs = 0;  ///< the node finishes after this many; 0: never by itself
    /// Ports are shared out among the groups in order, as the boards are: with fewer ports than boards, each port
    /// serves a range of boards.
    receive::BackendConfig backend;
    CameraBuilderConfig build;  ///< `boards` and `stream_boards` follow from groups and ports
    std::uint32_t n_groups = 1;
    CameraJoinerConfig join;
    CameraOutletConfig send;
    std::vector<pipeline::ThreadPlan> threads;  ///< of the camera chain; receive and build are repeated for each group
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< of each core, for measuring the machine's hiccups; 0: not measured
};

/// Of the sections camera_build, camera_send and publish.
extern const Keys<CameraNodeConfig> camera_groups_keys;
extern const Keys<CameraOutletConfig> camera_send_keys, camera_publish_keys;

}  // namespace anello::camera
