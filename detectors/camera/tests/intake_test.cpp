// SPDX-License-Identifier: Apache-2.0
#include "camera/events/intake.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "camera/tests/rig.hpp"
#include "core/errors.hpp"

namespace anello::camera::intake_test {
namespace {

using receive::PortCounter;
using test::Bytes;
using test::TestBoard;

/// Two ports whose datagrams are given by hand.
class HandBackend final : public receive::Backend {
  public:
    void give(std::uint16_t stream, Bytes bytes) { waiting_.push_back({std::move(bytes), stream}); }

    std::size_t n_streams() const noexcept override { return 2; }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<receive::Datagram> batch) noexcept override {
        lent_.clear();
        while (lent_.size() < batch.size() && !waiting_.empty()) {
            lent_.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
            batch[lent_.size() - 1] = {.bytes = lent_.back().bytes, .stream = lent_.back().stream};
        }
        return lent_.size();
    }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t) const noexcept override { return waiting_.empty(); }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override { return n_dropped[stream]; }
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return n_taken_apart[stream]; }
    bool has_more_coming() const noexcept override { return more_is_coming; }
    std::string describe() const override { return "by hand"; }

    std::array<std::uint64_t, 2> n_dropped{}, n_taken_apart{};
    bool more_is_coming = false;

  private:
    struct Held {
        Bytes bytes;
        std::uint16_t stream;
    };
    std::deque<Held> waiting_, lent_;
};

CameraIntakeConfig config_of(bool with_blocks) {
    CameraIntakeConfig config;
    config.builder = test::small_camera();
    config.with_blocks = with_blocks;
    config.blocks = {.n_blocks = 4, .max_datagrams = 2};
    config.first_port = 7;
    return config;
}

class IntakeRig {
  public:
    explicit IntakeRig(const CameraIntakeConfig& config)
        : backend(new HandBackend), intake(config, std::unique_ptr<receive::Backend>(backend), clock, page) {}

    std::uint64_t value(std::size_t stream, PortCounter counter) const { return intake.port_counters(stream)[counter]; }
    std::uint64_t value(CameraBuildCounter counter) const { return intake.builder().counters()[counter]; }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    HandBackend* backend;
    CameraIntake intake;
    TestBoard board{0};
};

