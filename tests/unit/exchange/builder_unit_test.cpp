// SPDX-License-Identifier: Apache-2.0
// A builder unit alone: which packets it hands on, with what missing and why, and the outcome of each MFP.
#include "exchange/builder/builder_unit.hpp"

#include <gmock/gmock.h>

#include <map>

#include "core/thread.hpp"
#include "unit/exchange/hand_fabric.hpp"
#include "wire/mfp.hpp"

namespace anello::exchange::test::builder_unit_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum BuilderCounter;

constexpr std::uint32_t packing = 2, run_id = 9;
constexpr Nanoseconds timeout_ns = 1000;

/// Keeps the packets that it gets until the test makes it give them back.
struct HandSink final : MepSink {
    struct Taken {
        std::uint64_t mep;
        std::uint32_t slot, n_missing;
        std::vector<std::size_t> sizes;
    };
    bool try_take(const MepView& mep) noexcept override {
        if (is_full) return false;
        EXPECT_EQ(mep.first_event, mep.mep * packing);
        EXPECT_EQ(mep.n_events, packing);
        taken.push_back({mep.mep, mep.slot, mep.n_missing, {}});
        for (const auto& mfp : mep.mfps) taken.back().sizes.push_back(mfp.size());
        return true;
    }
    bool try_give_back(std::uint32_t& slot) noexcept override {
        if (over.empty()) return false;
        slot = over.back();
        over.pop_back();
        return true;
    }
    bool is_full = false;
    std::vector<Taken> taken;
    std::vector<std::uint32_t> over;
};

/// The builder of node 2; the manager is at node 0, readout units at 0 and 1.
struct Rig {
    explicit Rig(Protocol protocol = Protocol::push, bool waits_for_data = false, bool may_lose = false,
                 double verify_share = 0)
        : unit(config_of(protocol, waits_for_data, verify_share), memory::Kind::host, may_lose, sink, outbox, clock,
               page) {
        for (const std::uint16_t readout : {std::uint16_t{0}, std::uint16_t{1}}) {
            unit.on_connection(readout, true);
            unit.on_readout(readout, true, 0);
        }
        unit.offer_all();
        work();
        for (const Credit& credit : credits()) {
            EXPECT_EQ(credit.n_missing, Credit::never_used);
            use[credit.slot] = credit.use;
        }
    }
    static ExchangeConfig config_of(Protocol protocol, bool waits_for_data, double verify_share) {
        ExchangeConfig config;
        config.farm = parse_roles({"em+ru", "ru", "bu"}, 3);
        config.self = 2;
        config.protocol = protocol;
        config.run_id = run_id;
        config.packing = packing;
        config.n_credits = 2;
        config.max_mfp_bytes = 256;
        config.verify_share = verify_share;
        config.timeout_ns = timeout_ns;
        config.waits_for_data = waits_for_data;
        return config;
    }
    void work() {
        unit.do_work(clock.monotonic_ns());
        outbox.flush();
    }
    void pass(Nanoseconds time_ns) {
        clock.advance(time_ns);
        work();
    }
    /// Slots offered since the last call.
    std::vector<Credit> credits() {
        std::vector<Credit> all;
        for (const HandFabric::Sent& sent : fabric.take()) {
            outbox.on_done(sent.token);
            outbox.accept({.type = MessageType::acknowledge, .from = sent.to, .acknowledged = sent.header.sequence});
            if (sent.header.type != MessageType::credit) continue;
            EXPECT_EQ(sent.to, 0);
            for (const Credit& credit : sent.entries<Credit>()) all.push_back(credit);
        }
        return all;
    }
    MessageHeader header(std::uint16_t readout, std::uint64_t mep, std::uint16_t slot = 0) {
        return {.type = MessageType::mfp,
                .from = readout,
                .sequence = ++n_sent[readout],
                .mep = mep,
                .use = use[slot],
                .slot = slot};
    }
    void assign(std::uint64_t mep, std::uint16_t slot = 0) {
        unit.on_assigned({.mep = mep, .use = use[slot], .slot = slot, .builder = 0});
    }
    static std::vector<std::byte> mfp_of(std::uint16_t source, std::uint64_t mep, std::uint32_t of_run = run_id,
                                         std::uint16_t n_fragments = packing, std::int64_t ready_ns = 0) {
        std::vector<std::byte> packet(256);
        wire::mfp::Writer writer(
            packet, {.source_id = source, .n_fragments = n_fragments, .run_id = of_run, .first_event = mep * packing});
        for (std::uint16_t i = 0; i < n_fragments; ++i) writer.add(8U + source);
        packet.resize(writer.finish(ready_ns));
        return packet;
    }
    /// Returns false if the builder has no place for it.
    bool place(std::uint16_t readout, const MessageHeader& with, const std::vector<std::byte>& mfp) {
        const std::span<std::byte> place = unit.place(readout, with, mfp.size());
        std::copy(mfp.begin(), mfp.begin() + static_cast<std::ptrdiff_t>(place.size()), place.begin());
        last_place = place;
        return !place.empty();
    }
    bool come(std::uint16_t readout, const MessageHeader& with, const std::vector<std::byte>& mfp) {
        if (!place(readout, with, mfp)) return false;
        unit.on_mfp(readout, with, last_place);
        return true;
    }
    bool come(std::uint16_t readout, std::uint64_t mep, std::uint16_t slot = 0) {
        return come(readout, header(readout, mep, slot), mfp_of(readout, mep));
    }
    /// MEPs that were handed on, and the sources that they lack.
    std::map<std::uint64_t, std::uint32_t> built() {
        work();
        std::map<std::uint64_t, std::uint32_t> missing_of;
        for (const HandSink::Taken& taken : sink.taken) missing_of[taken.mep] = taken.n_missing;
        return missing_of;
    }
    std::uint64_t operator[](BuilderCounter counter) const { return unit.counters()[counter]; }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    HandFabric fabric;
    HandSink sink;
    Outbox outbox{{.self = 2, .n_nodes = 3}, fabric, clock, page.add_block<StationCounter>("station")};
    BuilderUnit unit;
    std::map<std::uint16_t, std::uint32_t> use, n_sent;
    std::span<std::byte> last_place;
};

