// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "camera/chain/node_config.hpp"
#include "camera/chain/watch.hpp"
#include "camera/events/intake.hpp"
#include "pipeline/stage.hpp"

namespace anello::camera {

/// The boards of a camera that send to this node, in one group or several: this class has the stages receive and build,
/// and reports on the boards to the operator.
class CameraBoards {
  public:
    using Intakes = std::vector<std::unique_ptr<CameraIntake>>;

    /// intakes: one for each group.
    CameraBoards(const CameraNodeConfig& config, Intakes intakes);

    pipeline::Stage receive_stage();
    pipeline::Stage build_stage();

    /// The builders of the intakes, in the order of the groups.
    std::vector<CameraBuilder*> builders() const;
    CameraIntake& intake(std::uint32_t group) noexcept { return *intakes_[group]; }
    std::uint32_t n_groups() const noexcept { return static_cast<std::uint32_t>(intakes_.size()); }
    std::vector<std::uint16_t> ports() const { return watch_.ports(); }
    void add_buffers(pipeline::BufferLevel& level) const noexcept;
    bool is_drained() const noexcept;
    bool finished() const noexcept;  ///< All files have been read to their end.

  private:
    const bool is_two_stage_;
    Intakes intakes_;
    CameraWatch watch_;
};

/// Makes the intake for the boards that send to the ports from first_port on; builder.stream_boards lists them. Throws
/// ConfigError, SystemError.
std::unique_ptr<CameraIntake> make_intake(const CameraNodeConfig& config, CameraBuilderConfig builder,
                                          std::uint32_t first_port, const Clock& clock, CounterPage& page);
/// Makes the intakes of a whole camera, one per group.
CameraBoards::Intakes make_intakes(const CameraNodeConfig& config, const Clock& clock, CounterPage& page);

}  // namespace anello::camera
