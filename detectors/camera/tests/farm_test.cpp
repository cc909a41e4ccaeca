// SPDX-License-Identifier: Apache-2.0
// Two groups of boards, packed by two readout units and put side by side by a builder: every byte is looked at.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "camera/events/builder/slot.hpp"
#include "camera/farm/packer.hpp"
#include "camera/farm/unpacker.hpp"
#include "core/errors.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::camera::farm_test {
namespace {

using Bytes = std::vector<std::byte>;
using exchange::PackCounter;
using exchange::UnpackCounter;

constexpr std::uint32_t n_boards = 5, packing = 4, payload_bytes = 100;
constexpr CameraShape shape{.n_boards = n_boards, .max_payload_bytes = 128};

/// One board is always wrong.
std::uint8_t tag_of(std::uint32_t board, std::uint32_t event) {
    if (board == n_boards - 1) return wire::camera::tag_slow_control;
    return event % 2 == 0 ? wire::camera::tag_mono : wire::camera::tag_pedestal;
}

Bytes datagram_of(std::uint32_t board, std::uint32_t event, std::uint32_t run_id = 1) {
    Bytes datagram(wire::camera::header_bytes + payload_bytes);
    wire::write_pattern(std::span(datagram).subspan(wire::camera::header_bytes), board, event);
    wire::camera::seal(datagram, {.flags = wire::camera::with_checksum,
                                  .board = static_cast<std::uint16_t>(board),
                                  .run_id = run_id,
                                  .event_number = event,
                                  .sequence = event,
                                  .timestamp_ns = 1000 + event,
                                  .trigger_tag = tag_of(board, event),
                                  .payload_bytes = payload_bytes});
    return datagram;
}

Bytes end_of(std::uint32_t board, std::uint32_t n_events) {
    Bytes marker(wire::camera::header_bytes + wire::camera::totals_bytes);
    wire::camera::write_marker(marker,
                               {.flags = wire::camera::end_of_run,
                                .board = static_cast<std::uint16_t>(board),
                                .run_id = 1,
                                .sequence = n_events},
                               {.n_fragments = n_events, .next_event = n_events});
    return marker;
}

/// A node's boards, up to the MFPs.
struct Readout {
    Readout(std::uint16_t number, const Clock& clock, CounterPage& page, std::uint32_t n_buffers = 8)
        : builder({.shape = shape, .boards = boards_of_group(n_boards, 2, number), .window_events = 32, .n_events = 64},
                  clock, page),
          config({.source_id = number, .run_id = 7, .packing = packing}),
          ring({.n_buffers = n_buffers, .buffer_bytes = config.max_mfp_bytes(camera_group_bytes(shape, 3))}),
          packer(config, builder, ring, clock, page) {
        ring.begin_at(0);
    }
    void place(const Bytes& datagram) {
        builder.read_clocks();
        builder.place({.bytes = datagram});
        builder.on_time(builder.now_ns());
        packer.do_work();
    }
    void place_event(std::uint32_t event, const std::set<std::uint32_t>& but = {}) {
        for (std::uint32_t board = 0; board < n_boards; ++board)
            if (builder.config().boards.contains(board) && !but.contains(board)) place(datagram_of(board, event));
    }
    /// The MFPs that are there, as a builder would have them.
    std::vector<exchange::FullMfp> take_all() {
        std::vector<exchange::FullMfp> taken;
        for (exchange::FullMfp mfp; ring.try_take(mfp);) taken.push_back(mfp);
        return taken;
    }
    std::uint64_t count(PackCounter counter) const {
        return exchange::base_of<PackCounter>(packer.counters())[counter];
    }

