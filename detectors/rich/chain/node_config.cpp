// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/node_config.hpp"

#include <algorithm>

#include "core/keys.hpp"
#include "pipeline/thread_keys.hpp"
#include "rich/decide/decision_writer.hpp"

namespace anello::rich {
namespace {

using R = RoomConfig;

constexpr std::array block_room{
    Key<R>::of<&R::n_lanes>(
        "lanes", {1, 32},
        "Threads that share the ports, each with neighbouring ones; for rates that are too high for "
        "one core."),
    Key<R>::of<&R::n_buffers>("n_buffers", {2, 65'536}, "Persistent buffers per board."),
    Key<R>::of<&R::events_per_buffer>("events_per_buffer", {1, 65'536},
                                      "A buffer is passed on when it has this many events.")
        .for_experts(),
    Key<R>::of<&R::hits_per_board_event>("hits_per_event", {1, 255},
                                         "Room for hits in a buffer, as a mean per event and board.")
        .for_experts(),
};

constexpr std::array batch_room = for_experts(std::array{
    Key<R>::of<&R::batch_events>("batch_events", {1, 65'536}, "A batch is passed on when it has this many events."),
    Key<R>::of<&R::hits_per_event>("hits_per_event", {1, 1024}, "Room for hits in a batch, as a mean per event."),
    Key<R>::of<&R::n_batches>("n_batches", {2, 65'536}, "Batches that circulate between build and emit."),
});

constexpr std::array node_trigger{
    Key<NodeConfig>::of<&NodeConfig::n_trigger_threads>("threads", {1, 256},
                                                        "Threads that share the events of a batch."),
    Key<NodeConfig>::of<&NodeConfig::fit_frame>("fit_frame", "Where the two disks lie in the common frame."),
};

constexpr std::array emitting{
    Key<NodeConfig>::of<&NodeConfig::emit_enabled>("enabled", "Send primitive packets."),
    Key<NodeConfig>::of<in<&NodeConfig::emit_to, &UdpSinkConfig::host>>("host", not_empty,
                                                                        "Host that the packets are sent to."),
    Key<NodeConfig>::of<in<&NodeConfig::emit_to, &UdpSinkConfig::port>>(
        "port", "Port that they are sent to; 0: the run's own listener, which checks every packet."),
    Key<NodeConfig>::of<in<&NodeConfig::emit, &EmitterConfig::source_id>>("source_id",
                                                                          "Source of the packets; 0x1C is the RICH."),
};

constexpr std::array storing{
    Key<NodeConfig>::of<in<&NodeConfig::store, &StoreConfig::decisions_file>>(
        "decisions", "HDF5 file, relative to the report directory; empty: none."),
    Key<NodeConfig>::of<in<&NodeConfig::store, &StoreConfig::prescale_log2>>("prescale_log2", {0, max_prescale_log2},
                                                                             "One decision in 2^this is stored."),
    Key<NodeConfig>::of<in<&NodeConfig::store, &StoreConfig::waiting_events>>(
        "waiting_events", {1, max_waiting_events},
        "Decisions that may wait in memory for the file (about 200 B each); beyond that, the trigger waits."),
    Key<NodeConfig>::of<in<&NodeConfig::store, &StoreConfig::rules, &store::FileRules::max_bytes>>(
        "max_file_bytes", {0, 1e15}, "A new file (-0001, -0002 ...) once one has so many bytes; 0: one file."),
};

constexpr std::array listening{
    Key<RichPorts>::of<&RichPorts::ports>("ports", Limits{}.entries(1, 32), "UDP port of each board; 0: any free one."),
};

}  // namespace

constinit const Keys<RichThreads> rich_threads_keys{"threads", pipeline::threads_meaning,
                                                    pipeline::thread_keys<RichThreads, rich_chain>};
constinit const Keys<RichPorts> rich_ports_keys{"receive", "Datagrams into persistent buffers, one stream per port.",
                                                listening};
constinit const Keys<RoomConfig> block_room_keys{"receive", "Datagrams into persistent buffers, one stream per port.",
                                                 block_room};
constinit const Keys<RoomConfig> batch_room_keys{"build", "Fragments of all boards into events.", batch_room};
constinit const Keys<NodeConfig> node_trigger_keys{"trigger", "Events into rings, rings into decisions.", node_trigger};
constinit const Keys<NodeConfig> emit_keys{"emit", "Decisions as NA62 level-0 primitives over UDP.", emitting};
constinit const Keys<NodeConfig> store_keys{"store", "Decisions to a file.", storing};

receive::BlockShape RoomConfig::block() const noexcept {
    constexpr std::uint32_t of_a_jumbo_frame = 8192;
    receive::BlockShape shape;
    shape.max_fragments = events_per_buffer;
    shape.max_hits = std::max(events_per_buffer * hits_per_board_event, of_a_jumbo_frame);
    shape.max_packets = events_per_buffer;  // a data packet has at least one event
    return shape;
}

}  // namespace anello::rich
