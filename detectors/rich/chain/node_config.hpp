// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/thread.hpp"
#include "events/merger_config.hpp"
#include "pipeline/intake.hpp"
#include "pipeline/layout.hpp"
#include "publish/publish_config.hpp"
#include "rich/decide/decider.hpp"
#include "rich/emit/datagram_sink.hpp"
#include "rich/emit/primitive_emitter.hpp"
#include "rich/emit/udp_sink.hpp"
#include "rich/geometry.hpp"
#include "store/file_rules.hpp"

namespace anello::rich {

/// The stages of a node, in the order in which data pass through them.
inline constexpr std::array<std::string_view, 5> rich_chain{"receive", "build", "trigger", "emit", "store"};

struct RichThreads : pipeline::ThreadsConfig {
    RichThreads() : ThreadsConfig{.layout = {"receive+build+trigger+emit", "store"}} {}
};
extern const Keys<RichThreads> rich_threads_keys;

struct RichPorts : receive::PortsConfig {
    RichPorts() : PortsConfig{.ports = std::vector<std::uint16_t>(n_boards)} {}
};
extern const Keys<RichPorts> rich_ports_keys;

struct StoreConfig {
    std::string decisions_file;              ///< HDF5 file; empty: nothing is stored
    std::uint32_t prescale_log2 = 0;         ///< one of 2^this decisions is stored, and offered to displays
    std::uint32_t waiting_events = 131'072;  ///< decisions that may wait for the file
    std::uint32_t chunk_events = 65'536;     ///< largest number written to it at once
    store::FileRules rules{};
};

/// Room in the node's buffers, as users configure it: a buffer has room for the mean number of hits of its events.
struct RoomConfig {
    std::uint32_t events_per_buffer = 256, hits_per_board_event = 16, n_buffers = 64;
    std::uint32_t batch_events = 256, hits_per_event = 48, n_batches = 64;
    std::uint32_t n_lanes = 1;  ///< threads of the stage receive

    receive::BlockShape block() const noexcept;
    events::BatchShape batch() const noexcept { return {batch_events, batch_events * hits_per_event}; }
};

/// Complete configuration of a node. build.n_boards and build.batch follow from the other parts and are checked against
/// them.
struct NodeConfig {
    PageIdentity page;           ///< page of the node's counters
    std::uint32_t n_bursts = 0;  ///< the node finishes after this many; 0: it never finishes
    pipeline::IntakeConfig intake;
    /// Source numbers of boards that send mgp packets, in the order of ports; empty for other formats. The card's
    /// merger needs them.
    std::vector<std::uint16_t> mgp_source_ids;
    events::MergerConfig build;
    std::uint32_t n_batches = 64;
    DeciderConfig trigger;
    std::uint32_t n_trigger_threads = 1;
    FitFrame fit_frame = FitFrame::run_2016;
    bool emit_enabled = true;
    EmitterConfig emit;
    UdpSinkConfig emit_to;  ///< port 0: to the node's own listener, which checks every packet
    std::function<std::unique_ptr<DatagramSink>()> make_emit_sink = nullptr;  ///< if set, used instead of emit_to
    StoreConfig store;
    publish::PublishConfig publish;
    std::vector<pipeline::ThreadPlan> threads;
    WaitPolicy wait = WaitPolicy::sleep;
    double probe_share = 0;  ///< part of each core's time to measure the machine's hiccups; 0: not measured
};

/// Keys of the sections receive and build, and of trigger, emit and store.
extern const Keys<RoomConfig> block_room_keys, batch_room_keys;
extern const Keys<NodeConfig> node_trigger_keys, emit_keys, store_keys;

}  // namespace anello::rich
