// SPDX-License-Identifier: Apache-2.0
#include "extension.hpp"

#include "events/merger_config.hpp"
#include "receive/boards/receive_config.hpp"
#include "rich/bindings/parts.hpp"
#include "rich/chain/node_config.hpp"
#include "rich/chain/trigger_counters.hpp"
#include "rich/decide/store_counters.hpp"
#include "rich/emit/emit_counters.hpp"
#include "rich/farm/farm_counters.hpp"
#include "rich/source/simulation_config.hpp"
#include "rich/source/source_config.hpp"
#include "rich/wire/packet_formats.hpp"

namespace anello::rich {
namespace {

using bindings::table;

void bind(nanobind::module_& module) {
    bind_rings(module);
    bind_time_clusters(module);
    bind_source(module);
    bind_node(module);
    bind_simulate(module);
}

const bindings::Extension extension("rich", bind,
                                    {
                                        table<TriggerCounter>("rich::TriggerCounter", "trigger"),
                                        table<EmitCounter>("rich::EmitCounter", "emit"),
                                        table<ListenCounter>("rich::ListenCounter", "listen"),
                                        table<StoreCounter>("rich::StoreCounter", "store"),
                                        table<FramerCounter>("rich::FramerCounter", "framer"),
                                        table<MepMergeCounter>("rich::MepMergeCounter", "merge.mep"),
                                    },
                                    {
                                        table("RichSimulationKeys", rich_simulation_keys),
                                        table("RichEndpointsKeys", rich_endpoints_keys),
                                        table("RichSourceKeys", rich_source_keys),
                                        table("RichFaultsKeys", rich_faults_keys),
                                        table("RichPortsKeys", rich_ports_keys),
                                        table("StreamKeys", receive::stream_keys),
                                        table("BlockRoomKeys", block_room_keys),
                                        table("MergerKeys", events::merger_keys),
                                        table("BatchRoomKeys", batch_room_keys),
                                        table("DeciderKeys", decider_keys),
                                        table("NodeTriggerKeys", node_trigger_keys),
                                        table("DeadlineKeys", deadline_keys),
                                        table("PluginKeys", plugin_keys),
                                        table("AcceptanceKeys", acceptance_keys),
                                        table("HistogramKeys", histogram_keys),
                                        table("AlmagestKeys", almagest_keys),
                                        table("SingleKeys", single_keys),
                                        table("MultiRingKeys", multiring_keys),
                                        table("EmitKeys", emit_keys),
                                        table("StoreKeys", store_keys),
                                        table("RichThreadsKeys", rich_threads_keys),
                                    },
                                    packet_formats());

}  // namespace
}  // namespace anello::rich