/// As long as an event may time out its thread looks often, and seldom where nothing is open.
TEST(CameraIntake, TellsHowLongItsThreadMayWait) {
    IntakeRig rig(config_of(false));
    EXPECT_EQ(rig.intake.receive_wait_ns(), longest_idle_ns);
    rig.backend->give(0, rig.board.data(5));
    rig.intake.receive_work();
    EXPECT_EQ(rig.intake.receive_wait_ns(), usual_wait_ns);
    rig.clock.advance(10'000'000'000);
    for (int i = 0; i < 3; ++i) {
        rig.intake.receive_work();
        rig.clock.advance(10'000'000'000);
    }
    EXPECT_EQ(rig.intake.receive_wait_ns(), longest_idle_ns) << "it has timed out";
}

TEST(CameraIntake, CountsDatagramsOfEachPort) {
    for (const bool with_blocks : {false, true}) {
        IntakeRig rig(config_of(with_blocks));
        std::uint64_t n_bytes = 0;
        for (std::uint32_t event = 0; event < 3; ++event) {
            const Bytes datagram = rig.board.data(event);
            n_bytes += datagram.size();
            rig.backend->give(1, datagram);
        }
        rig.backend->give(0, Bytes(9));
        EXPECT_EQ(rig.intake.receive_work(), 4U);
        while (rig.intake.build_work() + rig.intake.receive_work() > 0) {
        }
        EXPECT_EQ(rig.value(0, PortCounter::datagrams), 1U);
        EXPECT_EQ(rig.value(0, PortCounter::bytes), 9U);
        EXPECT_EQ(rig.value(1, PortCounter::datagrams), 3U);
        EXPECT_EQ(rig.value(1, PortCounter::bytes), n_bytes);
        for (const std::size_t port : {0U, 1U}) EXPECT_EQ(rig.value(port, PortCounter::blocks_dropped), 0U);
        EXPECT_EQ(rig.value(CameraBuildCounter::fragments_placed), 3U);
        EXPECT_EQ(rig.value(CameraBuildCounter::datagrams), 4U);
        std::set<std::string> blocks;
        for (const CounterPage::Sample& sample : rig.page.read()) blocks.insert(sample.block);
        EXPECT_THAT(blocks, testing::IsSupersetOf({"receive.port7", "receive.port8"}));
    }
}

TEST(CameraIntake, WithoutAFreeBlockDatagramsWaitOrAreDroppedAndCounted) {
    for (const auto policy : {receive::FullPolicy::wait, receive::FullPolicy::drop_new}) {
        CameraIntakeConfig config = config_of(true);
        config.builder.full_policy = policy;
        config.batch_datagrams = 4;
        IntakeRig rig(config);
        for (std::uint32_t event = 0; event < 12; ++event) rig.backend->give(1, rig.board.data(event));
        for (int i = 0; i < 6; ++i) rig.intake.receive_work();  // four blocks of two
        const bool waits = policy == receive::FullPolicy::wait;
        EXPECT_EQ(rig.value(1, PortCounter::datagrams), waits ? 8U : 12U);
        EXPECT_EQ(rig.value(1, PortCounter::blocks_dropped), waits ? 0U : 4U);
        EXPECT_EQ(rig.value(0, PortCounter::blocks_dropped), 0U);
        for (int i = 0; i < 20; ++i) {
            rig.intake.build_work();
            rig.intake.receive_work();
        }
        EXPECT_EQ(rig.value(1, PortCounter::datagrams), 12U);
        EXPECT_EQ(rig.value(CameraBuildCounter::datagrams), waits ? 12U : 8U);
    }
}

TEST(CameraIntake, ShowsWhatTheSystemCountsTenTimesASecond) {
    IntakeRig rig(config_of(false));
    rig.intake.receive_work();
    rig.backend->n_dropped = {3, 5};
    rig.backend->n_taken_apart = {1, 2};
    rig.clock.advance(99'999'999);
    rig.intake.receive_work();
    EXPECT_EQ(rig.value(1, PortCounter::kernel_dropped), 0U);
    rig.clock.advance(1);
    rig.intake.receive_work();
    EXPECT_EQ(rig.value(0, PortCounter::kernel_dropped), 3U);
    EXPECT_EQ(rig.value(1, PortCounter::kernel_dropped), 5U);
    EXPECT_EQ(rig.value(0, PortCounter::super_packets), 1U);
    EXPECT_EQ(rig.value(1, PortCounter::super_packets), 2U);
}

TEST(CameraIntake, IsDrainedWhenNothingMoreComes) {
    for (const bool with_blocks : {false, true}) {
        IntakeRig rig(config_of(with_blocks));
        const auto work = [&] {
            for (int i = 0; i < 10; ++i) {
                rig.intake.receive_work();
                rig.intake.build_work();
            }
        };
        rig.backend->give(0, rig.board.data(0));
        work();
        EXPECT_FALSE(rig.intake.is_drained());
        rig.backend->n_dropped = {3, 0};
        rig.backend->more_is_coming = true;
        rig.intake.drain();
        work();
        EXPECT_FALSE(rig.intake.is_drained()) << "the system still holds datagrams";
        rig.backend->give(0, rig.board.data(1));
        rig.backend->more_is_coming = false;
        work();
        EXPECT_TRUE(rig.intake.is_drained());
        EXPECT_EQ(rig.value(0, PortCounter::kernel_dropped), 3U) << "shown at the end, whenever it was shown before";
        EXPECT_EQ(rig.value(CameraBuildCounter::fragments_placed), 2U);
        EXPECT_EQ(rig.value(CameraBuildCounter::events_out), 2U);
        rig.backend->give(0, rig.board.data(2));
        work();
        EXPECT_EQ(rig.value(0, PortCounter::datagrams), 2U) << "what nobody would build is not received";
    }
}

TEST(CameraIntake, ImpossibleConfigurationsAreRefused) {
    const auto make = [](std::uint32_t batch_datagrams, std::size_t n_described, bool in_place) {
        CameraIntakeConfig config = config_of(false);
        config.batch_datagrams = batch_datagrams;
        config.builder.stream_boards.assign(n_described, BoardRange{0, 4});
        config.builder.in_place = in_place;
        IntakeRig rig(config);
    };
    EXPECT_THROW(make(0, 0, false), ConfigError);
    EXPECT_THROW(make(1025, 0, false), ConfigError);
    EXPECT_THROW(make(64, 1, false), ConfigError) << "two ports, and only one is described";
    EXPECT_THROW(make(64, 0, true), ConfigError) << "only sockets receive in place";
    EXPECT_NO_THROW(make(1024, 2, false));
    EXPECT_NO_THROW(make(1, 0, false));
}

}  // namespace
}  // namespace anello::camera::intake_test
