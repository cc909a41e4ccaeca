// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/node_config.hpp"

#include "camera/geometry.hpp"
#include "core/keys.hpp"
#include "pipeline/thread_keys.hpp"

namespace anello::camera {
namespace {

using O = CameraOutletConfig;

constexpr std::array groups{
    Key<CameraNodeConfig>::of<&CameraNodeConfig::n_groups>(
        "groups", {1, max_camera_groups},
        "Number of builders that share the boards, each with its own ports and thread."),
};

constexpr std::array sending{
    Key<O>::of<&O::file>("file", "HDF5 file, relative to the report directory; empty: none."),
    Key<O>::of<&O::file_format>("file_format",
                                "How the file holds what boards sent. table: arrays, for h5py and all that reads HDF5; "
                                "records: bytes that Anello reads, smaller."),
    Key<O>::of<in<&O::rules, &store::FileRules::max_bytes>>(
        "max_file_bytes", {0, 1e15}, "A new file (-0001, -0002 ...) once one has so many bytes; 0: one file."),
    Key<O>::of<in<&O::stream, &CameraStreamConfig::host>>("tcp_host",
                                                          "Host that receives the event stream; empty: none."),
    Key<O>::of<in<&O::stream, &CameraStreamConfig::port>>("tcp_port", "Its TCP port."),
};

constexpr std::array publishing{
    Key<O>::of<&O::published>(
        "what",
        "What is published of each kept event. event: waveforms, and charges where there are pixels; "
        "pixels: charges without waveforms."),
};

constexpr std::array listening{
    Key<receive::PortsConfig>::of<&receive::PortsConfig::ports>(
        "ports", Limits{}.entries(1, max_camera_geometry_boards),
        "UDP ports to listen on, one per board or fewer: the boards share them evenly, in order; 0: any free one."),
};

}  // namespace

constinit const Keys<CameraThreads> camera_threads_keys{"threads", pipeline::threads_meaning,
                                                        pipeline::thread_keys<CameraThreads, camera_chain>};
constinit const Keys<receive::PortsConfig> camera_ports_keys{"receive", "Datagrams from the network, or from a file.",
                                                             listening};
constinit const Keys<CameraNodeConfig> camera_groups_keys{
    "camera_build", "Fragments of all boards into camera events, by event number.", groups};
constinit const Keys<CameraOutletConfig> camera_send_keys{
    "camera_send", "What is done with the events that the filter keeps.", sending};
constinit const Keys<CameraOutletConfig> camera_publish_keys{
    "publish", "Results for programs that subscribe to them during the run.", publishing};

}  // namespace anello::camera
