// SPDX-License-Identifier: Apache-2.0
#include "camera/tests/rig.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace anello::camera::test {
namespace {

std::byte payload_byte(std::uint32_t run_id, std::uint32_t event_number, std::uint32_t board, std::uint32_t i) {
    const std::uint32_t mixed = (run_id * 2654435761U) ^ (event_number * 40503U) ^ (board * 9973U) ^ (i * 2246822519U);
    return static_cast<std::byte>(mixed >> 13);
}

}  // namespace

Bytes TestBoard::data(std::uint32_t event_number) {
    Bytes datagram(wire::camera::header_bytes + payload_bytes_);
    for (std::uint32_t i = 0; i < payload_bytes_; ++i)
        datagram[wire::camera::header_bytes + i] = payload_byte(run_id_, event_number, board_, i);
    wire::camera::Header header;
    header.flags = wire::camera::with_checksum;
    header.board = board_;
    header.run_id = run_id_;
    header.event_number = event_number;
    header.sequence = sequence_++;
    header.timestamp_ns = 1000ULL * event_number + clock_ahead_ns_;
    header.trigger_tag = trigger_tag_;
    header.payload_bytes = payload_bytes_;
    wire::camera::seal(datagram, header);
    if (totals_.n_fragments++ == 0) totals_.first_event = event_number;
    totals_.n_bytes += datagram.size();
    totals_.next_event = event_number + 1;
    return datagram;
}

Bytes TestBoard::marker(std::uint8_t flags) const {
    Bytes datagram(wire::camera::header_bytes + wire::camera::totals_bytes);
    wire::camera::Header header;
    header.flags = flags;
    header.board = board_;
    header.run_id = run_id_;
    header.event_number = totals_.next_event;
    header.sequence = sequence_;
    wire::camera::write_marker(datagram, header, totals_);
    return datagram;
}

void TestBoard::begin_run(std::uint32_t run_id) {
    run_id_ = run_id;
    sequence_ = 0;
    totals_ = {};
}

std::string fault_of(const std::byte* slot, std::uint32_t run_id, std::uint32_t event_number, std::uint32_t board) {
    wire::camera::Header header;
    const std::size_t n_bytes =
        wire::camera::header_bytes + (static_cast<std::size_t>(slot[38]) | static_cast<std::size_t>(slot[39]) << 8);
    const std::span datagram(slot, n_bytes);
    if (const wire::Verdict verdict = wire::camera::parse(datagram, header); verdict != wire::Verdict::ok)
        return fmt::format("event {} board {}: {}", event_number, board, wire::name_of(verdict));
    if (header.run_id != run_id || header.event_number != event_number || header.board != board)
        return fmt::format("run {} event {} board {} holds run {} event {} board {}", run_id, event_number, board,
                           header.run_id, header.event_number, header.board);
    for (std::uint32_t i = 0; i < header.payload_bytes; ++i)
        if (slot[wire::camera::header_bytes + i] != payload_byte(run_id, event_number, board, i))
            return fmt::format("event {} board {}: byte {} is wrong", event_number, board, i);
    return {};
}

CameraBuilderConfig small_camera(std::uint32_t n_boards) {
    CameraBuilderConfig config;
    config.shape = {.n_boards = n_boards, .max_payload_bytes = 200};
    config.boards = {0, n_boards};
    config.window_events = 8;
    config.n_events = 32;
    config.timeout_ns = 20'000'000;
    return config;
}

void expect_sums(const CameraBuilder& builder) {
    using enum CameraBuildCounter;
    const auto& counters = builder.counters();
    std::uint64_t n_malformed = 0;
    for (std::size_t i = 1; i < static_cast<std::size_t>(wire::Verdict::count); ++i)
        n_malformed += builder.verdicts()[static_cast<wire::Verdict>(i)];
    EXPECT_EQ(counters[datagrams], n_malformed + counters[strangers] + counters[fragments_in] + counters[markers]);
    EXPECT_EQ(counters[fragments_in], counters[fragments_placed] + counters[fragments_duplicate] +
                                          counters[fragments_late] + counters[fragments_ahead] +
                                          counters[fragments_other_run] + counters[fragments_wrong_board] +
                                          counters[fragments_wrong_size] + counters[fragments_dropped]);
    EXPECT_EQ(counters[events_out], counters[events_complete] + counters[events_timeout] + counters[events_pushed_out] +
                                        counters[events_run_ended]);
    EXPECT_EQ(counters[events_out] * builder.config().boards.count,
              counters[fragments_placed] + counters[fragments_missing]);
}

void expect_board_sum(const CameraBuilder& builder, std::uint32_t board) {
    using enum CameraBoardCounter;
    const auto& counters = builder.board_counters(board);
    EXPECT_EQ(counters[announced], counters[placed] - counters[disowned] + counters[lost] + counters[late] +
                                       counters[ahead] + counters[other_run] + counters[dropped])
        << "board " << board;
}

CameraRig::CameraRig(const CameraBuilderConfig& config) : builder(config, clock, page) {
    for (std::uint32_t i = 0; i < config.boards.count; ++i)
        boards.emplace_back(static_cast<std::uint16_t>(config.boards.first + i));
}

void CameraRig::place(const Bytes& datagram, std::uint16_t stream, receive::SourceAddress source) {
    builder.place({.bytes = datagram, .stream = stream, .cut = false, .kernel_ns = 0, .source = source});
}

void CameraRig::place_event(std::uint32_t event_number, const std::vector<std::uint32_t>& but) {
    for (TestBoard& board : boards)
        if (std::find(but.begin(), but.end(), board.number()) == but.end()) place(board.data(event_number));
}

void CameraRig::advance_ms(std::int64_t ms) {
    clock.advance(ms * 1'000'000);
    work();
    take_all();
}

void CameraRig::work() {
    builder.read_clocks();
    builder.on_time(builder.now_ns());
}

void CameraRig::take_all() {
    CameraPart part;
    while (builder.output().try_take(part)) {
        parts.push_back({part, {}});
        if (part.end_of_run) continue;
        const BoardSet& present = builder.output().present(part.buffer);
        parts.back().present = present;
        EXPECT_EQ(present.count(), part.n_present);
        const CameraBuilderConfig& config = builder.config();
        for (std::uint32_t i = 0; i < config.boards.count; ++i) {
            const std::uint32_t board = config.boards.first + i;
            if (!present.contains(board)) continue;
            const std::byte* slot = builder.output().event(part.buffer).data() + i * config.shape.slot_bytes();
            const std::uint32_t unused = 32 - config.event_number_bits;
            EXPECT_EQ(fault_of(slot, part.run_id, part.event_number << unused >> unused, board), "");
        }
        held.push_back(part.buffer);
        if (!hold) give_back_held();
    }
}

void CameraRig::give_back_held() {
    for (const std::uint32_t buffer : held) builder.output().give_back(buffer);
    held.clear();
}

void CameraRig::finish() {
    for (int i = 0; i < 1000 && !builder.finish(); ++i) take_all();
    take_all();
}

std::vector<std::uint32_t> CameraRig::event_numbers() const {
    std::vector<std::uint32_t> numbers;
    for (const TakenPart& taken : parts)
        if (!taken.part.end_of_run) numbers.push_back(taken.part.event_number);
    return numbers;
}

}  // namespace anello::camera::test
