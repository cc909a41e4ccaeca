// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "camera/wire/camera.hpp"
#include "simulate/board_changes.hpp"

namespace anello::camera {

/// A camera's boards that begin anew or have a wrong clock. A board that begins anew continues with the camera's event
/// numbers, which its trigger gives it; its fragments count from 0 again.
class ChangedCameraBoards final : public simulate::ChangedBoards {
  public:
    using ChangedBoards::ChangedBoards;

  private:
    struct Board {
        bool is_anew = false, stands = false;
        std::uint32_t first_sequence = 0;  ///< its number when it began anew, if it had continued
        std::uint64_t stands_at_ns = 0;
    };

    Fate change(std::uint32_t board, std::span<std::byte> datagram, Nanoseconds since_ns, Change& change,
                std::vector<std::byte>& announcement) override;
    std::uint64_t wrong_time_ns(Board& board, std::uint64_t timestamp_ns) const;
    void write(std::span<std::byte> datagram, const wire::camera::Header& header, bool is_anew) const;
    static void announce(const wire::camera::Header& header, std::vector<std::byte>& announcement);

    std::map<std::uint32_t, Board> boards_;
    std::uint64_t time_shift_ns_ = 0;  ///< of all boards that began anew
};

/// What docs/reference/camera-events.md says of a board's fragments by their sequence numbers in one run.
class ExpectedFragments {
  public:
    /// Takes the next valid fragment. Returns true if its number has not come before.
    bool take(std::uint32_t sequence, std::uint32_t content);

    std::uint64_t n_repeated = 0;     ///< of a number that had come before
    std::uint64_t n_conflicting = 0;  ///< repeated numbers with other bytes

  private:
    std::map<std::uint32_t, std::uint32_t> contents_;  ///< by number
};

}  // namespace anello::camera