using Built = std::map<std::uint64_t, std::uint32_t>;

TEST(BuilderUnit, HandsOnAPacketOfAllUnitsOnceTheManagerNamedIt) {
    Rig rig;
    EXPECT_TRUE(rig.come(0, 5));
    EXPECT_TRUE(rig.come(1, 5));
    EXPECT_EQ(rig.built(), Built{}) << "MFPs alone may be meant for another";
    EXPECT_FALSE(rig.unit.is_empty());
    rig.assign(5);
    EXPECT_EQ(rig.built(), (Built{{5, 0}}));
    EXPECT_THAT(rig.sink.taken[0].sizes, ElementsAre(Rig::mfp_of(0, 5).size(), Rig::mfp_of(1, 5).size()));
    EXPECT_EQ(rig[meps_complete], 1U);
    EXPECT_EQ(rig[events_built], packing);
    EXPECT_EQ(rig[bytes_built], rig[bytes_received]);
    EXPECT_EQ(rig[slots_used], 1U);
    EXPECT_THAT(rig.credits(), IsEmpty());
    rig.sink.over = {0};
    rig.work();
    EXPECT_EQ(rig[slots_used], 0U);
    EXPECT_TRUE(rig.unit.is_empty() && rig.unit.credits().is_empty());
    const std::vector<Credit> credits = rig.credits();
    ASSERT_EQ(credits.size(), 1U);
    EXPECT_EQ(credits[0].mep, 5U);
    EXPECT_EQ(credits[0].use, rig.use[0] + 1);
    EXPECT_EQ(credits[0].slot, 0U);
    EXPECT_EQ(credits[0].n_missing, 0U);
    EXPECT_TRUE(rig.unit.output().handed_on()[0].is_known);
    EXPECT_EQ(rig.unit.output().handed_on()[0].mep, 5U);
    EXPECT_FALSE(rig.unit.output().handed_on()[1].is_known);
}

