// SPDX-License-Identifier: Apache-2.0
#include "rich/chain/node.hpp"

#include <algorithm>
#include <bit>
#include <deque>

#include "arrays.hpp"
#include "config.hpp"
#include "keys.hpp"
#include "node_handle.hpp"
#include "rich/bindings/finder_config.hpp"
#include "rich/bindings/node_config.hpp"
#include "rich/bindings/parts.hpp"
#include "rich/bindings/python_plugin.hpp"
#include "rich/chain/unpackers.hpp"
#include "rich/source/source_format.hpp"
#include "rich/wire/mep.hpp"
#include "wire/mgp.hpp"

namespace anello::rich {
namespace {

namespace nb = nanobind;
using bindings::ConfigReader;

constexpr std::size_t max_kept_snapshots = 256;
constexpr std::size_t max_kept_executions = 20'000;

/// Sets the source numbers as the simulated boards write them: mgp has the board as source, mep as sub-source of the
/// RICH.
void take_boards(const ConfigReader& all, NodeConfig& config) {
    const auto format = parse_word<Format>(all.get<std::string>("source.format"), "source.format");
    config.intake.backend.datagram_length =
        format == Format::mep ? wire::mep::datagram_bytes : wire::mgp::datagram_bytes;
    const auto first_board = all.get<std::uint16_t>("source.first_board");
    for (std::uint16_t i = 0; i < config.intake.backend.ports.size(); ++i) {
        const auto board = static_cast<std::uint16_t>(first_board + i);
        config.intake.unpackers.push_back(format == Format::mep ? mep_board(wire::mep::rich_source_id, board)
                                                                : mgp_board(board, board));
        if (format == Format::mgp) config.mgp_source_ids.push_back(board);
    }
}

pipeline::IntakeConfig intake_config(const ConfigReader& receive, const RoomConfig& room) {
    pipeline::IntakeConfig intake;
    intake.backend = bindings::backend_config(receive, rich_ports_keys);
    bindings::take(receive, receive::stream_keys, intake.stream);
    const receive::BufferRules rules = bindings::buffer_rules(receive);
    intake.stream.full_policy = rules.policy;
    intake.memory = rules.memory;
    intake.sources = bindings::sources_config(receive, intake.backend.ports.size());
    intake.shape = room.block();
    intake.n_buffers = room.n_buffers;
    intake.n_lanes = room.n_lanes;
    return intake;
}

RoomConfig room_config(const ConfigReader& all) {
    RoomConfig room;
    bindings::take(all.below("receive"), block_room_keys, room);
    bindings::take(all.below("build"), batch_room_keys, room);
    return room;
}

DeciderConfig decider_config(const ConfigReader& section) {
    DeciderConfig config;
    bindings::take(section, decider_keys, config);
    bindings::take(section, deadline_keys, config.deadline);
    take_finder(section, config.finder);
    return config;
}

/// Sets a library, a Python function (anello.rich.python_trigger adds it to the values), or neither, as trigger.
void take_plugin(const ConfigReader& section, const BatchMemory& memory, DeciderConfig& config) {
    PluginConfig plugin;
    bindings::take(section, plugin_keys, plugin);
    if (section.has("python_function")) {
        config.plugin_name = plugin.python;
        config.make_plugin = make_python_plugin(section.get<nb::object>("python_function"), memory);
    } else if (!plugin.path.empty()) {
        config.plugin_name = plugin.path;
        config.make_plugin = load_plugin(plugin);
    }
}

}  // namespace

NodeConfig node_config(const nb::dict& values, const BatchMemory& memory) {
    const ConfigReader all(values);
    NodeConfig config;
    config.page = bindings::page_identity(all);
    config.n_bursts = all.get<std::uint32_t>("source.n_bursts");
    const RoomConfig room = room_config(all);
    config.intake = intake_config(all.below("receive"), room);
    take_boards(all, config);
    bindings::take(all.below("build"), events::merger_keys, config.build);
    config.build.batch = room.batch();
    config.n_batches = room.n_batches;
    config.trigger = decider_config(all.below("trigger"));
    config.trigger.time_from_hits = all.get<std::string>("source.format") == "mep";
    take_plugin(all.below("trigger"), memory, config.trigger);
    bindings::take(all.below("trigger"), node_trigger_keys, config);
    config.emit_to.gso = true;
    bindings::take(all.below("emit"), emit_keys, config);
    bindings::take(all.below("store"), store_keys, config);
    config.store.rules.about = bindings::about_run(all);
    config.publish = bindings::publish_config(all.below("publish"));
    bindings::take_threads(all.below("threads"), rich_threads_keys, rich_chain, config);
    return config;
}

namespace {

/// The node, and a limited number of the samples that it offered for display.
class Handle final : public bindings::NodeHandle<Node> {
  public:
    explicit Handle(const nb::dict& values) : Handle(values, std::make_shared<std::weak_ptr<const void>>()) {}
    /// Releases the GIL: threads that wait for it would otherwise never end. They then find that the node is gone.
    ~Handle() {
        memory_->reset();
        stop();
    }

