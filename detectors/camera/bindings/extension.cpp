// SPDX-License-Identifier: Apache-2.0
#include "extension.hpp"

#include "camera/bindings/parts.hpp"
#include "camera/calibrate/event_calibration.hpp"
#include "camera/chain/node_config.hpp"
#include "camera/chain/wait_counters.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/join_counters.hpp"
#include "camera/farm/farm_counters.hpp"
#include "camera/filter/filter_counters.hpp"
#include "camera/send/store_counters.hpp"
#include "camera/send/streams/r1_counters.hpp"
#include "camera/send/streams/stream_counters.hpp"
#include "camera/source/source_config.hpp"
#include "camera/wire/packet_formats.hpp"

namespace anello::camera {
namespace {

using bindings::table;

void bind(nanobind::module_& module) {
    bind_geometry(module);
    bind_calibration(module);
    bind_filter(module);
    bind_source(module);
    bind_node(module);
    bind_simulate(module);
}

const bindings::Extension extension(
    "camera", bind,
    {
        table<CameraBuildCounter>("camera::CameraBuildCounter", "build.group<i>"),
        table<CameraBoardCounter>("camera::CameraBoardCounter", "build.board<i>"),
        table<CameraJoinCounter>("camera::CameraJoinCounter", "join"),
        table<CalibrateCounter>("camera::CalibrateCounter", "calibrate"),
        table<FilterCounter>("camera::FilterCounter", "filter"),
        table<CameraWaitCounter>("camera::CameraWaitCounter", "waits"),
        table<CompressCounter>("camera::CompressCounter", "compress"),
        table<CameraStreamCounter>("camera::CameraStreamCounter", "camera_stream, r1_stream<i>"),
        table<R1WriterCounter>("camera::R1WriterCounter", "r1_writer<i>"),
        table<CameraStoreCounter>("camera::CameraStoreCounter", "camera_store"),
        table<CameraPackCounter>("camera::CameraPackCounter", "pack"),
        table<CameraUnpackCounter>("camera::CameraUnpackCounter", "unpack"),
    },
    {table("CameraKeys", camera_keys), table("CameraRunKeys", camera_run_keys),
     table("CameraSourceKeys", camera_source_keys), table("CameraFaultsKeys", camera_faults_keys),
     table("CameraGroupsKeys", camera_groups_keys), table("CameraBuilderKeys", camera_builder_keys),
     table("CameraCalibrateKeys", calibrate_keys), table("CameraFilterKeys", filter_keys),
     table("CompressionKeys", compression_keys), table("CameraSendKeys", camera_send_keys),
     table("CameraPublishKeys", camera_publish_keys), table("CameraPortsKeys", camera_ports_keys),
     table("CameraThreadsKeys", camera_threads_keys)},
    packet_formats());

}  // namespace
}  // namespace anello::camera
