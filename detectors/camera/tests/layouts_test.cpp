// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <poll.h>

#include <map>
#include <random>
#include <thread>

#include "camera/events/intake.hpp"
#include "camera/tests/rig.hpp"
#include "core/errors.hpp"
#include "receive/datagrams/socket_backend.hpp"
#include "unit/receive/udp_sender.hpp"

/// The same datagrams through every layout: the same events, byte for byte, and the same outcome of each datagram.
namespace anello::camera::layouts_test {
namespace {

using test::Bytes;
using test::TestBoard;

struct Layout {
    const char* name;
    bool with_blocks, in_place;
    std::size_t n_ports;
};

std::ostream& operator<<(std::ostream& out, const Layout& layout) {
    return out << layout.name << ", " << layout.n_ports << " ports";
}

constexpr std::uint32_t n_boards = 12;

struct Sent {
    std::uint32_t board;
    Bytes datagram;
};

/// A run of a camera with every kind of fault, from one seed: always the same.
std::vector<Sent> make_run(std::uint32_t n_events, bool with_faults) {
    std::mt19937 random(20261121);
    const auto one_in = [&](std::uint32_t n) { return with_faults && random() % n == 0; };
    std::vector<TestBoard> boards;
    std::vector<Sent> sent;
    for (std::uint16_t i = 0; i < n_boards; ++i) {
        boards.emplace_back(i);
        sent.push_back({i, boards[i].start()});
    }
    for (std::uint32_t event = 0; event < n_events; ++event) {
        for (TestBoard& board : boards) {
            const std::uint32_t at = board.number();
            const Bytes datagram = board.data(event);
            if (one_in(50)) continue;
            sent.push_back({at, datagram});
            if (one_in(50)) sent.push_back({at, datagram});
            if (one_in(50)) sent.back().datagram[70] ^= std::byte{1};
            if (one_in(60)) sent.push_back({at, Bytes(random() % 3000)});
            if (one_in(60)) sent.push_back({at, TestBoard(static_cast<std::uint16_t>(random() % 20)).data(event)});
            if (one_in(20) && sent.size() > 3) std::swap(sent.back(), sent[sent.size() - 1 - random() % 3]);
        }
    }
    for (const TestBoard& board : boards) sent.push_back({board.number(), board.end()});
    return sent;
}

using Events = std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, Bytes>>;

CameraIntakeConfig config_of(const Layout& layout) {
    CameraIntakeConfig config;
    config.builder = test::small_camera(n_boards);
    config.builder.window_events = 16;
    config.builder.n_events = 256;
    config.builder.in_place = layout.in_place;
    for (std::uint32_t port = 0; port < layout.n_ports; ++port)
        config.builder.stream_boards.push_back(
            boards_of_group(n_boards, static_cast<std::uint32_t>(layout.n_ports), port));
    config.with_blocks = layout.with_blocks;
    return config;
}

class LayoutRig {
  public:
    explicit LayoutRig(const Layout& layout) : layout_(layout) {
        auto backend = std::make_unique<receive::SocketBackend>(
            receive::SocketBackendConfig{.address = "127.0.0.1",
                                         .ports = std::vector<std::uint16_t>(layout.n_ports, 0),
                                         .gro = false,
                                         .receive_buffer_bytes = 8 << 20});
        sockets = backend.get();
        intake = std::make_unique<CameraIntake>(config_of(layout), std::move(backend), clock, page);
        for (std::uint16_t i = 0; i < layout.n_ports; ++i) senders.emplace_back(sockets->port(i));
    }

    void send(const Sent& sent) {
        senders[sent.board * layout_.n_ports / n_boards].send(sent.datagram);
        ++n_sent;
    }
    std::uint64_t n_built() const { return intake->builder().counters()[CameraBuildCounter::datagrams]; }
    /// Until all that was sent has come; loopback delivers within the sender's call as a rule.
    void work() {
        for (int n_idle = 0; n_built() < n_sent && n_idle < 1'000'000;) {
            const std::size_t n_done = intake->receive_work() + intake->build_work();
            n_idle = n_done == 0 ? n_idle + 1 : 0;
            take();
        }
        EXPECT_EQ(n_built(), n_sent);
    }
    void finish() {
        clock.advance(25'000'000);
        intake->drain();
        for (int i = 0; i < 1000 && !intake->is_drained(); ++i) {
            intake->receive_work();
            intake->build_work();
            take();
        }
        take();
        EXPECT_TRUE(intake->is_drained());
    }
    void take() {
        CameraBuilder& builder = intake->builder();
        CameraPart part;
        while (builder.output().try_take(part)) {
            if (part.end_of_run) continue;
            auto& fragments = events[{part.run_id, part.event_number}];
            for (std::uint32_t board = 0; board < n_boards; ++board) {
                if (!builder.output().present(part.buffer).contains(board)) continue;
                const std::byte* slot =
                    builder.output().event(part.buffer).data() + board * builder.config().shape.slot_bytes();
                EXPECT_EQ(test::fault_of(slot, part.run_id, part.event_number, board), "");
                fragments[board] = Bytes(slot, slot + wire::camera::header_bytes + 100);
            }
            builder.output().give_back(part.buffer);
        }
    }
    std::uint64_t value(CameraBuildCounter counter) const { return intake->builder().counters()[counter]; }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    receive::SocketBackend* sockets = nullptr;
    std::unique_ptr<CameraIntake> intake;
    std::vector<receive::test::UdpSender> senders;
    Events events;
    std::uint64_t n_sent = 0;