TEST(BuilderUnit, ASinkWithoutRoomIsAskedAgain) {
    Rig rig;
    rig.sink.is_full = true;
    for (const std::uint16_t slot : {std::uint16_t{0}, std::uint16_t{1}}) {
        rig.assign(slot, slot);
        for (const std::uint16_t readout : {std::uint16_t{0}, std::uint16_t{1}}) rig.come(readout, slot, slot);
    }
    rig.work();
    EXPECT_EQ(rig[waits_for_sink], 1U) << "who has no room for one has none for the next";
    EXPECT_EQ(rig[meps_complete], 0U) << "not built until the next stage has it";
    rig.sink.is_full = false;
    EXPECT_EQ(rig.built(), (Built{{0, 0}, {1, 0}}));
    EXPECT_EQ(rig[meps_complete], 2U);
}

/// The sink does not report that it has room again, or is done with a slot: a builder that sleeps would not notice.
TEST(BuilderUnit, ASinkIsLookedAtAsLongAsItHasSomethingOrWillNotTakeIt) {
    Rig rig;
    const auto is_due_soon = [&] { return rig.unit.next_due_ns() <= rig.clock.monotonic_ns() + usual_wait_ns; };
    rig.pass(10 * timeout_ns);
    EXPECT_FALSE(is_due_soon());
    rig.sink.is_full = true;
    rig.assign(0);
    for (const std::uint16_t readout : {std::uint16_t{0}, std::uint16_t{1}}) rig.come(readout, 0);
    rig.work();
    EXPECT_TRUE(is_due_soon()) << "it had no room";
    rig.sink.is_full = false;
    rig.work();
    rig.pass(10 * timeout_ns);
    EXPECT_TRUE(is_due_soon()) << "it has a slot";
    rig.sink.over = {0};
    rig.work();
    rig.pass(10 * timeout_ns);
    EXPECT_FALSE(is_due_soon());
}

TEST(BuilderUnit, WhatAUnitHasNothingOfIsMissing) {
    Rig rig;
    rig.assign(1);
    rig.unit.on_absent(1, rig.header(1, 1));
    rig.unit.on_absent(1, rig.header(1, 1));
    rig.come(0, 1);
    EXPECT_EQ(rig.built(), (Built{{1, 1}}));
    EXPECT_THAT(rig.sink.taken[0].sizes, ElementsAre(Rig::mfp_of(0, 1).size(), 0U));
    EXPECT_EQ(rig[sources_absent], 1U);
    EXPECT_EQ(rig[sources_missing], 1U);
    EXPECT_EQ(rig[meps_incomplete], 1U);
    EXPECT_FALSE(rig.come(1, 1)) << "it said that there is none";
    EXPECT_EQ(rig[mfps_late], 1U);
}

TEST(BuilderUnit, AnAbsenceOpensItsSlotAndOthersAreIgnored) {
    Rig rig;
    rig.unit.on_absent(0, rig.header(0, 1));
    EXPECT_EQ(rig[meps_opened], 1U);
    MessageHeader wrong = rig.header(1, 2);
    rig.unit.on_absent(1, wrong);  // another packet's
    wrong.mep = 1;
    for (const std::uint32_t use : {wrong.use - 1, wrong.use + 1}) {
        MessageHeader of_use = wrong;
        of_use.use = use;
        rig.unit.on_absent(1, of_use);
    }
    wrong.slot = 2;
    rig.unit.on_absent(1, wrong);
    EXPECT_EQ(rig[sources_absent], 1U);
    EXPECT_EQ(rig[meps_opened], 1U);
}