    void start() {
        *memory_ = node_;
        node_->start();
    }
    pipeline::Notices notices() {
        pipeline::Notices lines = node_->notices();
        if (!python_function_.is_none())
            for (auto& line : nb::cast<std::vector<std::string>>(python_function_.attr("take_notices")()))
                lines.emplace_back(std::move(line));
        return lines;
    }

    nb::dict execution() {
        for (ExecutionSample sample{}; node_->collector().try_take(sample);) {
            executions_.push_back(sample);
            if (executions_.size() > max_kept_executions) executions_.pop_front();
        }
        std::vector<std::uint32_t> n_events;
        std::vector<double> build_ns, trigger_ns;
        for (const auto& sample : executions_) {
            n_events.push_back(sample.n_events);
            build_ns.push_back(static_cast<double>(sample.build_ns));
            trigger_ns.push_back(static_cast<double>(sample.trigger_ns));
        }
        nb::dict result;
        result["n_events"] = bindings::to_numpy(std::move(n_events));
        result["build_ns"] = bindings::to_numpy(std::move(build_ns));
        result["trigger_ns"] = bindings::to_numpy(std::move(trigger_ns));
        return result;
    }

    nb::dict events(std::size_t n_wanted);

  private:
    Handle(const nb::dict& values, BatchMemory memory)
        : NodeHandle(std::make_shared<Node>(node_config(values, memory))),  // a user's views may outlive this object
          memory_(std::move(memory)),
          python_function_(values.contains("trigger.python_function") ? nb::borrow(values["trigger.python_function"])
                                                                      : nb::none()) {}

    BatchMemory memory_;
    nb::object python_function_;
    std::deque<EventSnapshot> snapshots_;
    std::deque<ExecutionSample> executions_;
};

nb::dict Handle::events(std::size_t n_wanted) {
    for (EventSnapshot snapshot{}; node_->collector().try_take(snapshot);) {
        snapshots_.push_back(snapshot);
        if (snapshots_.size() > max_kept_snapshots) snapshots_.pop_front();
    }
    std::vector<std::uint64_t> event_key;
    std::vector<std::uint16_t> hit_pmt, ring_n_hits;
    std::vector<std::int16_t> hit_time;
    std::vector<std::uint32_t> event_offset{0}, ring_offset{0};
    std::vector<float> x, y, radius;
    const std::size_t first = snapshots_.size() - std::min(n_wanted, snapshots_.size());
    for (std::size_t i = first; i < snapshots_.size(); ++i) {
        const auto& snapshot = snapshots_[i];
        event_key.push_back(snapshot.event_key);
        hit_pmt.insert(hit_pmt.end(), snapshot.hit_id.begin(), snapshot.hit_id.begin() + snapshot.n_hits);
        hit_time.insert(hit_time.end(), snapshot.hit_time_fine.begin(),
                        snapshot.hit_time_fine.begin() + snapshot.n_hits);
        for (unsigned r = 0; r < snapshot.rings.n_rings; ++r) {
            const Ring& ring = snapshot.rings.ring[r];
            x.push_back(ring.x_mm);
            y.push_back(ring.y_mm);
            radius.push_back(ring.radius_mm);
            ring_n_hits.push_back(ring.n_hits);
        }
        event_offset.push_back(static_cast<std::uint32_t>(hit_pmt.size()));
        ring_offset.push_back(static_cast<std::uint32_t>(x.size()));
    }
    nb::dict result;
    result["event_key"] = bindings::to_numpy(std::move(event_key));
    result["hit_pmt"] = bindings::to_numpy(std::move(hit_pmt));
    result["hit_time_fine"] = bindings::to_numpy(std::move(hit_time));
    result["event_offset"] = bindings::to_numpy(std::move(event_offset));
    result["ring_offset"] = bindings::to_numpy(std::move(ring_offset));
    result["ring_x_mm"] = bindings::to_numpy(std::move(x));
    result["ring_y_mm"] = bindings::to_numpy(std::move(y));
    result["ring_radius_mm"] = bindings::to_numpy(std::move(radius));
    result["ring_n_hits"] = bindings::to_numpy(std::move(ring_n_hits));
    return result;
}

}  // namespace

void bind_node(nb::module_& module) {
    bindings::bind_handle<Handle>(module, "Node")
        .def("execution", &Handle::execution)
        .def("sequences", &Handle::sequences)
        .def("events", &Handle::events, nb::arg("n"));
}

}  // namespace anello::rich
