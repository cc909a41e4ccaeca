// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/assert.hpp"

namespace anello::camera {
namespace {

constexpr std::size_t max_promised = 1024;
constexpr std::uint32_t max_reserved = 16;
constexpr Nanoseconds first_interval_ns = 125'000'000;  // assumed interval of events until it is measured
constexpr std::uint32_t told_at_once = receive::SequenceTracker::window / 4;

const CameraBuilderConfig& checked(const CameraBuilderConfig& config) {
    config.validate();
    return config;
}

std::shared_ptr<CameraVotes> votes_of(const CameraBuilderConfig& config) {
    if (config.votes != nullptr) return config.votes;
    return std::make_shared<CameraVotes>(config.shape.n_boards, max_camera_groups, config.window_events);
}

}  // namespace

CameraBuilder::CameraBuilder(const CameraBuilderConfig& config, const Clock& clock, CounterPage& page)
    : config_(checked(config)),
      slot_bytes_(config.shape.slot_bytes()),
      input_ns_(clock.monotonic_ns()),
      boards_(std::make_unique<CameraBoard[]>(config.boards.count)),
      histories_(std::make_unique<CameraBoardHistory[]>(config.boards.count)),
      places_(config.window_events),
      counters_(page.add_block<CameraBuildCounter>(fmt::format("build.group{}", config.group))),
      verdicts_(page.add_block<wire::Verdict>(fmt::format("receive.group{}.verdict", config.group))),
      choice_(config.copy),
      prediction_(config.boards.count, std::max<std::size_t>(1, config.stream_boards.size())),
      votes_(votes_of(config)),
      hold_(config.boards.count, config.window_events, slot_bytes_),
      clock_(clock),
      buffers_(
          {.n_buffers = config.n_events, .buffer_bytes = config.boards.count * slot_bytes_, .kind = config.memory}),
      present_(config.n_events),
      spare_(config.n_events),
      gone_events_(std::size_t{4} * config.window_events),
      parts_(2 * std::size_t{config.n_events} + 2),
      n_live_(config.boards.count),
      mean_interval_ns_(first_interval_ns),
      gone_runs_(8) {
    for (std::uint32_t i = 0; i < config.boards.count; ++i) {
        board_counters_.push_back(
            page.add_block<CameraBoardCounter>(fmt::format("build.board{}", config.boards.first + i)));
        votes_->enrol(config.boards.first + i, config.group);
    }
    expect_sources();
    if (config.in_place) scratch_ = std::make_unique<std::byte[]>(max_promised * slot_bytes_);
    read_clocks();
    shown_ns_ = rates_shown_ns_ = due_ns_ = now_ns_;
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void CameraBuilder::place(const receive::Datagram& datagram) noexcept {
    Header header;
    if (read(datagram, header)) use(header, datagram);
}

wire::Verdict CameraBuilder::parse(std::span<const std::byte> datagram, Header& header) const noexcept {
    const wire::Verdict verdict = wire::camera::parse(datagram, header);
    header.event_number = whole_number(header.run_id, header.event_number);
    return verdict;
}

wire::camera::Totals CameraBuilder::totals_of(const Header& header, std::span<const std::byte> marker) const noexcept {
    wire::camera::Totals totals = wire::camera::parse_totals(marker);
    totals.first_event = whole_number(header.run_id, totals.first_event);
    totals.next_event = whole_number(header.run_id, totals.next_event);
    return totals;
}

/// Completes an event number of fewer than 32 bits: of the possible numbers, returns the one nearest to base_.
std::uint32_t CameraBuilder::whole_number(std::uint32_t run_id, std::uint32_t number) const noexcept {
    const std::uint32_t unused = 32 - config_.event_number_bits;
    if (unused == 0 || !in_run_ || run_id != run_id_) return number;
    return base_ + static_cast<std::uint32_t>(static_cast<std::int32_t>((number - base_) << unused) >> unused);
}

/// Parses, checks and counts a datagram; false if it must not be used.
bool CameraBuilder::read(const receive::Datagram& datagram, Header& header) noexcept {
    counters_.add(CameraBuildCounter::datagrams);
    counters_.add(CameraBuildCounter::bytes, datagram.bytes.size());
    wire::Verdict verdict = wire::Verdict::wrong_length;
    if (!datagram.cut) verdict = parse(datagram.bytes, header);
    const bool has_checksum = (header.flags & wire::camera::with_checksum) != 0;
    if (verdict == wire::Verdict::ok && has_checksum && (config_.verify_checksum || header.is_marker()))
        verdict = wire::camera::verify(datagram.bytes, header);
    verdicts_.add(verdict);
    return verdict == wire::Verdict::ok;
}

void CameraBuilder::use(const Header& header, const receive::Datagram& datagram) noexcept {
    if (is_stranger(header, datagram)) [[unlikely]]
        return drop(header, CameraBuildCounter::strangers, CameraBoardCounter::strangers);
    if (header.is_marker()) return on_marker(header, datagram);
    counters_.add(CameraBuildCounter::fragments_in);
    if (!is_known_sender(header, datagram.stream)) return counters_.add(CameraBuildCounter::fragments_wrong_board);
    if (header.payload_bytes > config_.shape.max_payload_bytes)
        return counters_.add(CameraBuildCounter::fragments_wrong_size);
    const bool is_of_run = in_run_ && header.run_id == run_id_;
    if (!is_of_run && !begins_run(header, datagram.bytes)) [[unlikely]]
        return;
    if (config_.in_place) prediction_.learn(stream_index(datagram.stream), index_of(header), header.event_number);
    if (!follow(header)) [[unlikely]]
        return drop_repeated(header, datagram.bytes);
    put(header, datagram.bytes);
}

bool CameraBuilder::is_known_sender(const Header& header, std::uint16_t stream) const noexcept {
    if (config_.stream_boards.empty()) return config_.boards.contains(header.board);
    return stream < config_.stream_boards.size() && config_.stream_boards[stream].contains(header.board);
}

/// Begins the first run with its first fragment; if that was wrong, more boards will vote for another run. In a run, a
/// fragment of another run counts as a vote and is held.
bool CameraBuilder::begins_run(const Header& header, std::span<const std::byte> bytes) noexcept {
    if (in_run_) {
        speak_from_elsewhere(header, bytes, false);
        return false;
    }
    begin_run({header.run_id, header.event_number});
    return true;
}

/// False if this sequence number has arrived before. A fragment whose number is far off is used by its event number
/// anyway; the tracker gets its sequence number when the next fragment confirms it.
bool CameraBuilder::follow(const Header& header) noexcept {
    CameraBoard& board = boards_[index_of(header)];
    if (board.in_sequence && header.sequence == board.next_sequence && board.n_in_sequence < told_at_once) [[likely]] {
        ++board.next_sequence;
        ++board.n_in_sequence;
        return true;
    }
    tell_tracker(index_of(header));
    CameraBoardHistory& history = histories_[index_of(header)];
    const receive::Arrival arrival = history.sequence.accept(header.sequence, 1);
    if (arrival == receive::Arrival::stray) {
        history.has_stray = true;
        history.stray_sequence = header.sequence;
    } else if (history.has_stray) {
        history.has_stray = false;
        if (history.sequence.preview(history.stray_sequence) == receive::Arrival::late)
            history.sequence.accept(history.stray_sequence, 1);
    }
    board.next_sequence = history.sequence.next();
    board.in_sequence = !history.has_stray;
    return arrival != receive::Arrival::duplicate;
}

void CameraBuilder::tell_tracker(std::uint32_t board_index) noexcept {
    CameraBoard& board = boards_[board_index];
    const std::uint32_t n_fragments = std::exchange(board.n_in_sequence, 0);
    if (n_fragments > 0) histories_[board_index].sequence.accept(board.next_sequence - n_fragments, n_fragments);
}

void CameraBuilder::put(const Header& header, std::span<const std::byte> bytes) noexcept {
    if (header.event_number - base_ >= config_.window_events || run_over_) [[unlikely]]
        if (!bring_into_window(header, bytes)) return;
    Place& place = place_of(header.event_number);
    if (place.room != Room::open && !open(place, header)) [[unlikely]]
        return drop(header, CameraBuildCounter::fragments_dropped, CameraBoardCounter::dropped);
    if (place.present->contains(header.board)) [[unlikely]]
        return drop_repeated(header, bytes);
    fill(place, header, bytes);
}

bool CameraBuilder::open(Place& place, const Header& header) noexcept {
    if (place.room == Room::reserved)
        --n_reserved_;
    else if (!take_buffer(place.buffer))
        return false;
    place.room = Room::open;
    place.copy = choice_.copy();
    place.n_present = 0;
    place.number = header.event_number;
    place.base = buffers_.bytes(place.buffer).data();
    place.present = &present_[place.buffer];
    place.present->clear();
    place.n_waited_for = count_waited_for(header.event_number);
    place.quorum = static_cast<std::uint16_t>(std::max(1, (place.n_waited_for + 1) / 2));
    place.is_due = false;
    place.waits_since_ns = now_ns_ + patience_ns() - config_.timeout_ns;
    place.first_ns = wall_ns_;
    place.timestamp_ns = header.timestamp_ns;
    place.n_doubts = 0;
    place.trigger_tag = header.trigger_tag;
    place.n_tag_doubts = 0;
    enter(place);
    return true;
}

void CameraBuilder::fill(Place& place, const Header& header, std::span<const std::byte> bytes) noexcept {
    const std::uint32_t index = index_of(header);
    CameraBoard& board = boards_[index];
    board.last_seen_ns.store(now_ns_, std::memory_order_relaxed);
    board.waited_since_ns = 0;
    if (board.state.load(std::memory_order_relaxed) != events::BoardState::live) [[unlikely]]
        see(index, header.event_number);
    std::byte* const slot = place.base + index * slot_bytes_;
    if (bytes.data() == slot)
        counters_.add(CameraBuildCounter::landed_in_place);
    else
        place.copy(slot, bytes);
    place.present->add(header.board);
    place.last_ns = wall_ns_;
    if (header.timestamp_ns != place.timestamp_ns) [[unlikely]]
        doubt_time(place, header.timestamp_ns);
    if (header.trigger_tag != place.trigger_tag) [[unlikely]]
        doubt_tag(place, header.trigger_tag);
    ++board.n_placed;
    if (!board.has_event || is_before(board.newest_event, header.event_number))
        board.newest_event = header.event_number;
    board.has_event = true;
    counters_.add(CameraBuildCounter::fragments_placed);
    if (++place.n_present == place.quorum) come_due(place);
    if (--place.n_waited_for == 0 && place.number == head_) hand_on_ready();
    if (board.is_apart) [[unlikely]]
        come_in(index);
}

/// n_present - n_doubts is the number of fragments that agree with the time stamp minus those that do not.
void CameraBuilder::doubt_time(Place& place, std::uint64_t other_ns) noexcept {
    std::int32_t votes = place.n_present - place.n_doubts;
    vote(place.timestamp_ns, votes, other_ns, 1, is_same_time);
    place.n_doubts = place.n_present + 1 - votes;
}

void CameraBuilder::doubt_tag(Place& place, std::uint8_t other) noexcept {
    std::int32_t votes = place.n_present - place.n_tag_doubts;
    vote(place.trigger_tag, votes, other, 1);
    place.n_tag_doubts = place.n_present + 1 - votes;
}

void CameraBuilder::drop(const Header& header, CameraBuildCounter group_counter,
                         CameraBoardCounter board_counter) noexcept {
    counters_.add(group_counter);
    board_counters_[index_of(header)].add(board_counter);
}

/// Remembers the fragment, so that its repetition is known as such.
void CameraBuilder::drop_late(const Header& header) noexcept {
    drop(header, CameraBuildCounter::fragments_late, CameraBoardCounter::late);
    Gone& gone = gone_events_[header.event_number % gone_events_.size()];
    if (gone.is_known && gone.number == header.event_number) gone.came.add(header.board);
}

/// A board that has restarted sends other fragments with earlier numbers: these count as conflicting, too.
void CameraBuilder::drop_repeated(const Header& header, std::span<const std::byte> bytes) noexcept {
    drop(header, CameraBuildCounter::fragments_duplicate, CameraBoardCounter::duplicate);
    if (!came_before(header, bytes))
        drop(header, CameraBuildCounter::fragments_conflicting, CameraBoardCounter::conflicting);
}

/// True if the same fragment arrived before: compares its bytes, or its time stamp if the event was already handed on.
/// Of an event that was handed on without the board it did not: a board that has restarted repeats numbers of its own,
/// and sends the camera's present event with them.
bool CameraBuilder::came_before(const Header& header, std::span<const std::byte> bytes) noexcept {
    if (is_held(header, bytes)) return true;
    const Place& place = place_of(header.event_number);
    if (place.room == Room::open && place.number == header.event_number && place.present->contains(header.board)) {
        if (choice_.passes_cache(place.copy)) finish_copies_past_cache();
        return std::memcmp(place.base + index_of(header) * slot_bytes_, bytes.data(), bytes.size()) == 0;
    }
    const Gone& gone = gone_events_[header.event_number % gone_events_.size()];
    return gone.is_known && gone.number == header.event_number && gone.came.contains(header.board) &&
           is_same_time(gone.timestamp_ns, header.timestamp_ns);
}

bool CameraBuilder::is_held(const Header& header, std::span<const std::byte> bytes) const noexcept {
    const std::uint32_t index = index_of(header);
    for (std::uint32_t i = 0; i < hold_.size(index); ++i)
        if (std::ranges::equal(hold_.at(index, i).bytes, bytes)) return true;
    return false;
}

std::size_t CameraBuilder::promise(std::uint16_t stream, std::span<iovec> places) noexcept {
    if (!config_.in_place || !in_run_ || run_over_ || !prediction_.is_worth_it()) return 0;
    prediction_.begin(stream_index(stream));
    const std::size_t n_places = std::min(places.size(), max_promised);
    CameraPrediction::Guess guess{};
    const bool fetches = choice_.copy() == copy_ahead;  // PERF NOTE: prefetch before the kernel writes (camera_receive)
    for (std::size_t i = 0; i < n_places; ++i) {
        std::byte* const slot = prediction_.next(guess) ? empty_slot(guess) : nullptr;
        places[i] = {slot != nullptr ? slot : scratch_of(i), slot_bytes_};
        if (fetches && slot != nullptr) fetch_to_write(slot, slot_bytes_);
    }
    return n_places;
}

/// Returns the slot of a predicted fragment; null if the fragment is present, or its event cannot be placed.
std::byte* CameraBuilder::empty_slot(const CameraPrediction::Guess& guess) noexcept {
    if (guess.event_number - base_ >= config_.window_events) return nullptr;
    Place& place = place_of(guess.event_number);
    if (place.room == Room::empty && !reserve(place, guess.event_number)) return nullptr;
    if (place.room == Room::open && place.present->contains(config_.boards.first + guess.board_index)) return nullptr;
    return place.base + guess.board_index * slot_bytes_;
}

/// Takes a buffer for an event that has not begun, so that the kernel can write its first fragments into it.
bool CameraBuilder::reserve(Place& place, std::uint32_t number) noexcept {
    if (n_reserved_ >= max_reserved || !take_buffer(place.buffer)) return false;
    ++n_reserved_;
    place.room = Room::reserved;
    place.number = number;
    place.base = buffers_.bytes(place.buffer).data();
    return true;
}

/// Copies nothing up to the first datagram that is not in its own slot. From there on a copy could overwrite a later
/// datagram, so all datagrams that must move are first saved elsewhere.
void CameraBuilder::place_promised(std::span<receive::Datagram> datagrams) noexcept {
    bool all_safe = false;
    std::size_t n_wrong = 0;
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
        Header header;
        if (!read(datagrams[i], header)) continue;
        if (!all_safe && !lies_in_its_slot(header, datagrams[i])) {
            all_safe = true;
            n_wrong = bring_to_safety(datagrams, i);
        }
        use(header, datagrams[i]);
    }
    prediction_.note(datagrams.size() - n_wrong, n_wrong);
}

/// Returns the number of datagrams in a wrong place.
std::size_t CameraBuilder::bring_to_safety(std::span<receive::Datagram> datagrams, std::size_t begin) noexcept {
    std::size_t n_wrong = 0;
    for (std::size_t i = begin; i < datagrams.size(); ++i) {
        Header header;
        const bool is_right = !datagrams[i].cut && parse(datagrams[i].bytes, header) == wire::Verdict::ok &&
                              lies_in_its_slot(header, datagrams[i]);
        if (is_right) continue;
        ++n_wrong;
        if (datagrams[i].bytes.data() == scratch_of(i)) continue;
        std::memcpy(scratch_of(i), datagrams[i].bytes.data(), datagrams[i].bytes.size());
        datagrams[i].bytes = {scratch_of(i), datagrams[i].bytes.size()};
        counters_.add(CameraBuildCounter::landed_elsewhere);
    }
    return n_wrong;
}

bool CameraBuilder::lies_in_its_slot(const Header& header, const receive::Datagram& datagram) noexcept {
    if (header.is_marker() || !config_.boards.contains(header.board)) return false;
    const Place& place = place_of(header.event_number);
    return place.room != Room::empty && place.number == header.event_number &&
           datagram.bytes.data() == place.base + index_of(header) * slot_bytes_;
}

std::uint32_t CameraBuilder::buffer_of(const std::byte* base) noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(base - buffers_.bytes(0).data()) /
                                      buffers_.buffer_bytes());
}

}  // namespace anello::camera