TEST(BuilderUnit, MfpsWithoutAPlaceAreCountedByCause) {
    Rig rig;
    rig.assign(5);
    const std::vector<std::byte> mfp = Rig::mfp_of(0, 5);
    const auto refused_as = [&](BuilderCounter cause, const auto& change) {
        const std::uint64_t before = rig[cause];
        MessageHeader header = rig.header(0, 5);
        change(header);
        EXPECT_FALSE(rig.place(0, header, mfp));
        EXPECT_EQ(rig[cause], before + 1);
    };
    refused_as(mfps_unexpected, [](MessageHeader& header) { header.slot = 2; });
    refused_as(mfps_unexpected, [](MessageHeader& header) { ++header.use; });
    refused_as(mfps_unexpected, [](MessageHeader& header) { header.mep = 6; });
    refused_as(mfps_late, [](MessageHeader& header) { --header.use; });
    EXPECT_FALSE(rig.place(0, rig.header(0, 5), std::vector<std::byte>(257)));
    EXPECT_EQ(rig[mfps_unexpected], 4U);
    rig.unit.on_mfp(0, rig.header(0, 5), {});
    EXPECT_EQ(rig[mfps_malformed], 1U);
    EXPECT_TRUE(rig.come(0, 5)) << "none of these took its place";
    refused_as(mfps_duplicate, [](MessageHeader&) {});
    EXPECT_EQ(rig[mfps_received], 1U);
}

TEST(BuilderUnit, AMfpThatIsAnotherThanItsMessageSaysIsSpoilt) {
    struct Wrong {
        const char* what;
        std::vector<std::byte> mfp;
        BuilderCounter counter;
    };
    const std::vector<std::byte> right = Rig::mfp_of(0, 5);
    std::vector<std::byte> damaged = right;
    damaged[24] ^= std::byte{1};
    for (const Wrong& wrong : {Wrong{"source", Rig::mfp_of(1, 5), mfps_wrong},
                               {"run", Rig::mfp_of(0, 5, 8), mfps_wrong},
                               {"events", Rig::mfp_of(0, 5, run_id, 3), mfps_wrong},
                               {"first event", Rig::mfp_of(0, 6), mfps_wrong},
                               {"header", damaged, mfps_malformed},
                               {"length", {right.begin(), right.end() - 1}, mfps_malformed}}) {
        SCOPED_TRACE(wrong.what);
        Rig rig;
        rig.assign(5);
        EXPECT_TRUE(rig.come(0, rig.header(0, 5), wrong.mfp));
        rig.come(1, 5);
        EXPECT_EQ(rig.built(), (Built{{5, 1}}));
        EXPECT_EQ(rig[wrong.counter], 1U);
        EXPECT_EQ(rig[sources_spoilt], 1U);
        EXPECT_EQ(rig[mfps_received], 1U);
    }
}

TEST(BuilderUnit, WhatWasCutOnTheWayIsSpoilt) {
    Rig rig;
    rig.assign(5);
    const MessageHeader header = rig.header(0, 5);
    ASSERT_TRUE(rig.place(0, header, Rig::mfp_of(0, 5)));
    rig.come(1, 5);
    EXPECT_EQ(rig.built(), Built{});
    rig.unit.on_lost(0, header);
    EXPECT_EQ(rig.built(), (Built{{5, 1}}));
    EXPECT_EQ(rig[mfps_cut], 1U);
    EXPECT_EQ(rig[sources_spoilt], 1U);
}

/// A slot is not used again as long as the transport may write into it.
TEST(BuilderUnit, AtTheTimeoutAPacketGoesAndItsSlotWaitsForTheTransport) {
    for (const bool is_lost : {false, true}) {
        Rig rig;
        rig.assign(5);
        rig.assign(6, 1);
        rig.come(0, 5);
        const MessageHeader header = rig.header(1, 5);
        ASSERT_TRUE(rig.place(1, header, Rig::mfp_of(1, 5)));
        EXPECT_EQ(rig.unit.next_due_ns(), rig.clock.monotonic_ns() + timeout_ns);
        rig.pass(timeout_ns - 1);
        EXPECT_EQ(rig.built(), Built{});
        rig.pass(1);
        EXPECT_EQ(rig.built(), (Built{{5, 1}, {6, 2}}));
        EXPECT_EQ(rig[meps_timed_out], 2U);
        EXPECT_EQ(rig[sources_timed_out], 3U);
        EXPECT_EQ(rig[sources_missing], 3U);
        rig.sink.over = {0, 1};
        rig.work();
        EXPECT_EQ(rig[slots_used], 1U) << "only the other is free";
        if (is_lost)
            rig.unit.on_lost(1, header);
        else
            rig.unit.on_mfp(1, header, rig.last_place);
        EXPECT_EQ(rig[is_lost ? mfps_cut : mfps_late], 1U);
        EXPECT_EQ(rig[sources_missing], 3U) << "it was missed already";
        EXPECT_EQ(rig[slots_used], 0U);
        rig.work();
        EXPECT_EQ(rig.credits().size(), 2U);
    }
}

