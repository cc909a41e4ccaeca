// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "camera/chain/node_config.hpp"
#include "camera/chain/watch.hpp"
#include "camera/events/intake.hpp"
#include "pipeline/stage.hpp"

namespace anello::camera {

/// The boards of a camera that send to this node, in one group or several: the stages receive and build, and what the
/// operator is told of them.
class CameraBoards {
  public:
    using Intakes = std::vector<std::unique_ptr<CameraIntake>>;

    /// An intake for each group.
    CameraBoards(const CameraNodeConfig& config, Intakes intakes);

    pipeline::Stage receive_stage();
    pipeline::Stage build_stage();

    /// Their builders, in the order of the groups.
    std::vector<CameraBuilder*> builders() const;
    CameraIntake& intake(std::uint32_t group) noexcept { return *intakes_[group]; }
    std::uint32_t n_groups() const noexcept { return static_cast<std::uint32_t>(intakes_.size()); }
    std::vector<std::uint16_t> ports() const { return watch_.ports(); }
    void add_buffers(pipeline::BufferLevel& level) const noexcept;
    bool is_drained() const noexcept;
    bool finished() const noexcept;  ///< The ends of all files.

  private:
    const bool is_two_stage_;
    Intakes intakes_;
    CameraWatch watch_;
};

/// Of the boards behind the ports from first_port on; builder.stream_boards says which. Throws ConfigError,
/// SystemError.
std::unique_ptr<CameraIntake> make_intake(const CameraNodeConfig& config, CameraBuilderConfig builder,
                                          std::uint32_t first_port, const Clock& clock, CounterPage& page);
/// Of a whole camera, by group.
CameraBoards::Intakes make_intakes(const CameraNodeConfig& config, const Clock& clock, CounterPage& page);

}  // namespace anello::camera