    CameraBuilder builder;
    exchange::MfpPackerConfig config;
    exchange::MfpRing ring;
    CameraPacker packer;
};

struct Farm {
    void place_event(std::uint32_t event, const std::set<std::uint32_t>& but = {}) {
        for (Readout* readout : {&first, &second}) readout->place_event(event, but);
    }
    /// Hands MEP `mep` of what has been taken from the rings to the unpacker; some readout units may be missing.
    void hand_on(std::uint64_t mep, std::vector<std::span<const std::byte>> mfps) {
        held.push_back(std::move(mfps));
        ASSERT_TRUE(unpacker.try_take_mep({.mep = mep,
                                           .first_event = mep * packing,
                                           .n_events = packing,
                                           .slot = static_cast<std::uint32_t>(mep),
                                           .built_ns = 1,
                                           .mfps = held.back()}));
    }
    std::span<std::byte> bytes_of(Readout& readout, const exchange::FullMfp& mfp) {
        return readout.ring.bytes(mfp.buffer).first(mfp.length_bytes);
    }
    /// Takes the next event; each board that it has must hold what that board sent.
    bool take(CameraEventView& view) {
        if (!unpacker.try_take(view)) return false;
        std::uint32_t n_present = 0;
        for (std::uint32_t board = 0; board < n_boards; ++board) {
            if (!view.present.contains(board)) continue;
            ++n_present;
            const Bytes sent = datagram_of(board, view.event_number);
            EXPECT_TRUE(std::equal(sent.begin(), sent.end(), view.slot(board))) << board;
        }
        EXPECT_EQ(n_present, view.n_present);
        if (n_present > 2) {
            EXPECT_EQ(view.trigger_tag, tag_of(0, view.event_number));
        }
        return true;
    }
    std::uint64_t count(CameraUnpackCounter counter) const { return unpacker.counters()[counter]; }
    std::uint64_t count(UnpackCounter counter) const {
        return exchange::base_of<UnpackCounter>(unpacker.counters())[counter];
    }