/// Sources that give at their own pace: time begins with the first part, or with a later one.
TEST(BuilderUnit, WhereDataAreWaitedForTimeBeginsWithThem) {
    Rig rig(Protocol::push, true);
    rig.assign(5);
    rig.assign(6, 1);
    rig.pass(5 * timeout_ns);
    EXPECT_EQ(rig.built(), Built{});
    rig.come(0, 5);
    rig.pass(timeout_ns);
    EXPECT_EQ(rig.built(), (Built{{5, 1}})) << "of 6 nothing has come, nor of later packets";
    rig.pass(10 * timeout_ns - timeout_ns - 1);
    EXPECT_EQ(rig.built().size(), 1U);
    rig.pass(1);
    EXPECT_EQ(rig.built(), (Built{{5, 1}})) << "its time begins: what was sent may be lost";
    rig.pass(timeout_ns);
    EXPECT_EQ(rig.built(), (Built{{5, 1}, {6, 2}}));
}

TEST(BuilderUnit, APartBehindItBeginsAPacketsTimeToo) {
    for (const bool may_lose : {false, true}) {
        Rig rig(Protocol::push, true, may_lose);
        rig.assign(5);
        rig.assign(6, 1);
        if (!may_lose) rig.come(0, 6, 1);  // otherwise what was sent may be lost
        rig.pass(timeout_ns);
        EXPECT_EQ(rig.built(), (Built{{5, 2}, {6, may_lose ? 2 : 1}}));
    }
}

TEST(BuilderUnit, AUnitThatIsGoneIsNotWaitedFor) {
    for (const bool by_connection : {false, true}) {
        Rig rig;
        rig.assign(5);
        rig.come(0, 5);
        if (by_connection)
            rig.unit.on_connection(1, false);
        else
            rig.unit.on_readout(1, false, 0);
        EXPECT_EQ(rig.built(), (Built{{5, 1}}));
        EXPECT_EQ(rig[sources_gone], 1U);
        rig.assign(6, 1);
        rig.come(0, 6, 1);
        EXPECT_EQ(rig.built(), (Built{{5, 1}, {6, 1}})) << "nor for what is opened later";
        EXPECT_EQ(rig[sources_gone], 2U);
        EXPECT_EQ(rig[sources_missing], 2U);
    }
}

TEST(BuilderUnit, AUnitIsMissingInPacketsBeforeItsFirst) {
    Rig rig;
    rig.unit.on_readout(1, true, 6);
    rig.assign(5);
    rig.come(0, 5);
    rig.assign(6, 1);
    rig.come(0, 6, 1);
    EXPECT_EQ(rig.built(), (Built{{5, 1}}));
    rig.come(1, 6, 1);
    EXPECT_EQ(rig.built(), (Built{{5, 1}, {6, 0}}));
}

/// A node comes again, and is faster than the manager's word about it.
TEST(BuilderUnit, WhatAUnitSendsBeforeTheManagersWordIsTaken) {
    Rig rig;
    rig.unit.on_readout(1, false, 0);
    rig.assign(5);
    EXPECT_TRUE(rig.come(1, 5));
    EXPECT_EQ(rig.built(), Built{});
    rig.come(0, 5);
    EXPECT_EQ(rig.built(), (Built{{5, 0}}));
}

TEST(BuilderUnit, ALostConnectionGivesPlacesBack) {
    Rig rig;
    rig.assign(5);
    rig.come(0, 5);
    ASSERT_TRUE(rig.place(1, rig.header(1, 5), Rig::mfp_of(1, 5)));
    rig.pass(timeout_ns);
    rig.sink.over = {0};
    rig.work();
    EXPECT_EQ(rig[slots_used], 1U);
    rig.unit.on_connection(1, false);
    EXPECT_EQ(rig[slots_used], 0U);
    EXPECT_EQ(rig[sources_missing], 1U);
    EXPECT_FALSE(rig.unit.senders().is_up(1));
    EXPECT_TRUE(rig.unit.senders().is_up(0));
}

