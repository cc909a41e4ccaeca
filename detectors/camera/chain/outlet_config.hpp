// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "camera/calibrate/event_calibration.hpp"
#include "camera/filter/filter.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/send/event_record.hpp"
#include "camera/send/record.hpp"
#include "camera/send/stream.hpp"
#include "publish/publisher.hpp"
#include "store/file_rules.hpp"

namespace anello::camera {

/// What is done with whole events: the stages filter and send.
struct CameraOutletConfig {
    CalibrateConfig calibrate;
    IntegratorConfig integrator;
    FilterConfig filter;
    std::string pixels_file;  ///< as camera_geometry() reads it; empty: a made-up camera
    bool integrate = true;    ///< false: waveforms have no shape; all events go on
    CompressionConfig compression;
    std::string file;                               ///< HDF5; empty: none
    std::uint64_t max_file_bytes = 0;               ///< a new file once one has so many; 0: one file
    std::vector<store::FileAttribute> about_files;  ///< the run
    CameraStreamConfig stream{.host = {}};          ///< TCP; no host: none
    publish::PublishConfig publish;
    CameraContent published = CameraContent::event;
    std::uint32_t max_events_per_step = 16;
    std::uint32_t max_kept_events = 256;      ///< on their way to the file, the stream and subscribers
    Nanoseconds image_every_ns = 20'000'000;  ///< one image in so long is laid aside

    bool needs_records() const noexcept { return !file.empty() || !stream.host.empty(); }
    /// By threads of their own, not by the one that sends.
    bool compresses_aside() const noexcept { return needs_records() && compression.n_threads > 0; }
    /// Whether somebody wants kept events.
    bool sends() const noexcept { return needs_records() || publish.is_on(); }
};

}  // namespace anello::camera
