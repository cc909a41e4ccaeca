// SPDX-License-Identifier: Apache-2.0
// Every counter that the engine has, by the blocks that it stands in: what ledgers and the reference page are held
// against. A test compares it with the tables in the headers.
#include <nanobind/nanobind.h>

#include "build/build_counters.hpp"
#include "build/camera_counters.hpp"
#include "build/camera_join_counters.hpp"
#include "core/counters.hpp"
#include "emit/camera_stream_counters.hpp"
#include "emit/emit_counters.hpp"
#include "exchange/camera_farm_counters.hpp"
#include "exchange/exchange_counters.hpp"
#include "exchange/rich_counters.hpp"
#include "fabric/fabric_counters.hpp"
#include "fabric/fault_config.hpp"
#include "module.hpp"
#include "pipeline/send_counters.hpp"
#include "pipeline/trigger_counters.hpp"
#include "publish/publish_counters.hpp"
#include "receive/ethernet_frame.hpp"
#include "receive/port_counters.hpp"
#include "receive/receive_counters.hpp"
#include "source/source_counters.hpp"
#include "store/camera_counters.hpp"
#include "store/mep_counters.hpp"
#include "store/store_counters.hpp"
#include "stream/stream_counters.hpp"
#include "trigger/filter_counters.hpp"
#include "wire/verdict.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

/// name: of the enum, with its namespace. blocks: separated by commas, <i> is a number; empty: counted in no page.
template <CounterEnum Enum>
nb::dict table(const char* name, const char* blocks) {
    nb::list counters;
    for (const CounterLabel& label : counter_labels<Enum>)
        counters.append(nb::make_tuple(label.name, label.meaning, name_of(label.place)));
    nb::dict made;
    made["table"] = name;
    made["blocks"] = blocks;
    made["counters"] = counters;
    return made;
}

nb::list counter_tables() {
    nb::list all;
    all.append(table<source::GeneratorCounter>("source::GeneratorCounter", "source"));
    all.append(table<source::SourceCounter>("source::SourceCounter", "source.board<i>"));
    all.append(table<receive::FrameVerdict>("receive::FrameVerdict", ""));
    all.append(table<receive::ReceiveCounter>("receive::ReceiveCounter", "receive.board<i>"));
    all.append(table<receive::PortCounter>("receive::PortCounter", "receive.port<i>"));
    all.append(
        table<wire::Verdict>("wire::Verdict", "receive.board<i>.verdict, receive.group<i>.verdict, builder.mfp"));
    all.append(table<build::BuildCounter>("build::BuildCounter", "build, merge"));
    all.append(table<build::BoardCounter>("build::BoardCounter", "build.board<i>, merge.board<i>"));
    all.append(table<build::CameraBuildCounter>("build::CameraBuildCounter", "build.group<i>"));
    all.append(table<build::CameraBoardCounter>("build::CameraBoardCounter", "build.board<i>"));
    all.append(table<build::CameraJoinCounter>("build::CameraJoinCounter", "join"));
    all.append(table<pipeline::TriggerCounter>("pipeline::TriggerCounter", "trigger"));
    all.append(table<trigger::FilterCounter>("trigger::FilterCounter", "filter"));
    all.append(table<pipeline::SendCounter>("pipeline::SendCounter", "send"));
    all.append(table<emit::EmitCounter>("emit::EmitCounter", "emit"));
    all.append(table<emit::ListenCounter>("emit::ListenCounter", "listen"));
    all.append(table<emit::CameraStreamCounter>("emit::CameraStreamCounter", "camera_stream"));
    all.append(table<store::StoreCounter>("store::StoreCounter", "store"));
    all.append(table<store::CompressCounter>("store::CompressCounter", "compress"));
    all.append(table<store::CameraStoreCounter>("store::CameraStoreCounter", "camera_store"));
    all.append(table<store::MepStoreCounter>("store::MepStoreCounter", "mep_store"));
    all.append(table<publish::PublishCounter>("publish::PublishCounter", "publish"));
    all.append(table<publish::SubscriberCounter>("publish::SubscriberCounter", "publish.subscriber<i>"));
    all.append(table<publish::AdmissionCounter>("publish::AdmissionCounter", "publish.admission"));
    all.append(table<exchange::GeneratorCounter>("exchange::GeneratorCounter", "generator"));
    all.append(table<exchange::FramerCounter>("exchange::FramerCounter", "framer"));
    all.append(table<exchange::CameraPackCounter>("exchange::CameraPackCounter", "pack"));
    all.append(table<exchange::ReadoutCounter>("exchange::ReadoutCounter", "readout"));
    all.append(table<exchange::BuilderCounter>("exchange::BuilderCounter", "builder"));
    all.append(table<exchange::ManagerCounter>("exchange::ManagerCounter", "manager"));
    all.append(table<exchange::StationCounter>("exchange::StationCounter", "station"));
    all.append(table<exchange::MepMergeCounter>("exchange::MepMergeCounter", "merge.mep"));
    all.append(table<exchange::CameraUnpackCounter>("exchange::CameraUnpackCounter", "unpack"));
    all.append(table<fabric::FabricCounter>("fabric::FabricCounter", "fabric"));
    all.append(table<fabric::FaultCounter>("fabric::FaultCounter", "faults"));
    all.append(table<stream::StreamCounter>("stream::StreamCounter", "stream"));
    all.append(table<stream::ListenerCounter>("stream::ListenerCounter", "listener"));
    return all;
}

}  // namespace

void bind_counter_tables(nb::module_& module) {
    module.def("counter_tables", &counter_tables);
}

}  // namespace anello::bindings