/// Its own account no longer holds the MFPs that it sent.
TEST(BuilderUnit, WhatCameFromAUnitThatDiedIsWrittenOff) {
    Rig rig;
    rig.assign(5);
    rig.come(0, 5);
    rig.come(0, 5);  // a duplicate has an outcome too
    rig.come(1, 5);
    MessageHeader passed_over = rig.header(0, 7, 1);
    passed_over.sequence = 4 + Arrivals::window;  // the third and later ones, up to the window, never came
    rig.place(0, passed_over, Rig::mfp_of(0, 7));
    EXPECT_GT(rig[mfps_never_came], 0U);
    const std::uint64_t n_before = 2 + rig[mfps_never_came];
    rig.unit.on_readout(0, false, 0);
    EXPECT_EQ(rig[taken_from_dead_readout], n_before);
    rig.unit.on_readout(0, false, 0);
    EXPECT_EQ(rig[taken_from_dead_readout], n_before) << "once";
}

TEST(BuilderUnit, AMessageThatIsRepeatedIsCountedBesideItsOutcome) {
    Rig rig;
    rig.assign(5);
    const MessageHeader header = rig.header(0, 5);
    EXPECT_TRUE(rig.come(0, header, Rig::mfp_of(0, 5)));
    EXPECT_FALSE(rig.come(0, header, Rig::mfp_of(0, 5)));
    EXPECT_EQ(rig[mfps_repeated], 1U);
    EXPECT_EQ(rig[mfps_duplicate], 1U);
    EXPECT_EQ(rig.unit.senders().arrivals(0).n_come(), 1U);
    rig.unit.on_connection(0, true);
    EXPECT_EQ(rig.unit.senders().arrivals(0).newest(), 1U) << "said again";
    rig.unit.on_connection(0, false);
    EXPECT_EQ(rig[taken_from_dead_readout], 1U);
    rig.unit.on_connection(0, true);
    EXPECT_EQ(rig.unit.senders().arrivals(0).newest(), 0U);
}

TEST(BuilderUnit, InPullItAsksThoseWhoAreThere) {
    Rig rig(Protocol::pull);
    rig.fabric.take();
    rig.assign(5);
    rig.assign(5);
    rig.work();
    std::vector<fabric::Peer> asked;
    for (const HandFabric::Sent& sent : rig.fabric.take()) {
        EXPECT_EQ(sent.header.type, MessageType::request);
        EXPECT_THAT(sent.entries<Assignment>(), ElementsAre(Assignment{5, rig.use[0], 0, 0}));
        asked.push_back(sent.to);
    }
    EXPECT_THAT(asked, ElementsAre(0, 1));
    rig.unit.on_connection(0, false);
    rig.unit.on_readout(1, false, 0);
    rig.assign(6, 1);
    rig.work();
    EXPECT_THAT(rig.fabric.take(), IsEmpty());
}

TEST(BuilderUnit, AssignmentsOfOtherUsesAreIgnored) {
    Rig rig;
    for (const Assignment& wrong :
         {Assignment{5, rig.use[0] + 1, 0, 0}, {5, rig.use[0] - 1, 0, 0}, {5, rig.use[0], 2, 0}})
        rig.unit.on_assigned(wrong);
    EXPECT_EQ(rig[meps_opened], 0U);
    rig.come(0, 5);
    rig.assign(6);  // the slot holds another
    rig.come(1, 5);
    EXPECT_EQ(rig.built(), Built{});
}

/// Other units know of the assignment, or they would have sent nothing; parts that do not come have one timeout more.
TEST(BuilderUnit, WithoutTheManagerWhatIsBegunIsHandedOn) {
    Rig rig(Protocol::push, true);
    rig.come(0, 5);
    rig.come(1, 5);
    rig.assign(6, 1);
    EXPECT_EQ(rig.built(), Built{});
    rig.unit.on_manager_gone();
    EXPECT_EQ(rig.built(), (Built{{5, 0}}));
    rig.pass(timeout_ns - 1);
    EXPECT_EQ(rig.built(), (Built{{5, 0}}));
    rig.pass(1);
    EXPECT_EQ(rig.built(), (Built{{5, 0}, {6, 2}}));
}

