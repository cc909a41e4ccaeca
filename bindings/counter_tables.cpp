// SPDX-License-Identifier: Apache-2.0
// The engine's counter tables. A test compares them, and those of the detectors, with the tables in the headers.
#include "counter_tables.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "core/counters/counters.hpp"
#include "events/build_counters.hpp"
#include "exchange/exchange_counters.hpp"
#include "extension.hpp"
#include "fabric/fabric_counters.hpp"
#include "module.hpp"
#include "pipeline/send_counters.hpp"
#include "publish/publish_counters.hpp"
#include "receive/boards/receive_counters.hpp"
#include "receive/card/card_counters.hpp"
#include "receive/datagrams/port_counters.hpp"
#include "receive/frames/capture_counters.hpp"
#include "receive/frames/ethernet_frame.hpp"
#include "receive/nanet/nanet_counters.hpp"
#include "receive/nanet/nanet_merge_counters.hpp"
#include "receive/numbers/packet_counters.hpp"
#include "source/source_counters.hpp"
#include "store/mep_counters.hpp"
#include "stream/stream_counters.hpp"
#include "wire/verdict.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

std::vector<CounterTable> engine_counter_tables() {
    return {
        table<source::GeneratorCounter>("source::GeneratorCounter", "source"),
        table<source::SourceCounter>("source::SourceCounter", "source.board<i>"),
        table<receive::FrameVerdict>("receive::FrameVerdict", ""),
        table<receive::CaptureCounter>("receive::CaptureCounter", "receive.capture"),
        table<receive::ReceiveCounter>("receive::ReceiveCounter", "receive.board<i>"),
        table<receive::PacketCounter>("receive::PacketCounter", "receive.board<i>"),
        table<receive::PortCounter>("receive::PortCounter", "receive.port<i>"),
        table<receive::NanetCounter>("receive::NanetCounter", "nanet"),
        table<receive::NanetMergeCounter>("receive::NanetMergeCounter", "nanet.merge"),
        table<receive::CardCounter>("receive::CardCounter", "card.port<i>.losses"),
        table<wire::Verdict>(
            "wire::Verdict",
            "receive.board<i>.verdict, receive.group<i>.verdict, receive.verdict, builder.mfp, build.verdict"),
        table<events::BuildCounter>("events::BuildCounter", "build, merge"),
        table<events::BoardCounter>("events::BoardCounter", "build.board<i>, merge.board<i>"),
        table<pipeline::SendCounter>("pipeline::SendCounter", "send"),
        table<store::MepStoreCounter>("store::MepStoreCounter", "mep_store"),
        table<publish::PublishCounter>("publish::PublishCounter", "publish"),
        table<publish::SubscriberCounter>("publish::SubscriberCounter", "publish.subscriber<i>"),
        table<publish::AdmissionCounter>("publish::AdmissionCounter", "publish.admission"),
        table<exchange::GeneratorCounter>("exchange::GeneratorCounter", "generator"),
        table<exchange::ReadoutCounter>("exchange::ReadoutCounter", "readout"),
        table<exchange::BuilderCounter>("exchange::BuilderCounter", "builder"),
        table<exchange::ManagerCounter>("exchange::ManagerCounter", "manager"),
        table<exchange::StationCounter>("exchange::StationCounter", "station"),
        table<fabric::FabricCounter>("fabric::FabricCounter", "fabric"),
        table<stream::StreamCounter>("stream::StreamCounter", "stream"),
        table<stream::ListenerCounter>("stream::ListenerCounter", "listener"),
    };
}

nb::dict as_dict(const CounterTable& table, const std::string& detector) {
    nb::list counters;
    for (const CounterLabel& label : table.labels)
        counters.append(nb::make_tuple(label.name, label.meaning, name_of(label.place)));
    nb::list types;
    for (const CounterLabel& label : table.labels)
        types.append(nb::make_tuple(word_of(label.type.kind), word_of(label.type.unit)));
    nb::dict made;
    made["detector"] = detector;
    made["table"] = table.name;
    made["blocks"] = table.blocks;
    made["counters"] = counters;
    made["types"] = types;
    return made;
}

nb::list counter_tables() {
    nb::list all;
    for (const CounterTable& table : engine_counter_tables()) all.append(as_dict(table, ""));
    for (const Extension* extension : Extension::all())
        for (const CounterTable& table : extension->tables()) all.append(as_dict(table, extension->name()));
    return all;
}

}  // namespace

void bind_counter_tables(nb::module_& module) {
    module.def("counter_tables", &counter_tables);
}

}  // namespace anello::bindings
