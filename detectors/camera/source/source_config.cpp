// SPDX-License-Identifier: Apache-2.0
#include "camera/source/source_config.hpp"

#include <fmt/format.h>

#include "camera/geometry.hpp"
#include "core/errors.hpp"
#include "core/keys.hpp"
#include "source/fault_keys.hpp"

namespace anello::camera {
namespace {

using C = CameraSourceConfig;
using K = Key<C>;

constexpr std::array shape_keys{
    K::of<in<&C::shape, &WaveformShape::n_boards>>("boards", {1, max_camera_geometry_boards}, "Front-end boards."),
    K::of<in<&C::shape, &WaveformShape::n_pixels>>("pixels_per_board", {1, max_camera_geometry_pixels_per_board},
                                                   "Pixels of a board."),
    K::of<in<&C::shape, &WaveformShape::n_gains>>("gains", {1, 2}, "Gains read out for each pixel."),
    K::of<in<&C::shape, &WaveformShape::n_samples>>("samples", {1, 4096},
                                                    "Samples for each pixel and gain, 2 bytes each."),
    K::of<in<&C::simulation, &CameraSimulationConfig::pixels_file>>(
        "pixels_file",
        "CSV file that says where the pixels stand, a line pixel,module,channel,x_m,y_m for each; empty: those of "
        "camera.model, or a made-up camera."),
    K::of<&C::payload_bytes>(
        "payload_bytes", {0, wire::camera::max_payload_bytes},
        "Bytes of a fragment after its header, without shape; 0: as pixels, gains and samples require."),
};

constexpr std::array run_keys{
    K::of<&C::n_events>("n_events", {0, 0xffff'ffff}, "Events in the run; 0: limited by duration_s, at the rate set."),
};

constexpr std::array source_keys{
    K::of<&C::rate_hz>("rate_hz", {1e-3, 1e6}, "Mean rate of triggers, events/s."),
    K::of<&C::poisson>("poisson", "Triggers at random times; false: at equal distances."),
    K::of<&C::burst>("burst", "All boards send at once, as real cameras do; false: spread over spread_us."),
    K::of<&C::spread_us>("spread_us", {0, 1e6}, "Time over which the boards of a trigger send when burst is false, us.")
        .for_experts(),
    K::of<&C::paced>("paced", "Send by the clock; false: as fast as possible."),
    K::of<&C::max_behind_ms>("max_behind_ms", {0.001, 10'000},
                             "Farther behind its clock, the source skips time instead of sending a flood, ms.")
        .for_experts(),
    K::of<&C::host>("host", not_empty, "Address of the node."),
    K::of<&C::ports>("ports", Limits{}.entries(1, max_camera_geometry_boards),
                     "UDP ports of the node, one per board or fewer: the boards share them evenly, in order; 0: those "
                     "that the node has bound (anello run only)."),
    K::of<&C::first_board>("first_board", {0, max_camera_geometry_boards - 1}, "First board of this process."),
    K::of<&C::n_boards>("n_boards", {0, max_camera_geometry_boards},
                        "Boards of this process; 0: all from first_board on."),
    K::of<&C::payload>("payload",
                       "waveforms: pulses of a shower's image on pedestal and noise; pattern: bytes that "
                       "can be checked."),
    K::of<&C::pool_events>("pool_events", {1, 100'000},
                           "Number of different events that are made at the start, and sent in turn with new numbers."),
    K::of<in<&C::simulation, &CameraSimulationConfig::signal_share>>(
        "signal_share", share, "Share of events with a shower; the others are noise."),
    K::of<in<&C::simulation, &CameraSimulationConfig::pedestal_share>>(
        "pedestal_share", share, "Share of events that are pedestals: no light, and tagged."),
    K::of<in<&C::simulation, &CameraSimulationConfig::flatfield_share>>(
        "flatfield_share", share, "Share of events that are flat fields: a flash on all pixels, and tagged."),
    K::of<in<&C::simulation, &CameraSimulationConfig::flatfield_pe>>(
        "flatfield_pe", {0, 1000}, "Photo-electrons of a flat field in each pixel, on average."),
    K::of<&C::counters>("counters",
                        "The board's own counters that each fragment carries; dragon_drs4: also the first cells of its "
                        "DRS4 chips."),
    K::of<&C::checksum>("checksum", "A CRC-32C in every fragment."),
    K::of<&C::offload>("offload", "gso: several fragments per system call, cut apart by the kernel or the card."),
    K::of<&C::run_id>("run_id", "Number of the run, in every fragment."),
    K::of<&C::first_event>("first_event", "Number of the first event; numbers wrap."),
    K::of<&C::n_end_markers>("n_end_markers", {1, 1000},
                             "Number of markers that announce the end of the run; one may be lost.")
        .for_experts(),
    K::of<&C::end_marker_spacing_ms>("end_marker_spacing_ms", {0, 1000}, "Time between these markers, ms.")
        .for_experts(),
    K::of<&C::start_at_ns>("start_at_ns", {0, 4e18},
                           "Wall-clock time of the first trigger, ns since 1970, so that several processes start "
                           "together; 0: at once."),
    K::of<in<&C::thread, &ThreadConfig::core>>("core", {-1, 4095}, "Logical core of the sending thread; -1: any."),
    K::of<in<&C::thread, &ThreadConfig::wait>>("wait", "What the sending thread does until the next trigger."),
};

constexpr auto faults_keys = joined(source::fault_share_keys,
                                    std::array{
                                        Key<source::FaultsConfig>::of<&source::FaultsConfig::dead_board>(
                                            "dead_board", {-1, 1023}, "Board that falls silent; -1: none."),
                                        Key<source::FaultsConfig>::of<&source::FaultsConfig::dead_from_event>(
                                            "dead_from_event", {0, 0xffff'ffff}, "First event without the dead board."),
                                    });

void require(bool holds, const char* key, const std::string& rule, std::uint64_t given, const char* remedy) {
    if (!holds) throw ConfigError(key, rule, fmt::format("{}", given), remedy);
}

void check_shape(const CameraSourceConfig& config) {
    require(config.fragment_payload_bytes() <= wire::camera::max_payload_bytes, "camera.samples",
            fmt::format("make more than the {} bytes that a jumbo frame has room for", wire::camera::max_payload_bytes),
            config.shape.n_samples, "Take fewer samples or pixels");
    require(config.payload == CameraPayload::pattern || config.has_shape(), "camera.payload_bytes",
            fmt::format("must be 0 or {} with camera_source.payload = \"waveforms\"", config.shape.payload_bytes()),
            config.payload_bytes, "Use \"pattern\" for a free size");
}

void check_first_cells(const CameraSourceConfig& config) {
    if (!config.has_first_cells()) return;
    const auto refuse = [](const std::string& rule, const std::string& given, const char* remedy) {
        throw ConfigError("camera_source.counters", rule, given, remedy);
    };
    if (config.payload == CameraPayload::pattern)
        refuse("must not be \"dragon_drs4\" with camera_source.payload = \"pattern\"", "dragon_drs4",
               "First cells follow waveforms; use \"dragon\"");
    if (config.shape.n_pixels != wire::camera::drs4_pixels)
        refuse(fmt::format("needs camera.pixels_per_board = {} where it is \"dragon_drs4\"", wire::camera::drs4_pixels),
               fmt::format("{}", config.shape.n_pixels), "A board's 8 chips serve 7 pixels; use \"dragon\"");
}

/// The pool is sent again and again, so that kinds of events that it lacks are never sent.
void check_calibration(const CameraSourceConfig& config) {
    const CameraSimulationConfig& events = config.simulation;
    const bool is_pattern = config.payload == CameraPayload::pattern;
    const auto check = [&](const char* key, double given, bool holds, const std::string& rule, const char* remedy) {
        if (!holds) throw ConfigError(key, rule, fmt::format("{}", given), remedy);
    };
    const auto check_share = [&](const char* key, double given) {
        check(key, given, given == 0 || !is_pattern, "must be 0 with camera_source.payload = \"pattern\"",
              "Use \"waveforms\"");
        check(key, given, given == 0 || given * config.pool_events >= 1,
              fmt::format("must be 0 or at least 1 / camera_source.pool_events, {}", 1.0 / config.pool_events),
              "Raise it, or pool_events");
    };
    check_share("camera_source.pedestal_share", events.pedestal_share);
    check_share("camera_source.flatfield_share", events.flatfield_share);
    check("camera_source.flatfield_share", events.flatfield_share,
          events.pedestal_share + events.flatfield_share <= 1 + 1e-9,
          fmt::format("must be at most {}, what pedestal_share leaves", 1 - events.pedestal_share),
          "Lower one of them");
}

void check_boards(const CameraSourceConfig& config) {
    const std::uint32_t n_boards = config.shape.n_boards;
    require(config.first_board < n_boards, "camera_source.first_board",
            fmt::format("must be a board of the camera, which has {}", n_boards), config.first_board,
            "The default is 0");
    require(
        config.n_boards <= n_boards - config.first_board, "camera_source.n_boards",
        fmt::format("must be at most {}: the camera has no more from first_board on", n_boards - config.first_board),
        config.n_boards, "The default is 0");
    require(config.ports.size() <= n_boards, "camera_source.ports",
            fmt::format("must not name more ports than the camera has boards, {}", n_boards), config.ports.size(),
            "Leave some out");
}

}  // namespace

constinit const Keys<CameraSourceConfig> camera_keys{
    "camera", "The camera: its boards, and what each sends of an event.", shape_keys};
constinit const Keys<CameraSourceConfig> camera_run_keys{"run", "The run as a whole.", run_keys};
constinit const Keys<CameraSourceConfig> camera_source_keys{
    "camera_source", "The camera's front ends: what they send, where to, and how fast.", source_keys};

constinit const Keys<source::FaultsConfig> camera_faults_keys{
    "camera_source.faults",
    "Faults that the front ends make on purpose, by run.seed. Shares are per fragment, a packet each, and board.",
    faults_keys};

void CameraSourceConfig::validate() const {
    for (const Keys<CameraSourceConfig>* keys : {&camera_keys, &camera_run_keys, &camera_source_keys})
        keys->check(*this);
    check_shape(*this);
    check_first_cells(*this);
    check_calibration(*this);
    check_boards(*this);
    simulation.validate();
    faults.validate(camera_faults_keys, shape.n_boards);
    if (faults.corrupt > 0 && !checksum)
        throw ConfigError("camera_source.faults.corrupt", "needs camera_source.checksum = true",
                          fmt::format("{}", faults.corrupt),
                          "Without a checksum a changed byte of a waveform is not seen");
}

std::vector<source::BoardEndpoint> CameraSourceConfig::endpoints() const {
    const auto n_ports = static_cast<std::uint32_t>(ports.size());
    std::vector<source::BoardEndpoint> endpoints;
    for (std::uint32_t board = first_board; board < first_board + n_own_boards(); ++board)
        endpoints.push_back(
            {static_cast<std::uint16_t>(board), host, ports[wire::camera::port_index(board, shape.n_boards, n_ports)]});
    return endpoints;
}

}  // namespace anello::camera
