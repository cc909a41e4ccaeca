// SPDX-License-Identifier: Apache-2.0
#include "camera/events/builder/builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace anello::camera {
namespace {

const CameraBuilderConfig& checked(const CameraBuilderConfig& config) {
    config.validate();
    return config;
}

}  // namespace

CameraBuilder::CameraBuilder(const CameraBuilderConfig& config, const Clock& clock, CounterPage& page)
    : config_(checked(config)),
      counters_(page.add_block<CameraBuildCounter>(fmt::format("build.group{}", config.group))),
      verdicts_(page.add_block<wire::Verdict>(fmt::format("receive.group{}.verdict", config.group))),
      choice_(config.copy),
      placer_(config, choice_, counters_, clock.monotonic_ns(), page),
      sources_(config_.stream_boards, config.sources, placer_.boards()),
      runs_(config.timeout_ns, counters_, placer_),
      held_(config.full_policy, placer_, runs_),
      moves_(config.timeout_ns, counters_, placer_, runs_, held_),
      in_place_(config, choice_, placer_.boards(), placer_.events()),
      clock_(clock) {
    read_clocks();
}

// Hot path from here on: no allocation, no lock, no log, no throw.
void CameraBuilder::place(const receive::Datagram& datagram) noexcept {
    Header header;
    if (read(datagram, header)) use(header, datagram);
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

wire::Verdict CameraBuilder::parse(std::span<const std::byte> datagram, Header& header) const noexcept {
    const wire::Verdict verdict = wire::camera::parse(datagram, header);
    header.event_number = placer_.events().whole_number(header.run_id, header.event_number);
    return verdict;
}

void CameraBuilder::use(const Header& header, const receive::Datagram& datagram) noexcept {
    if (is_stranger(header, datagram)) [[unlikely]]
        return placer_.drops().drop(header, CameraBuildCounter::strangers, CameraBoardCounter::strangers);
    if (header.is_marker()) return use_marker(header, datagram);
    counters_.add(CameraBuildCounter::fragments_in);
    if (!sources_.knows(header.board, datagram.stream)) return counters_.add(CameraBuildCounter::fragments_wrong_board);
    if (header.payload_bytes > config_.shape.max_payload_bytes)
        return counters_.add(CameraBuildCounter::fragments_wrong_size);
    if (!placer_.events().is_of_run(header.run_id) && !begins_run(header, datagram.bytes)) [[unlikely]]
        return;
    const std::uint32_t index = placer_.boards().index_of(header.board);
    if (in_place_.is_on()) in_place_.learn(datagram.stream, index, header.event_number);
    if (!placer_.boards().follow(index, header.sequence)) [[unlikely]]
        return placer_.drops().drop_repeated(header, datagram.bytes);
    if (held_.put(header, datagram.bytes)) [[unlikely]]
        moves_.decide({header.run_id, header.event_number});
}

/// Datagrams of unknown boards, or of boards that do not send to this port, count as such and not as strangers. If the
/// source so far was not the board, the fragments held for it are dropped.
bool CameraBuilder::is_stranger(const Header& header, const receive::Datagram& datagram) noexcept {
    if (!sources_.knows(header.board, datagram.stream)) return false;
    const std::uint32_t index = placer_.boards().index_of(header.board);
    if (sources_.accepts(index, datagram.source)) [[likely]]
        return false;
    const auto judgement = sources_.judge(index, datagram.source, placer_.events().times().input_ns);
    if (judgement == CameraSources::Judgement::taken_over) held_.disown(index);
    return judgement == CameraSources::Judgement::stranger;
}

/// Begins the first run with its first fragment; if that was wrong, more boards will vote for another run. In a run, a
/// fragment of another run counts as a vote and is held.
bool CameraBuilder::begins_run(const Header& header, std::span<const std::byte> bytes) noexcept {
    const CameraPosition at{header.run_id, header.event_number};
    if (!placer_.events().run().has_begun) {
        runs_.begin(at);
        return true;
    }
    held_.claim(header, bytes, false);
    moves_.decide(at);
    return false;
}

void CameraBuilder::use_marker(const Header& header, const receive::Datagram& datagram) noexcept {
    counters_.add(CameraBuildCounter::markers);
    if (!sources_.knows(header.board, datagram.stream)) return;
    const OpenEvents& events = placer_.events();
    const bool begins = (header.flags & wire::camera::start_of_run) != 0;
    if (!events.run().has_begun && begins)
        runs_.begin({header.run_id, events.totals_of(header, datagram.bytes).first_event});
    if (events.is_of_run(header.run_id))
        held_.use_marker(header, datagram.bytes);
    else if (events.run().has_begun && !runs_.is_gone(header.run_id))
        moves_.use_marker_of_other_run(header, datagram.bytes);
}

/// Copies nothing up to the first datagram that is not in its own slot. From there on a copy could overwrite a later
/// datagram, so all datagrams that must move are first saved elsewhere.
void CameraBuilder::place_promised(std::span<receive::Datagram> datagrams) noexcept {
    bool all_safe = false;
    std::size_t n_wrong = 0;
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
        Header header;
        if (!read(datagrams[i], header)) continue;
        if (!all_safe && !in_place_.lies_in_its_slot(header, datagrams[i])) {
            all_safe = true;
            n_wrong = bring_to_safety(datagrams, i);
        }
        use(header, datagrams[i]);
    }
    in_place_.note(datagrams.size() - n_wrong, n_wrong);
}