TEST(BuilderUnit, WithoutTheManagerWhatStillComesIsBuiltToo) {
    Rig rig(Protocol::push, true);
    rig.unit.on_manager_gone();
    rig.come(0, 5);
    rig.come(1, 5);
    EXPECT_EQ(rig.built(), (Built{{5, 0}}));
    rig.come(0, 6, 1);
    rig.pass(timeout_ns);
    EXPECT_EQ(rig.built(), (Built{{5, 0}, {6, 1}}));
}

TEST(BuilderUnit, ChecksAShareOfTheFragments) {
    for (const double share : {0.0, 0.25, 0.5, 1.0}) {
        Rig rig(Protocol::push, false, false, share);
        for (std::uint64_t mep = 0; mep < 8; ++mep) {
            std::vector<std::byte> damaged = Rig::mfp_of(0, mep);
            for (std::size_t i = wire::mfp::tables_end(packing); i < damaged.size(); ++i) damaged[i] ^= std::byte{1};
            rig.come(0, rig.header(0, mep), damaged);
            rig.come(1, mep);
            rig.assign(mep);
            rig.work();
            rig.sink.over = {0};
            rig.work();
            ++rig.use[0];
        }
        const auto n_checked = static_cast<std::uint64_t>(share * 8 * 2 * packing);
        EXPECT_EQ(rig[meps_complete], 8U);
        EXPECT_EQ(rig[fragments_verified], n_checked);
        EXPECT_EQ(rig[fragments_ok] + rig[fragments_wrong_checksum], n_checked);
        EXPECT_TRUE(share < 1 || rig[fragments_ok] == 8U * packing) << "half of them are damaged";
    }
}

TEST(BuilderUnit, TimesFromTheFirstPartAndFromItsSource) {
    Rig rig;
    const Nanoseconds ready_ns = rig.clock.wall_ns() - 1'000'000;
    rig.assign(5);
    rig.come(0, rig.header(0, 5), Rig::mfp_of(0, 5, run_id, packing, ready_ns));
    rig.clock.advance(timeout_ns / 2);
    rig.come(1, rig.header(1, 5), Rig::mfp_of(1, 5, run_id, packing, ready_ns + 500'000));
    rig.work();
    EXPECT_EQ(rig.unit.output().ready_to_built().count(), 1U);
    EXPECT_EQ(rig.unit.output().first_to_built().count(), 1U);
    EXPECT_NEAR(rig.unit.output().ready_to_built().mean_ns(), 1'000'000 + timeout_ns / 2, 1);
    EXPECT_NEAR(rig.unit.output().first_to_built().mean_ns(), timeout_ns / 2, 1);
}

TEST(BuilderUnit, WhatIsLeftAtTheEndIsCountedOnce) {
    Rig rig;
    rig.sink.is_full = true;
    rig.assign(5);
    rig.come(0, 5);
    rig.come(1, 5);
    rig.work();  // no room for it
    MessageHeader header = rig.header(0, 6, 1);
    ++header.sequence;  // one before it never came
    ASSERT_TRUE(rig.place(0, header, Rig::mfp_of(0, 6)));
    rig.unit.settle();
    rig.unit.settle();
    EXPECT_EQ(rig[meps_left], 2U);
    EXPECT_EQ(rig[mfps_cut], 1U);
    EXPECT_EQ(rig[mfps_never_came], 1U);
    EXPECT_EQ(rig[meps_complete], 0U);
}

TEST(BuilderUnit, BesideAUnitThatIsGoneWhatOthersOweIsCounted) {
    Rig rig;
    rig.unit.on_connection(0, false);
    MessageHeader header = rig.header(1, 6);
    ++header.sequence;  // one before it never came
    ASSERT_TRUE(rig.place(1, header, Rig::mfp_of(1, 6)));
    rig.unit.settle();
    EXPECT_EQ(rig[mfps_never_came], 1U);
}

}  // namespace
}  // namespace anello::exchange::test::builder_unit_test
