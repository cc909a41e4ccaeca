// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "camera/events/boards/sources.hpp"
#include "camera/events/builder/builder_config.hpp"
#include "camera/events/builder/held_fragments.hpp"
#include "camera/events/builder/in_place_reception.hpp"
#include "camera/events/builder/moves.hpp"
#include "camera/events/builder/placer.hpp"
#include "camera/events/builder/runs.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/event.hpp"
#include "camera/events/intake_choice.hpp"
#include "camera/wire/camera.hpp"
#include "core/counters/counters.hpp"
#include "receive/datagrams/backend.hpp"

namespace anello::camera {

/// Builds the events of one group of boards: it puts each whole datagram into its board's slot of its event's buffer.
///
/// The builder hands an event on when every board that it waits for has sent its fragment and all earlier events are
/// gone; or a timeout after half of the boards have reached the event; or when boards are farther apart than the
/// window; or when the run is over. A table in docs/reference/camera-events.md gives the outcome of each datagram,
/// valid or not, and each outcome has a counter.
///
/// Run, event number and time change only if half of the boards or more agree (CameraVotes). The builder holds
/// fragments of another run or of a far event until most boards are there, too, or until the board's next fragments
/// replace them.
///
/// This class checks each datagram. Its parts do the rest, each knowing only those before it: CameraPlacer puts
/// fragments into events, CameraRuns begins and ends runs, HeldFragments holds fragments, and CameraMoves decides when
/// the builder moves to another run or to far event numbers.
///
/// One thread calls all members of the first part; the consumer's thread those of output(); any thread the last part.
class CameraBuilder {
  public:
    /// Counters are added to `page` as "build.group<g>", "receive.group<g>.verdict" and "build.board<b>".
    /// Clock and page must outlive the builder. Throws ConfigError, SystemError.
    CameraBuilder(const CameraBuilderConfig& config, const Clock& clock, CounterPage& page);

    /// Hot path, all of this part: no allocation, no lock, no log, no throw.
    /// Call it before each batch of datagrams, and also if there is none: the batch gets this time.
    void read_clocks() noexcept;
    Nanoseconds now_ns() const noexcept { return placer_.events().times().now_ns; }  ///< as last read, monotonic
    /// Call it after the batch: hands on events that have waited long enough, and returns their number. All datagrams
    /// that arrived before `read_until_ns` (monotonic) have been placed: a fragment not read yet is not overdue.
    std::size_t on_time(Nanoseconds read_until_ns) noexcept;
    void place(const receive::Datagram& datagram) noexcept;
    /// With policy wait: false while event buffers might not suffice for a batch of n_datagrams, which must then stay
    /// unread.
    bool wants(std::size_t n_datagrams) noexcept;
    /// True if no event is open, no fragment is held and no board has ended the run: then nothing can time out.
    bool is_at_rest() const noexcept;
    /// Call it when no more datagrams will come: hands on all open events and ends the run. False: call it again, as
    /// the consumer must first take an event.
    bool finish() noexcept;
    /// Call it last: from then on no time-out of the joiner waits for this builder.
    void end_input() noexcept { placer_.events().output().end(); }

    /// For in-place reception (config.in_place, prediction.hpp). Fills `places` with the places for the stream's next
    /// datagrams, one each: a predicted slot or a scratch place. Returns their number; 0: too many predictions were
    /// wrong, so receive datagrams elsewhere and give them to place().
    std::size_t promise(std::uint16_t stream, std::span<iovec> places) noexcept {
        return in_place_.promise(stream, places);
    }
    /// Takes the datagrams received into the last promised places, in order. Those in a wrong slot are moved.
    void place_promised(std::span<receive::Datagram> datagrams) noexcept;
    /// Reports how many datagrams came through place() after promise() returned 0: after some, predictions start again.
    void note_unpromised(std::size_t n_datagrams) noexcept { in_place_.note_unpromised(n_datagrams); }
    CameraIntakeChoice& choice() noexcept { return choice_; }

    CameraOutput& output() noexcept { return placer_.events().output(); }

    /// The log of a board's lost fragments, for the ledger. Call it when the threads have ended.
    const receive::SequenceLog& close_sequence_log(std::uint32_t board) noexcept;

    /// Any thread.
    const CameraBuilderConfig& config() const noexcept { return config_; }
    CameraBoardStatus status(std::uint32_t board) const noexcept;
    receive::Speakers speakers(std::uint32_t board) const noexcept {
        return sources_.speakers(placer_.boards().index_of(board));
    }
    const CameraIntakeChoice& choice() const noexcept { return choice_; }
    const CameraOutput& output() const noexcept { return placer_.events().output(); }
    const Counters<CameraBuildCounter>& counters() const noexcept { return counters_; }
    const Counters<wire::Verdict>& verdicts() const noexcept { return verdicts_; }
    const Counters<CameraBoardCounter>& board_counters(std::uint32_t board) const noexcept {
        return placer_.boards().counters(placer_.boards().index_of(board));
    }

  private:
    using Header = wire::camera::Header;

    bool read(const receive::Datagram& datagram, Header& header) noexcept;
    wire::Verdict parse(std::span<const std::byte> datagram, Header& header) const noexcept;
    void use(const Header& header, const receive::Datagram& datagram) noexcept;
    bool is_stranger(const Header& header, const receive::Datagram& datagram) noexcept;
    bool begins_run(const Header& header, std::span<const std::byte> bytes) noexcept;
    void use_marker(const Header& header, const receive::Datagram& datagram) noexcept;
    std::size_t bring_to_safety(std::span<receive::Datagram> datagrams, std::size_t begin) noexcept;

    CameraBuilderConfig config_;
    Counters<CameraBuildCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    CameraIntakeChoice choice_;
    CameraPlacer placer_;
    CameraSources sources_;
    CameraRuns runs_;
    HeldFragments held_;
    CameraMoves moves_;
    InPlaceReception in_place_;
    const Clock& clock_;
    bool was_wanting_ = true;
};

}  // namespace anello::camera
