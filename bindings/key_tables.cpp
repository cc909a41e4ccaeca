// SPDX-License-Identifier: Apache-2.0
// The engine's own key tables, and all tables for make_engine_keys.py.
#include "core/seed.hpp"
#include "extension.hpp"
#include "module.hpp"
#include "pipeline/exchange_node_config.hpp"
#include "pipeline/packet_node.hpp"
#include "source/packet_source.hpp"

namespace anello::bindings {
namespace {

/// Keys of all chains, and of the exchange.
std::vector<std::pair<std::string, std::vector<KeyTable>>> engine_key_tables() {
    return {
        {"",
         {table("BackendKeys", receive::backend_keys), table("BufferRulesKeys", receive::buffer_rules_keys),
          table("PortsKeys", receive::ports_keys), table("SourcesKeys", receive::sources_keys),
          table("PublishKeys", publish::publish_keys), table("SeedKeys", seed_keys)}},
        {"exchange",
         {table("ExchangeKeys", exchange::exchange_keys), table("ExchangeTimeKeys", exchange::exchange_time_keys),
          table("ExchangeWaitKeys", pipeline::exchange_wait_keys), table("GeneratorKeys", exchange::generator_keys),
          table("ReadoutRoomKeys", pipeline::readout_room_keys), table("FabricKeys", fabric::fabric_keys),
          table("RolesKeys", exchange::roles_keys), table("FrameKeys", pipeline::frame_keys),
          table("StoredKeys", pipeline::stored_keys),
          table("ExchangePlacementKeys", pipeline::exchange_placement_keys)}},
        {"packet_chain",
         {table("PacketRunKeys", source::packet_run_keys), table("PacketBoardsKeys", source::packet_boards_keys),
          table("PacketFaultsKeys", source::packet_faults_keys),
          table("PacketThreadsKeys", pipeline::packet_threads_keys)}},
    };
}

void add(const std::string& chain, const std::vector<KeyTable>& tables, nb::dict& all) {
    const std::string package = chain.empty() ? "anello.configuration" : "anello." + chain;
    for (const KeyTable& table : tables) {
        nb::dict one = table.describe();
        one["module"] = package + ".engine_keys";
        all[table.name] = one;
    }
}

/// By the name of the section.
nb::dict key_tables() {
    nb::dict all;
    for (const auto& [chain, tables] : engine_key_tables()) add(chain, tables, all);
    for (const Extension* extension : Extension::all()) add(extension->name(), extension->keys(), all);
    return all;
}

}  // namespace

void bind_keys(nb::module_& module) {
    module.def("key_tables", &key_tables);
}

}  // namespace anello::bindings