/// Returns the number of datagrams in a wrong place.
std::size_t CameraBuilder::bring_to_safety(std::span<receive::Datagram> datagrams, std::size_t begin) noexcept {
    std::size_t n_wrong = 0;
    for (std::size_t i = begin; i < datagrams.size(); ++i) {
        Header header;
        const bool is_right = !datagrams[i].cut && parse(datagrams[i].bytes, header) == wire::Verdict::ok &&
                              in_place_.lies_in_its_slot(header, datagrams[i]);
        if (is_right) continue;
        ++n_wrong;
        if (in_place_.bring_to_safety(datagrams[i], i)) counters_.add(CameraBuildCounter::landed_elsewhere);
    }
    return n_wrong;
}

void CameraBuilder::read_clocks() noexcept {
    BuildTimes& times = placer_.events().times();
    times.now_ns = clock_.monotonic_ns();
    times.wall_ns = clock_.wall_ns();
    choice_.look(counters_[CameraBuildCounter::bytes], counters_[CameraBuildCounter::datagrams]);
}

std::size_t CameraBuilder::on_time(Nanoseconds read_until_ns) noexcept {
    OpenEvents& events = placer_.events();
    events.times().input_ns = std::max(events.times().input_ns, read_until_ns);
    events.run().turn = placer_.votes().of_all().turn();
    const std::uint64_t n_before = counters_[CameraBuildCounter::events_out];
    placer_.hand_on_overdue();
    moves_.watch_votes();
    held_.settle();
    runs_.end_if_over();
    placer_.boards().show_if_due(events.times().now_ns, counters_[CameraBuildCounter::events_out]);
    events.publish_time();
    return counters_[CameraBuildCounter::events_out] - n_before;
}

bool CameraBuilder::wants(std::size_t n_datagrams) noexcept {
    if (config_.full_policy != receive::FullPolicy::wait) return true;
    const std::size_t n_spare = output().buffers().count_spare();
    const bool wanting = n_spare >= std::min<std::size_t>(n_datagrams, config_.n_events / 2);
    if (was_wanting_ && !wanting) counters_.add(CameraBuildCounter::stalls_no_buffer);
    was_wanting_ = wanting;
    return wanting;
}

bool CameraBuilder::is_at_rest() const noexcept {
    return !placer_.events().window().has_open() && placer_.votes().hold().total() == 0 &&
           placer_.boards().n_ended() == 0;
}

bool CameraBuilder::finish() noexcept {
    read_clocks();
    OpenEvents& events = placer_.events();
    BuildRun& run = events.run();
    if (run.is_open()) held_.settle();
    held_.drop_all();
    events.hand_on_all(EventEnd::run_ended);
    placer_.boards().show(events.times().now_ns);
    if (run.is_open()) run.is_over = events.end_run(false);
    return !run.has_begun || run.is_over;
}

const receive::SequenceLog& CameraBuilder::close_sequence_log(std::uint32_t board) noexcept {
    const std::uint32_t index = placer_.boards().index_of(board);
    return placer_.boards().sequence(index).close_log(placer_.boards()[index]);
}

CameraBoardStatus CameraBuilder::status(std::uint32_t board) const noexcept {
    const std::uint32_t index = placer_.boards().index_of(board);
    CameraBoardStatus status = placer_.boards().status(index);
    placer_.votes().add_claim(index, status);
    return status;
}

}  // namespace anello::camera
