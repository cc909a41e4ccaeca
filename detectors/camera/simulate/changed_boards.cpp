// SPDX-License-Identifier: Apache-2.0
#include "camera/simulate/changed_boards.hpp"

#include "wire/payload_pattern.hpp"

namespace anello::camera {
namespace {

namespace fragment = wire::camera;

constexpr std::uint64_t first_time_anew_ns = 1'000'000'000;  // on the clock of a board that began anew

}  // namespace

simulate::ChangedBoards::Fate ChangedCameraBoards::change(std::uint32_t number, std::span<std::byte> datagram,
                                                          Nanoseconds since_ns, Change& change,
                                                          std::vector<std::byte>& announcement) {
    if (is_off(number, since_ns)) return Fate::dropped;
    fragment::Header header;
    if (fragment::parse(datagram, header) != wire::Verdict::ok) return Fate::sent;
    if (fragment::verify(datagram, header) != wire::Verdict::ok) return Fate::sent;
    Board& board = boards_[number];
    const bool begins = !board.is_anew && is_back(number, since_ns);
    if (begins) board = {.is_anew = true, .first_sequence = header.sequence};
    if (header.sequence < board.first_sequence) return Fate::dropped;  // held back from before the begin
    change.is_anew = board.is_anew;
    header.event_number += changes_.first_number();
    header.sequence -= board.first_sequence;
    if (board.is_anew && changes_.restarts_clock) {
        if (time_shift_ns_ == 0) time_shift_ns_ = header.timestamp_ns - first_time_anew_ns;
        header.timestamp_ns -= time_shift_ns_;
    }
    change.is_clock_wrong = changes_.has_wrong_clock(number) && changes_.is_clock_wrong_at(since_ns);
    if (change.is_clock_wrong) header.timestamp_ns = wrong_time_ns(board, header.timestamp_ns);
    if (begins && changes_.announces && !header.is_marker()) announce(header, announcement);
    write(datagram, header, board.is_anew);
    return Fate::sent;
}

std::uint64_t ChangedCameraBoards::wrong_time_ns(Board& board, std::uint64_t timestamp_ns) const {
    if (changes_.clock_step_ns != 0) return timestamp_ns + static_cast<std::uint64_t>(changes_.clock_step_ns);
    if (!board.stands) board.stands_at_ns = timestamp_ns;
    board.stands = true;
    return board.stands_at_ns;
}

/// A marker's totals are those of the board since it began.
void ChangedCameraBoards::write(std::span<std::byte> datagram, const fragment::Header& header, bool is_anew) const {
    if (!header.is_marker()) {
        wire::write_pattern(datagram.subspan(fragment::header_bytes), header.board, header.event_number);
        fragment::seal(datagram, header);
        return;
    }
    fragment::Totals totals = fragment::parse_totals(datagram);
    if (is_anew && totals.n_fragments > 0) {
        totals.n_bytes = totals.n_bytes / totals.n_fragments * header.sequence;
        totals.n_fragments = header.sequence;
    }
    totals.first_event += changes_.first_number();
    totals.next_event += changes_.first_number();
    fragment::write_marker(datagram, header, totals);
}

void ChangedCameraBoards::announce(const fragment::Header& header, std::vector<std::byte>& announcement) {
    const fragment::Header marker{.flags = fragment::start_of_run,
                                  .board = header.board,
                                  .run_id = header.run_id,
                                  .event_number = header.event_number,
                                  .sequence = header.sequence,
                                  .timestamp_ns = header.timestamp_ns};
    announcement.resize(fragment::header_bytes + fragment::totals_bytes);
    fragment::write_marker(announcement, marker,
                           {.first_event = header.event_number, .next_event = header.event_number});
}

bool ExpectedFragments::take(std::uint32_t sequence, std::uint32_t content) {
    const auto [known, is_new] = contents_.try_emplace(sequence, content);
    if (is_new) return true;
    ++n_repeated;
    n_conflicting += known->second == content ? 0 : 1;
    return false;
}

}  // namespace anello::camera
