// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "camera/events/builder/board.hpp"
#include "camera/events/builder/builder_config.hpp"
#include "camera/events/builder/hold.hpp"
#include "camera/events/builder/prediction.hpp"
#include "camera/events/builder/votes.hpp"
#include "camera/events/copy.hpp"
#include "camera/events/counters.hpp"
#include "camera/events/event.hpp"
#include "camera/events/intake_choice.hpp"
#include "camera/wire/camera.hpp"
#include "core/counters/counters.hpp"
#include "memory/persistent_buffers.hpp"
#include "memory/spsc_ring.hpp"
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
/// One thread calls all members of the first part; the consumer's thread those of the second; any thread the third.
class CameraBuilder {
  public:
    /// Counters are added to `page` as "build.group<g>", "receive.group<g>.verdict" and "build.board<b>".
    /// Clock and page must outlive the builder. Throws ConfigError, SystemError.
    CameraBuilder(const CameraBuilderConfig& config, const Clock& clock, CounterPage& page);

    /// Hot path, all of this part: no allocation, no lock, no log, no throw.
    /// Call it before each batch of datagrams, and also if there is none: the batch gets this time.
    void read_clocks() noexcept;
    Nanoseconds now_ns() const noexcept { return now_ns_; }  ///< monotonic, when the clocks were last read
    /// Call it after the batch: hands on events that have waited long enough, and returns their number. All datagrams
    /// that arrived before `read_until_ns` (monotonic) have been placed: a fragment not read yet is not overdue.
    std::size_t on_time(Nanoseconds read_until_ns) noexcept;
    void place(const receive::Datagram& datagram) noexcept;
    /// With policy wait: false while event buffers might not suffice for a batch of n_datagrams, which must then stay
    /// unread.
    bool wants(std::size_t n_datagrams) noexcept;
    /// True if no event is open, no fragment is held and no board has ended the run: then nothing can time out.
    bool is_at_rest() const noexcept { return n_open_ == 0 && hold_.total() == 0 && n_ended_ == 0; }
    /// Call it when no more datagrams will come: hands on all open events and ends the run. False: call it again, as
    /// the consumer must first take an event.
    bool finish() noexcept;
    void end_input() noexcept;  ///< Call it last: from then on no time-out of the joiner waits for this builder.

    /// For in-place reception (config.in_place, prediction.hpp). Fills `places` with the places for the stream's next
    /// datagrams, one each: a predicted slot or a scratch place. Returns their number; 0: too many predictions were
    /// wrong, so receive datagrams elsewhere and give them to place().
    std::size_t promise(std::uint16_t stream, std::span<iovec> places) noexcept;
    /// Takes the datagrams received into the last promised places, in order. Those in a wrong slot are moved.
    void place_promised(std::span<receive::Datagram> datagrams) noexcept;
    /// Reports how many datagrams came through place() after promise() returned 0: after some, predictions start again.
    void note_unpromised(std::size_t n_datagrams) noexcept { prediction_.note_unguessed(n_datagrams); }

    /// Consumer's thread.
    bool try_take(CameraPart& part) noexcept { return parts_.try_take(part); }
    /// Monotonic clock. All events whose fragments from half of the boards arrived before this time were handed on.
    Nanoseconds handed_on_until_ns() const noexcept {
        return handed_on_until_ns_.load(std::memory_order_acquire);  // pairs with tell_time
    }
    bool has_parts() const noexcept { return parts_.size() > 0; }
    std::span<const std::byte> event(std::uint32_t buffer) noexcept { return buffers_.bytes(buffer); }
    const BoardSet& present(std::uint32_t buffer) const noexcept { return present_[buffer]; }
    std::uint32_t buffer_of(const std::byte* base) noexcept;  ///< Inverse of event(): base is its begin.
    void give_back(std::uint32_t buffer) noexcept { buffers_.give_back(buffer); }

    /// The log of a board's lost fragments, for the ledger. Call it when the threads have ended.
    const receive::SequenceLog& close_sequence_log(std::uint32_t board_number) noexcept;

