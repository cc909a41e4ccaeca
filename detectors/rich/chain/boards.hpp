// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "events/board_join.hpp"
#include "pipeline/block_intake.hpp"
#include "pipeline/intake.hpp"
#include "pipeline/stage.hpp"
#include "receive/boards/receiver.hpp"

namespace anello::rich {

/// The boards of the RICH that send to this node: the stage receive, and the operator's notices about them. Board i of
/// the node is board first_board + i of the detector, in counters and in notices.
class RichBoards {
  public:
    /// Counters: "receive.boardN". The clock must outlive the object. Throws ConfigError, SystemError.
    RichBoards(const pipeline::IntakeConfig& intake, std::uint32_t first_board, const Clock& clock, CounterPage& page);

    events::BlockSource& blocks() noexcept { return blocks_; }
    bool has_blocks() const noexcept { return blocks_.has_blocks(); }  ///< for the next stage; receive's thread
    /// Returns `config` with the values that follow from the intake.
    events::MergerConfig complete(events::MergerConfig config) const;

    /// The stage receive. `join` takes the fragments of these boards and knows the silent ones. Both outlive the stage.
    pipeline::Stage stage(const events::BoardJoin& join, Nanoseconds timeout_ns);

    bool finished() const noexcept;  ///< True at the end of a file.
    std::vector<std::uint16_t> ports() const;
    /// Calls use(board, its log) by position among the ports. Call it only after the thread has ended.
    void for_each_sequence_log(const std::function<void(std::uint32_t, const receive::SequenceLog&)>& use);

  private:
    struct Seen {
        pipeline::SilenceNotice silence;
        pipeline::AddedNotice kernel_dropped, refused, dropped_packets;
        std::uint64_t n_by_kernel = 0;
        receive::SpeakerNotices speakers;
        receive::ThrottledNotice ahead, same_time, conflicting;
    };

    /// Neighbouring boards whose datagrams one thread receives.
    struct Lane {
        std::uint32_t first_board = 0;
        std::unique_ptr<receive::Receiver> receiver{};
        std::atomic<bool> is_drained{false};
    };

    void make_lane(std::uint32_t number, const Clock& clock, CounterPage& page);
    const Lane& lane_of(std::uint32_t i) const noexcept;
    std::size_t work(Lane& lane) noexcept;
    bool is_drained() const noexcept;
    void add_notices(const events::BoardJoin& join, Nanoseconds timeout_ns, pipeline::Notices& notices);
    void add_loss_notices(std::uint32_t i, pipeline::Notices& notices);
    void add_states(const events::BoardJoin& join, pipeline::States& states) const;
    std::uint32_t board(std::uint32_t i) const noexcept { return first_board_ + i; }

    const pipeline::IntakeConfig intake_;
    const std::uint32_t first_board_;
    std::vector<std::unique_ptr<receive::BlockStream>> streams_;
    pipeline::BlockIntake blocks_{streams_};
    std::vector<receive::StreamCounters> counters_;
    std::deque<Lane> lanes_;             // a deque, because a Lane cannot be moved
    std::atomic<bool> draining_{false};  ///< set by the control thread
    std::vector<Seen> seen_;             ///< state of each board at the last notices
    pipeline::TroubleNotice trouble_;
};

}  // namespace anello::rich
