// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/builder/builder_config.hpp"
#include "camera/events/builder/prediction.hpp"
#include "camera/events/intake_choice.hpp"
#include "camera/events/window/open_events.hpp"
#include "camera/wire/camera.hpp"
#include "receive/datagrams/backend.hpp"

namespace anello::camera {

/// For in-place reception: where the kernel should write a port's next datagrams, by prediction, and what to do with
/// those that it wrote into a wrong slot. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class InPlaceReception {
  public:
    InPlaceReception(const CameraBuilderConfig& config, const CameraIntakeChoice& choice, const GroupBoards& boards,
                     OpenEvents& events);

    bool is_on() const noexcept { return scratch_ != nullptr; }
    /// A fragment of this event arrived; only if is_on().
    void learn(std::uint16_t stream, std::uint32_t board_index, std::uint32_t event_number) noexcept {
        prediction_.learn(stream_index(stream), board_index, event_number);
    }
    /// As CameraBuilder::promise().
    std::size_t promise(std::uint16_t stream, std::span<iovec> places) noexcept;
    bool lies_in_its_slot(const wire::camera::Header& header, const receive::Datagram& datagram) const noexcept;
    /// Moves the i-th datagram of a promise to where no other is received. False: it lies there already.
    bool bring_to_safety(receive::Datagram& datagram, std::size_t i) noexcept;
    /// As CameraPrediction::note() and note_unguessed().
    void note(std::size_t n_right, std::size_t n_wrong) noexcept { prediction_.note(n_right, n_wrong); }
    void note_unpromised(std::size_t n_datagrams) noexcept { prediction_.note_unguessed(n_datagrams); }

  private:
    std::byte* empty_slot(const CameraPrediction::Guess& guess) noexcept;
    std::byte* scratch_of(std::size_t i) noexcept { return scratch_.get() + i * slot_bytes_; }
    std::uint16_t stream_index(std::uint16_t stream) const noexcept {
        return has_stream_boards_ ? stream : std::uint16_t{0};
    }

    std::size_t slot_bytes_;
    bool has_stream_boards_;
    const CameraIntakeChoice& choice_;
    const GroupBoards& boards_;
    OpenEvents& events_;
    CameraPrediction prediction_;
    std::unique_ptr<std::byte[]> scratch_;  ///< places for datagrams without a prediction
};

}  // namespace anello::camera
