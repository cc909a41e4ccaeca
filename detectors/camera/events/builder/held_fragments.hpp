// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "camera/events/boards/hold.hpp"
#include "camera/events/builder/placer.hpp"
#include "camera/events/builder/runs.hpp"
#include "camera/wire/camera.hpp"
#include "receive/boards/receive_config.hpp"

namespace anello::camera {

/// Holds fragments of another run or far event number, and uses them when the builder has moved there or their board
/// is back in step. Hot path (all but the constructor): no allocation, no lock, no log, no throw.
class HeldFragments {
  public:
    using Header = wire::camera::Header;

    HeldFragments(receive::FullPolicy full_policy, CameraPlacer& placer, CameraRuns& runs)
        : full_policy_(full_policy), placer_(placer), runs_(runs), hold_(placer.votes().hold()) {}

    /// Puts a fragment of this run into its event, or holds it. True: its board claims to be elsewhere, so that the
    /// boards' votes must decide. Inline: the path of each fragment.
    bool put(const Header& header, std::span<const std::byte> bytes) noexcept {
        const CameraPlacer::Outcome outcome = placer_.put(header, bytes);
        if (outcome != CameraPlacer::Outcome::placed) [[unlikely]]
            return react(outcome, header, bytes);
        const std::uint32_t index = placer_.boards().index_of(header.board);
        if (placer_.boards()[index].is_apart) [[unlikely]]
            join(index);
        return false;
    }
    void use_marker(const Header& header, std::span<const std::byte> bytes) noexcept;
    /// The board claims the position of this fragment, which is held unless the position is one of a step back.
    /// is_followed: its sequence number was checked.
    void claim(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept;
    void claim(std::uint32_t board_index, CameraPosition at) noexcept;
    void hold(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept;
    /// Uses the held fragments that can be placed now.
    void settle() noexcept;
    bool is_settling() const noexcept { return is_settling_; }
    void drop_all() noexcept;
    /// The source so far was not the board: its claim and its fragments are dropped.
    void disown(std::uint32_t board_index) noexcept;

  private:
    enum class Action : std::uint8_t { keep, place, drop };

    bool react(CameraPlacer::Outcome outcome, const Header& header, std::span<const std::byte> bytes) noexcept;
    void join(std::uint32_t board_index) noexcept;
    void drop_all_of(std::uint32_t board_index) noexcept;
    void settle(std::uint32_t board_index) noexcept;
    bool follow(std::uint32_t board_index, std::uint32_t i) noexcept;
    Action action_for(const CameraHold::Datagram& held, std::uint32_t board_index) noexcept;
    void use(const CameraHold::Datagram& held) noexcept;

    receive::FullPolicy full_policy_;
    CameraPlacer& placer_;
    CameraRuns& runs_;
    CameraHold& hold_;
    bool is_settling_ = false;
};

}  // namespace anello::camera
