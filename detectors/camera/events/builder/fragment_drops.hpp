// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "camera/events/boards/group_boards.hpp"
#include "camera/events/boards/hold.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/window/open_events.hpp"
#include "camera/wire/camera.hpp"
#include "core/counters/counters.hpp"

namespace anello::camera {

/// Counts the fragments that are not used, for the group and for their board. Hot path (all but the constructor): no
/// allocation, no lock, no log, no throw.
class FragmentDrops {
  public:
    using Header = wire::camera::Header;

    FragmentDrops(std::size_t slot_bytes, Counters<CameraBuildCounter> counters, GroupBoards& boards, CameraHold& hold,
                  OpenEvents& events)
        : slot_bytes_(slot_bytes), counters_(counters), boards_(boards), hold_(hold), events_(events) {}

    void drop(const Header& header, CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept;
    /// Remembers the fragment, so that its repetition is known as such.
    void drop_late(const Header& header) noexcept;
    /// Drops a fragment of another run. If that run begins, the fragment does not count as lost.
    void drop_unused(const Header& header) noexcept;
    /// A board that has restarted sends other fragments with earlier numbers: these count as conflicting, too.
    void drop_repeated(const Header& header, std::span<const std::byte> bytes) noexcept;
    void drop_held(std::uint32_t board_index, std::uint32_t i) noexcept;

  private:
    bool arrived_before(const Header& header, std::span<const std::byte> bytes) const noexcept;

    std::size_t slot_bytes_;
    Counters<CameraBuildCounter> counters_;
    GroupBoards& boards_;
    CameraHold& hold_;
    OpenEvents& events_;
};

}  // namespace anello::camera