    /// Any thread.
    const CameraBuilderConfig& config() const noexcept { return config_; }
    CameraBoardStatus status(std::uint32_t board) const noexcept;
    receive::Speakers speakers(std::uint32_t board) const noexcept {
        const std::uint32_t index = board - config_.boards.first;
        return receive::Speakers::of(boards_[index].source, histories_[index].source_watch);
    }
    const CameraIntakeChoice& choice() const noexcept { return choice_; }
    CameraIntakeChoice& choice() noexcept { return choice_; }  ///< of the building thread
    const Counters<CameraBuildCounter>& counters() const noexcept { return counters_; }
    const Counters<wire::Verdict>& verdicts() const noexcept { return verdicts_; }
    const Counters<CameraBoardCounter>& board_counters(std::uint32_t board) const noexcept {
        return board_counters_[board - config_.boards.first];
    }
    const memory::PersistentBuffers& buffers() const noexcept { return buffers_; }
    /// Number of event buffers that no event uses; an estimate on other threads.
    std::size_t n_free() const noexcept { return buffers_.n_free() + n_spare_told_.load(std::memory_order_relaxed); }

  private:
    using Header = wire::camera::Header;

    enum class Room : std::uint8_t { empty, reserved, open };

    /// A place in the window: event number n has place n mod window_events.
    struct Place {
        Room room = Room::empty;
        CopyFunction copy = nullptr;
        std::uint16_t n_present = 0;
        std::uint16_t n_waited_for = 0;  ///< boards that it waits for whose fragments are missing
        std::uint16_t quorum = 0;        ///< half of the boards that it waited for when it began
        bool is_due = false;             ///< half of the boards have reached this event
        std::uint32_t number = 0;
        std::uint32_t buffer = 0;
        std::byte* base = nullptr;
        BoardSet* present = nullptr;
        Nanoseconds waits_since_ns = 0;  ///< monotonic: when it became due; until then, when a long wait would end
        Nanoseconds due_after_ns = 0;    ///< monotonic: half of its fragments arrived after this time
        Nanoseconds first_ns = 0, last_ns = 0;
        std::uint64_t timestamp_ns = 0;
        std::int32_t n_doubts = 0;  ///< twice the votes against its time stamp
        std::uint8_t trigger_tag = 0;
        std::int32_t n_tag_doubts = 0;
    };

