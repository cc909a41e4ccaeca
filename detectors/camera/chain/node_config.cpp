// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/node_config.hpp"

#include "core/keys.hpp"

namespace anello::camera {
namespace {

using C = CameraNodeConfig;
using O = CameraOutletConfig;
using K = Key<O>;

constexpr std::array groups{
    Key<C>::of<&C::n_groups>("groups", {1, max_camera_groups},
                             "Number of builders that share the boards, each with its own ports and thread."),
};

constexpr std::array sending{
    K::of<&O::file>("file", "HDF5 file, relative to the report directory; empty: none."),
    K::of<in<&O::stream, &CameraStreamConfig::host>>("tcp_host", "Host that receives the event stream; empty: none."),
    K::of<in<&O::stream, &CameraStreamConfig::port>>("tcp_port", "Its TCP port."),
};

constexpr std::array publishing{
    K::of<&O::published>("what",
                         "What is published of each kept event. event: waveforms, and charges where there are pixels; "
                         "pixels: charges without waveforms."),
};

}  // namespace

constinit const Keys<CameraNodeConfig> camera_groups_keys{
    "camera_build", "Fragments of all boards into camera events, by event number.", groups};
constinit const Keys<CameraOutletConfig> camera_send_keys{
    "camera_send", "What is done with the events that the filter keeps.", sending};
constinit const Keys<CameraOutletConfig> camera_publish_keys{
    "publish", "Results for programs that subscribe to them, while the run goes on.", publishing};

}  // namespace anello::camera