    ManualClock clock{1'000'000'000};
    std::vector<std::unique_ptr<CounterPage>> pages = make_pages();
    Readout first{0, clock, *pages[0]}, second{1, clock, *pages[1]};
    CameraUnpacker unpacker{{.n_slots = 16, .n_readouts = 2, .shape = shape}, *pages[2]};
    std::vector<std::vector<std::span<const std::byte>>> held;

  private:
    static std::vector<std::unique_ptr<CounterPage>> make_pages() {
        std::vector<std::unique_ptr<CounterPage>> pages;
        for (int i = 0; i < 3; ++i) pages.push_back(std::make_unique<CounterPage>());
        return pages;
    }
};

TEST(CameraFarm, EventsOfTwoGroupsAreWholeAgainAndLieWhereTheyCame) {
    Farm farm;
    farm.held.reserve(16);
    for (std::uint32_t event = 0; event < 2 * packing; ++event)
        farm.place_event(event, event == 2 ? std::set<std::uint32_t>{0, 1, 2, 3, 4} : std::set<std::uint32_t>{});
    const auto first = farm.first.take_all(), second = farm.second.take_all();
    ASSERT_EQ(first.size(), 2U);
    ASSERT_EQ(second.size(), 2U);
    for (std::uint64_t mep = 0; mep < 2; ++mep) {
        EXPECT_EQ(first[mep].mep, mep);
        farm.hand_on(mep, {farm.bytes_of(farm.first, first[mep]), farm.bytes_of(farm.second, second[mep])});
    }
    CameraEventView view;
    for (std::uint32_t event = 0; event < 2 * packing; ++event) {
        if (event == 2) continue;  // nobody sent it
        ASSERT_TRUE(farm.take(view)) << event;
        EXPECT_EQ(view.event_number, event);
        EXPECT_TRUE(view.is_complete());
        EXPECT_EQ(view.run_id, 1U);
        EXPECT_EQ(view.timestamp_ns, 1000 + event);
        farm.unpacker.release(view);
    }
    EXPECT_FALSE(farm.take(view));
    EXPECT_TRUE(farm.unpacker.is_empty());
    EXPECT_EQ(farm.count(UnpackCounter::places_empty), 1U);
    EXPECT_EQ(farm.count(CameraUnpackCounter::events_complete), 2 * packing - 1);
    for (std::uint32_t slot = 9, mep = 0; mep < 2; ++mep) {
        EXPECT_TRUE(farm.unpacker.try_give_back(slot));
        EXPECT_EQ(slot, mep);
    }
}

TEST(CameraFarm, AGroupThatLacksIsMissingAndAViewKeepsItsSlot) {
    Farm farm;
    farm.held.reserve(16);
    for (std::uint32_t event = 0; event < packing; ++event) farm.place_event(event);
    const auto second = farm.second.take_all();
    farm.hand_on(0, {{}, farm.bytes_of(farm.second, second.at(0))});
    std::vector<CameraEventView> views(packing);
    for (auto& view : views) {
        ASSERT_TRUE(farm.take(view));
        EXPECT_EQ(view.n_present, 2U);
        EXPECT_TRUE(view.present.contains(3) && view.present.contains(4));
    }
    std::uint32_t slot = 0;
    CameraEventView none;
    EXPECT_FALSE(farm.take(none));
    for (const auto& view : views) {
        EXPECT_FALSE(farm.unpacker.try_give_back(slot));
        farm.unpacker.release(view);
    }
    EXPECT_TRUE(farm.unpacker.try_give_back(slot));
    EXPECT_EQ(farm.count(CameraUnpackCounter::events_incomplete), packing);
}

/// Whatever bit of a packet is wrong behind its header: nothing is read that is not there, and all is counted.
TEST(CameraFarm, WhatIsNotWhatItSaysIsLeftOut) {
    using enum CameraUnpackCounter;
    Farm farm;
    for (std::uint32_t event = 0; event < packing; ++event) farm.place_event(event);
    const auto taken = farm.first.take_all();
    const auto bytes = farm.bytes_of(farm.first, taken.at(0));
    const std::size_t begin = wire::mfp::tables_end(packing, wire::mfp::long_fragments);
    farm.held.reserve(bytes.size());
    for (std::size_t at = begin; at < bytes.size(); at += 3) {
        const std::uint64_t n_wrong =
            farm.count(UnpackCounter::parts_malformed) + farm.count(UnpackCounter::parts_of_other);
        const std::uint64_t n_fragments = farm.count(fragments) + farm.count(fragments_malformed);
        const std::byte bit = std::byte{1} << (at % 8);
        bytes[at] ^= bit;
        farm.hand_on(0, {bytes, {}});
        for (CameraEventView view; farm.unpacker.try_take(view); farm.unpacker.release(view))
            for (std::uint32_t board = 0; board < n_boards; ++board)
                if (view.present.contains(board))
                    EXPECT_LE(waveforms_in(view.slot(board)).payload_bytes, shape.max_payload_bytes);
        bytes[at] ^= bit;
        std::uint32_t slot = 0;
        ASSERT_TRUE(farm.unpacker.try_give_back(slot));
        const std::uint64_t n_now =
            farm.count(UnpackCounter::parts_malformed) + farm.count(UnpackCounter::parts_of_other) - n_wrong;
        EXPECT_LE(n_now, 1U);  // of four
        EXPECT_EQ(farm.count(fragments) + farm.count(fragments_malformed) - n_fragments, 3 * (packing - n_now));
        EXPECT_EQ(farm.count(UnpackCounter::parts_in), farm.count(UnpackCounter::parts_joined) +
                                                           farm.count(UnpackCounter::parts_malformed) +
                                                           farm.count(UnpackCounter::parts_of_other));
        EXPECT_EQ(farm.count(UnpackCounter::places), farm.count(events_out) + farm.count(UnpackCounter::places_empty));
    }
    EXPECT_GT(farm.count(fragments_malformed), 0U);
}

TEST(CameraFarm, TheEndOfTheRunClosesAPacketAndTheEndOfTheExchangeIsPassed) {
    Farm farm;
    for (std::uint32_t event = 0; event < packing + 1; ++event) farm.first.place_event(event);
    EXPECT_EQ(farm.first.take_all().size(), 1U);
    for (std::uint32_t board = 0; board < 3; ++board) farm.first.place(end_of(board, packing + 1));
    farm.clock.advance(1'000'000'000);
    for (int i = 0; i < 3; ++i) {
        farm.first.builder.read_clocks();
        farm.first.builder.on_time(farm.first.builder.now_ns());
        farm.first.packer.do_work();
        farm.clock.advance(1'000'000'000);
    }
    EXPECT_TRUE(farm.first.packer.has_ended());
    EXPECT_EQ(farm.first.take_all().size(), 1U);
    EXPECT_EQ(farm.first.ring.passed(), 2U);
    farm.first.ring.end_at(9);
    farm.first.packer.do_work();
    EXPECT_EQ(farm.first.ring.passed(), 9U);
}

TEST(CameraFarm, WithoutRoomPartsWaitAndAreCountedWhereTheyAreLeft) {
    ManualClock clock{1'000'000'000};
    CounterPage page;
    Readout readout(0, clock, page, 2);
    for (std::uint32_t event = 0; event < 3 * packing; ++event) readout.place_event(event);
    EXPECT_EQ(readout.count(PackCounter::parts_packed), 2 * packing);
    EXPECT_GT(readout.count(PackCounter::waits_for_room), 0U);
    for (const exchange::FullMfp& mfp : readout.take_all()) readout.ring.give_back(mfp.buffer);
    for (int i = 0; i < 3; ++i) readout.packer.do_work();
    EXPECT_EQ(readout.count(PackCounter::parts_packed), 3 * packing);
    readout.ring.end_at(3);
    readout.place_event(3 * packing);
    EXPECT_EQ(readout.count(PackCounter::parts_after_end), 1U);
    readout.packer.discard();
    readout.place_event(3 * packing + 1);
    EXPECT_EQ(readout.count(PackCounter::parts_left), 1U);
    EXPECT_EQ(readout.count(PackCounter::parts_in), 3 * packing + 2);
}

/// A node that comes again begins later; the camera's numbers wrap, the exchange's do not.
TEST(CameraFarm, ANodeThatBeginsLaterFindsItsPlaceAlsoBehindTheWrap) {
    ManualClock clock{1'000'000'000};
    CounterPage page;
    Readout readout(0, clock, page);
    const std::uint64_t mep = (std::uint64_t{1} << 32) / packing + 1;  // event 4 of the second turn
    exchange::MfpRing ring(
        {.n_buffers = 4, .buffer_bytes = readout.config.max_mfp_bytes(camera_group_bytes(shape, 3))});
    CounterPage other;
    CameraPacker packer(readout.config, readout.builder, ring, clock, other);
    ring.begin_at(mep);
    for (std::uint32_t event = 2; event < 8; ++event)
        for (std::uint32_t board = 0; board < 3; ++board) {
            const Bytes datagram = datagram_of(board, event);
            readout.builder.place({.bytes = datagram});
        }
    packer.do_work();
    EXPECT_EQ(exchange::base_of<PackCounter>(packer.counters())[PackCounter::parts_before_start], 2U);
    exchange::FullMfp mfp;
    ASSERT_TRUE(ring.try_take(mfp));
    EXPECT_EQ(mfp.mep, mep);
    wire::mfp::PacketView view;
    ASSERT_EQ(wire::mfp::parse(ring.bytes(mfp.buffer).first(mfp.length_bytes), view), wire::Verdict::ok);
    EXPECT_EQ(view.header.first_event, mep * packing);
}

TEST(CameraFarm, RefusesWhatItHasNoRoomFor) {
    CounterPage page;
    EXPECT_THROW(CameraUnpacker({.n_slots = 4, .n_readouts = 9, .shape = shape}, page), ConfigError);
    EXPECT_THROW(CameraUnpacker({.n_slots = 4, .n_readouts = 4, .shape = shape}, page), ConfigError);  // 2, 2, 1, 0
}

}  // namespace
}  // namespace anello::camera::farm_test