    // builder.cpp: the path of a fragment
    bool read(const receive::Datagram& datagram, Header& header) noexcept;
    wire::Verdict parse(std::span<const std::byte> datagram, Header& header) const noexcept;
    wire::camera::Totals totals_of(const Header& header, std::span<const std::byte> marker) const noexcept;
    std::uint32_t whole_number(std::uint32_t run_id, std::uint32_t number) const noexcept;
    void use(const Header& header, const receive::Datagram& datagram) noexcept;
    bool is_known_sender(const Header& header, std::uint16_t stream) const noexcept;
    bool begins_run(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool follow(const Header& header) noexcept;

    // sources.cpp: the source address that is accepted for a board
    void expect_sources() noexcept;
    bool is_stranger(const Header& header, const receive::Datagram& datagram) noexcept;
    bool judge_source(std::uint32_t board_index, receive::SourceAddress source) noexcept;
    void disown(std::uint32_t board_index) noexcept;

    // builder.cpp
    void tell_tracker(std::uint32_t board_index) noexcept;
    void put(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool open(Place& place, const Header& header) noexcept;
    void fill(Place& place, const Header& header, std::span<const std::byte> bytes) noexcept;
    void doubt_time(Place& place, std::uint64_t other_ns) noexcept;
    void doubt_tag(Place& place, std::uint8_t other) noexcept;
    void drop(const Header& header, CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept;
    void drop_late(const Header& header) noexcept;
    void drop_repeated(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool came_before(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool is_held(const Header& header, std::span<const std::byte> bytes) const noexcept;
    std::byte* empty_slot(const CameraPrediction::Guess& guess) noexcept;
    bool reserve(Place& place, std::uint32_t number) noexcept;
    std::size_t bring_to_safety(std::span<receive::Datagram> datagrams, std::size_t begin) noexcept;
    bool lies_in_its_slot(const Header& header, const receive::Datagram& datagram) noexcept;
    std::byte* scratch_of(std::size_t i) noexcept { return scratch_.get() + i * slot_bytes_; }
    std::uint32_t index_of(const Header& header) const noexcept { return header.board - config_.boards.first; }
    std::uint16_t stream_index(std::uint16_t stream) const noexcept {
        return config_.stream_boards.empty() ? std::uint16_t{0} : stream;
    }

    // builder_events.cpp: the window and the output
    /// Compares event numbers, which wrap.
    static bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
    Place& place_of(std::uint32_t number) noexcept { return places_[number & (config_.window_events - 1)]; }
    bool bring_into_window(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool can_begin_earlier(std::uint32_t number) const noexcept;
    bool have_come_to(std::uint32_t number, std::uint32_t board_index) const noexcept;
    void push_out_before(std::uint32_t number) noexcept;
    void enter(Place& place) noexcept;
    void come_due(const Place& place) noexcept;
    void hand_on_ready() noexcept;
    void hand_on_all(EventEnd end) noexcept;
    void hand_on_head(EventEnd end) noexcept;
    void count_out(EventEnd end) noexcept;
    void count_missing(const Place& place) noexcept;
    void pass_to(std::uint32_t number) noexcept;
    void release_reserved(std::uint32_t first, std::uint32_t n_numbers) noexcept;
    void find_head() noexcept;
    bool take_buffer(std::uint32_t& buffer) noexcept;
    void take_free() noexcept;

    // builder_runs.cpp: runs, boards, time
    void on_marker(const Header& header, const receive::Datagram& datagram) noexcept;
    void on_marker_of_run(const Header& header, std::span<const std::byte> bytes) noexcept;
    void on_marker_of_other_run(const Header& header, std::span<const std::byte> bytes) noexcept;
    bool is_gone(std::uint32_t run_id) const noexcept;
    void begin_run(CameraPosition at) noexcept;
    bool leave_run() noexcept;
    void begin_run_of_board(std::uint32_t board_index, std::uint32_t run_id) noexcept;
    void announce(std::uint32_t board_index, std::uint32_t next_sequence, const wire::camera::Totals& totals) noexcept;
    bool end_run(bool is_outvoted = false) noexcept;
    bool is_run_over() noexcept;
    bool has_all() noexcept;
    static bool waits_for(events::BoardState state, std::uint32_t end_event, std::uint32_t number) noexcept {
        return state == events::BoardState::live ||
               (state == events::BoardState::ended && is_before(number, end_event));
    }
    static bool waits_for(const CameraBoard& board, std::uint32_t number) noexcept {
        return waits_for(board.state.load(std::memory_order_relaxed), board.end_event, number);
    }
    std::uint16_t count_waited_for(std::uint32_t number) const noexcept;
    void see(std::uint32_t board_index, std::uint32_t number) noexcept;
    void set_state(std::uint32_t board_index, events::BoardState state, std::uint32_t end_event) noexcept;
    void expire_head() noexcept;
    bool watch_silence(Place& place) noexcept;
    static bool has_sent_since(const CameraBoard& board, Nanoseconds since_ns, const Place& place) noexcept;
    void note_waiting(const Place& place) noexcept;
    void tell_time() noexcept;
    void show() noexcept;
    void show_rates() noexcept;
    /// How long half of the boards may be quiet while others send: several times the usual interval.
    Nanoseconds patience_ns() const noexcept;

    // builder_votes.cpp: fragments of other runs or far event numbers
    void say(std::uint32_t board_index, BoardVote vote) noexcept;
    void claim(std::uint32_t board_index, CameraPosition at) noexcept;
    void stand(std::uint32_t number) noexcept { votes_->stand(config_.group, {run_id_, number}); }
    void speak_from_elsewhere(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept;
    void hold(const Header& header, std::span<const std::byte> bytes, bool is_followed) noexcept;
    void drop_held(std::uint32_t board_index, std::uint32_t i) noexcept;
    void drop_unused(const Header& header) noexcept;
    void note_unused(std::uint32_t board_index, std::uint32_t run_id) noexcept;
    bool is_confirmed() noexcept;
    bool is_back(CameraPosition at) noexcept;
    void decide(CameraPosition at) noexcept;
    void move_to(CameraPosition at) noexcept;
    void move_window(CameraPosition to) noexcept;
    CameraPosition earliest_of(CameraPosition at) const noexcept;
    void take_in_step(CameraPosition at) noexcept;
    void discard_open(CameraBuildCounter group_counter, CameraBoardCounter board_counter) noexcept;
    void come_in(std::uint32_t board_index) noexcept;
    void settle() noexcept;
    void settle(std::uint32_t board_index) noexcept;
    enum class HeldAction : std::uint8_t { keep, place, drop };
    bool follow_held(std::uint32_t board_index, std::uint32_t i) noexcept;
    HeldAction action_for(const CameraHold::Datagram& held, std::uint32_t board_index) noexcept;
    void use_held(const CameraHold::Datagram& held) noexcept;
    void watch_votes() noexcept;
    void silence_unheard(Nanoseconds since_ns) noexcept;

    // Members that are used for each fragment.
    CameraBuilderConfig config_;
    std::size_t slot_bytes_;
    std::uint32_t run_id_ = 0;
    bool in_run_ = false, run_over_ = false;
    std::uint32_t base_ = 0;    ///< the lowest event number that can still be placed
    std::uint32_t head_ = 0;    ///< the lowest open event number, if n_open_ > 0
    std::uint32_t newest_ = 0;  ///< the highest event number opened since the window was placed
    std::uint32_t n_open_ = 0, n_reserved_ = 0;
    bool is_fresh_ = false;    ///< no event was handed on since the window was placed: it may still begin earlier
    bool has_floor_ = false;   ///< an event was handed on in this run
    std::uint32_t floor_ = 0;  ///< all events handed on in this run have lower numbers
    Nanoseconds now_ns_ = 0, wall_ns_ = 0;
    Nanoseconds input_ns_;  ///< all input until then has been placed: the reference for timeouts
    std::unique_ptr<CameraBoard[]> boards_;
    std::unique_ptr<CameraBoardHistory[]> histories_;
    std::vector<Place> places_;
    Counters<CameraBuildCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    std::vector<Counters<CameraBoardCounter>> board_counters_;
    CameraIntakeChoice choice_;
    CameraPrediction prediction_;
    std::shared_ptr<CameraVotes> votes_;
    CameraHold hold_;

    const Clock& clock_;
    memory::PersistentBuffers buffers_;
    std::vector<BoardSet> present_;     ///< by buffer
    std::vector<std::uint32_t> spare_;  ///< free buffers; the last one was given back last, and may be in the cache
    std::size_t n_spare_ = 0;
    struct Gone {
        std::uint32_t number = 0;
        bool is_known = false;
        std::uint64_t timestamp_ns = 0;
        BoardSet came{};  ///< boards of which it has the fragment, or whose fragment was late
    };
    std::vector<Gone> gone_events_;  ///< the events handed on last; event n is at n mod its size
    std::atomic<std::size_t> n_spare_told_{0};
    memory::SpscRing<CameraPart> parts_;
    bool has_ended_ = false;
    std::atomic<Nanoseconds> handed_on_until_ns_{0};
    std::uint32_t n_live_ = 0, n_ended_ = 0;
    std::unique_ptr<std::byte[]> scratch_;  ///< places for datagrams without a prediction
    bool was_wanting_ = true;
    bool someone_waited_ = false;  ///< an event was pushed out while it waited for a board
    bool is_settling_ = false;
    bool is_confirmed_ = false;  ///< most boards have been in step since the window was placed
    std::uint32_t turn_ = 0;     ///< number of steps back of the camera's event numbers known to this builder
    std::uint32_t n_elsewhere_ = 0;
    Nanoseconds due_ns_ = 0, mean_interval_ns_;  ///< when an event last became due; mean time between two events
    Nanoseconds answered_ns_ = 0, weighed_ns_ = 0;
    std::vector<std::uint32_t> gone_runs_;
    std::size_t n_gone_runs_ = 0;
    Nanoseconds ending_since_ns_ = 0;  ///< since when every board has ended its run or is silent; 0: not so
    Nanoseconds shown_ns_ = 0, rates_shown_ns_ = 0;
    std::uint64_t events_out_at_rates_ = 0;
};

}  // namespace anello::camera