  private:
    Layout layout_;
};

class CameraLayouts : public testing::TestWithParam<Layout> {};

/// Without sockets, in one go.
Events reference(const std::vector<Sent>& run, const Layout& layout, CameraBuilder& builder) {
    Events events;
    for (const Sent& sent : run) {
        const auto stream = static_cast<std::uint16_t>(sent.board * layout.n_ports / n_boards);
        builder.place({.bytes = sent.datagram, .stream = stream, .cut = false, .kernel_ns = 0});
    }
    builder.finish();
    CameraPart part;
    while (builder.output().try_take(part)) {
        if (part.end_of_run) continue;
        for (std::uint32_t board = 0; board < n_boards; ++board) {
            const std::byte* slot =
                builder.output().event(part.buffer).data() + board * builder.config().shape.slot_bytes();
            if (builder.output().present(part.buffer).contains(board))
                events[{part.run_id, part.event_number}][board] = Bytes(slot, slot + wire::camera::header_bytes + 100);
        }
    }
    return events;
}

TEST_P(CameraLayouts, GiveTheSameEvents) {
    const std::vector<Sent> run = make_run(200, true);
    LayoutRig rig(GetParam());
    // In portions that several sockets hold, each read out before the next: with many ports the order among them is
    // the receiver's.
    const std::size_t portion = GetParam().n_ports == 1 ? 100 : 1;
    for (std::size_t i = 0; i < run.size(); ++i) {
        rig.send(run[i]);
        if (i % portion == portion - 1) rig.work();
    }
    rig.work();
    rig.finish();

    CounterPage page;
    CameraBuilder builder(config_of(GetParam()).builder, rig.clock, page);
    EXPECT_EQ(rig.events, reference(run, GetParam(), builder));
    test::expect_sums(rig.intake->builder());
    for (std::size_t i = 0; i < static_cast<std::size_t>(CameraBuildCounter::events_out); ++i) {
        const auto counter = static_cast<CameraBuildCounter>(i);
        if (counter == CameraBuildCounter::bytes) continue;  // of datagrams that are longer than a place, less comes
        EXPECT_EQ(rig.value(counter), builder.counters()[counter]) << counter_labels<CameraBuildCounter>[i].name;
    }
    std::uint64_t n_received = 0;
    for (std::size_t i = 0; i < GetParam().n_ports; ++i)
        n_received += rig.intake->port_counters(i)[receive::PortCounter::datagrams];
    EXPECT_EQ(n_received, rig.n_sent);
}

TEST_P(CameraLayouts, GiveCompleteEventsWhereNothingIsWrong) {
    const std::vector<Sent> run = make_run(300, false);
    LayoutRig rig(GetParam());
    for (std::size_t i = 0; i < run.size(); ++i) {
        rig.send(run[i]);
        if (i % (4 * n_boards) == 0) rig.work();
    }
    rig.work();
    rig.finish();
    EXPECT_EQ(rig.value(CameraBuildCounter::events_complete), 300U);
    EXPECT_EQ(rig.value(CameraBuildCounter::events_out), 300U);
    if (!GetParam().in_place) return;
    EXPECT_GT(rig.value(CameraBuildCounter::landed_in_place), 300U * n_boards * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(All, CameraLayouts,
                         testing::Values(Layout{"two stages", false, false, 1}, Layout{"two stages", false, false, 4},
                                         Layout{"three stages", true, false, 1}, Layout{"three stages", true, false, 4},
                                         Layout{"in place", false, true, 1}, Layout{"in place", false, true, 4},
                                         Layout{"in place", false, true, 12}));

TEST(CameraInPlace, AnOrderThatNobodyCanGuessIsCopied) {
    LayoutRig rig({"in place", false, true, 1});
    std::mt19937 random(7);
    std::vector<TestBoard> boards;
    std::vector<std::uint32_t> order;
    for (std::uint16_t i = 0; i < n_boards; ++i) {
        boards.emplace_back(i);
        order.push_back(i);
    }
    for (std::uint32_t event = 0; event < 600; ++event) {
        std::shuffle(order.begin(), order.end(), random);
        for (const std::uint32_t board : order) rig.send({board, boards[board].data(event)});
        if (event % 4 == 3) rig.work();
    }
    rig.work();
    rig.finish();
    EXPECT_EQ(rig.value(CameraBuildCounter::events_complete), 600U);
    EXPECT_LT(rig.value(CameraBuildCounter::landed_in_place), 600U) << "after so many misses it is not tried for long";
}

TEST(CameraInPlace, NeighboursThatChangePlacesAreMoved) {
    LayoutRig rig({"in place", false, true, 1});
    std::mt19937 random(7);
    std::vector<TestBoard> boards;
    for (std::uint16_t i = 0; i < n_boards; ++i) boards.emplace_back(i);
    for (std::uint32_t event = 0; event < 600; ++event) {
        const auto first = static_cast<std::uint32_t>(random() % 40);  // mostly none of them
        for (std::uint32_t i = 0; i < n_boards; ++i) {
            const std::uint32_t board = i == first && i + 1 < n_boards ? i + 1 : (i == first + 1 ? i - 1 : i);
            rig.send({board, boards[board].data(event)});
        }
        if (event % 4 == 3) rig.work();
    }
    rig.work();
    rig.finish();
    EXPECT_EQ(rig.value(CameraBuildCounter::events_complete), 600U);
    EXPECT_GT(rig.value(CameraBuildCounter::landed_elsewhere), 100U);
    EXPECT_GT(rig.value(CameraBuildCounter::landed_in_place), 1000U);
}

TEST(CameraInPlace, ADatagramLongerThanASlotIsCut) {
    LayoutRig rig({"in place", false, true, 1});
    std::vector<TestBoard> boards;
    for (std::uint16_t i = 0; i < n_boards; ++i) boards.emplace_back(i);
    for (std::uint32_t event = 0; event < 8; ++event) {
        for (TestBoard& board : boards) {
            const bool is_long = event == 6 && board.number() == 5;
            board.set_payload_bytes(is_long ? 8000 : 100);
            rig.send({board.number(), board.data(event)});
        }
        rig.work();
    }
    rig.finish();
    EXPECT_EQ(rig.intake->builder().verdicts()[wire::Verdict::wrong_length], 1U);
    EXPECT_EQ(rig.value(CameraBuildCounter::fragments_placed), 8U * n_boards - 1);
    test::expect_sums(rig.intake->builder());
}

TEST(CameraInPlace, NeedsSingleDatagramsAndOneThread) {
    ManualClock clock;
    CounterPage page;
    const auto make = [&](bool gro, bool with_blocks) {
        auto backend = std::make_unique<receive::SocketBackend>(
            receive::SocketBackendConfig{.address = "127.0.0.1", .ports = {0}, .gro = gro});
        CameraIntakeConfig config = config_of({"", with_blocks, true, 1});
        CameraIntake intake(config, std::move(backend), clock, page);
    };
    EXPECT_THROW(make(true, false), ConfigError);
    EXPECT_THROW(make(false, true), ConfigError);
}

/// Three threads at full speed, for the thread sanitizer: receive, build, consume. The sender runs in addition.
TEST(CameraThreads, ThreeStagesAndAConsumer) {
    LayoutRig rig({"three stages", true, false, 1});
    const std::vector<Sent> run = make_run(500, false);
    std::atomic<bool> is_over{false};
    std::jthread receiving([&] {
        while (!rig.intake->is_drained()) rig.intake->receive_work();
    });
    std::jthread building([&] {
        while (!rig.intake->is_drained()) rig.intake->build_work();
    });
    std::jthread consuming([&] {
        while (!is_over.load(std::memory_order_acquire)) rig.take();
        rig.take();
    });
    for (const Sent& sent : run) {
        rig.send(sent);
        while (rig.n_built() + 1000 < rig.n_sent) std::this_thread::yield();
    }
    while (rig.n_built() < rig.n_sent) std::this_thread::yield();
    for (std::uint32_t board = 0; board < n_boards; ++board) rig.intake->builder().status(board);
    rig.intake->drain();
    while (!rig.intake->is_drained()) std::this_thread::yield();
    is_over.store(true, std::memory_order_release);
    consuming.join();
    EXPECT_EQ(rig.events.size(), 500U);
    EXPECT_EQ(rig.value(CameraBuildCounter::events_complete), 500U);
}

}  // namespace
}  // namespace anello::camera::layouts_test
