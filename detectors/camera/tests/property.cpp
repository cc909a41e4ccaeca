// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "camera/tests/rig.hpp"

/// Whatever is lost, doubled, damaged or late: every datagram has one outcome, every fragment handed on is what its
/// board sent, events are in order and none comes twice. Rapidcheck prints the seed of a failing case.
namespace anello::camera::property {
namespace {

using test::Bytes;
using test::TestBoard;

struct Sent {
    std::uint32_t board;
    Bytes datagram;
};

/// What a network does, by one seed.
class FaultyNetwork {
  public:
    FaultyNetwork(std::uint32_t seed, double fault_share) : random_(seed), fault_share_(fault_share) {}

    bool fault() { return std::uniform_real_distribution<>()(random_) < fault_share_; }
    std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }

    /// Boards keep their own order, as if each had its own cable; then single datagrams are lost, doubled, damaged and
    /// overtaken by a few others.
    std::vector<Sent> carry(std::vector<std::vector<Bytes>> by_board) {
        std::vector<Sent> arrived;
        std::vector<std::size_t> next(by_board.size());
        for (bool is_left = true; is_left;) {
            is_left = false;
            for (std::uint32_t board = 0; board < by_board.size(); ++board)
                for (std::uint32_t burst = 1 + below(3); burst > 0 && next[board] < by_board[board].size(); --burst) {
                    is_left = true;
                    pass(board, by_board[board][next[board]++], arrived);
                }
        }
        for (std::size_t i = 0; i + 1 < arrived.size(); ++i)
            if (fault()) std::swap(arrived[i], arrived[std::min(arrived.size() - 1, i + 1 + below(20))]);
        return arrived;
    }

  private:
    void pass(std::uint32_t board, const Bytes& datagram, std::vector<Sent>& arrived) {
        if (fault()) return;
        arrived.push_back({board, datagram});
        if (fault()) arrived.push_back({board, datagram});
        if (!fault()) return;
        Bytes damaged = datagram;
        damaged[below(static_cast<std::uint32_t>(damaged.size()))] ^= static_cast<std::byte>(1 + below(255));
        arrived.push_back({board, damaged});
    }

    std::mt19937 random_;
    double fault_share_;
};

/// A camera of several groups; one run's datagrams by board: markers, events, markers.
class PropertyCamera {
  public:
    PropertyCamera(CameraBuilderConfig config, std::uint32_t n_groups) : n_groups_(n_groups) {
        std::vector<CameraBuilder*> pointers;
        config.votes = std::make_shared<CameraVotes>(config.shape.n_boards, n_groups, config.window_events);
        for (std::uint32_t group = 0; group < n_groups; ++group) {
            config.group = group;
            config.boards = boards_of_group(config.shape.n_boards, n_groups, group);
            builders.push_back(std::make_unique<CameraBuilder>(config, clock, page));
            pointers.push_back(builders.back().get());
        }
        joiner = std::make_unique<CameraJoiner>(CameraJoinerConfig{}, pointers, clock, page);
        for (std::uint32_t i = 0; i < config.shape.n_boards; ++i) boards.emplace_back(static_cast<std::uint16_t>(i));
    }

    std::vector<std::vector<Bytes>> send_run(std::uint32_t run_id, std::uint32_t first_event, std::uint32_t n_events,
                                             bool with_start) {
        std::vector<std::vector<Bytes>> sent(boards.size());
        for (std::size_t i = 0; i < boards.size(); ++i) {
            boards[i].begin_run(run_id);
            boards[i].set_first_event(first_event);
            for (int repeat = 0; with_start && repeat < 2; ++repeat) sent[i].push_back(boards[i].start());
            for (std::uint32_t event = 0; event < n_events; ++event)
                sent[i].push_back(boards[i].data(first_event + event));
        }
        return sent;
    }

    void place(const Sent& sent) {
        const std::uint32_t per_group = boards_of_group(static_cast<std::uint32_t>(boards.size()), n_groups_, 0).count;
        CameraBuilder& builder = *builders[sent.board / per_group];
        builder.place({.bytes = sent.datagram, .stream = 0, .cut = false, .kernel_ns = 0});
        ++n_placed;
    }
    void work(std::int64_t step_ns) {
        clock.advance(step_ns);
        for (auto& builder : builders) {
            builder->read_clocks();
            builder->on_time(builder->now_ns());
        }
        take();
    }
    void finish() {
        for (auto& builder : builders)
            for (int i = 0; i < 100 && !builder->finish(); ++i) take();
        for (int ms = 0; ms < 200; ++ms) work(1'000'000);
        RC_ASSERT(joiner->is_empty());
    }
    void take() {
        CameraEventView view;
        while (joiner->try_take(view)) {
            check(view);
            joiner->release(view);
        }
    }
    void check(const CameraEventView& view) {
        const auto key = std::pair(view.run_id, view.event_number);
        RC_ASSERT(seen[key]++ == 0 || may_turn_back);
        if (has_last && !may_turn_back)
            RC_ASSERT(last_run != view.run_id || static_cast<std::int32_t>(view.event_number - last) > 0);
        has_last = true;
        last_run = view.run_id;
        last = view.event_number;
        RC_ASSERT(view.n_present == view.present.count());
        RC_ASSERT(view.n_present > 0U);
        for (std::uint32_t board = 0; board < boards.size(); ++board)
            if (view.present.contains(board))
                RC_ASSERT(test::fault_of(view.slot(board), view.run_id, view.event_number, board) == "");
        n_fragments += view.n_present;
    }
    void check_sums() {
        using enum CameraBuildCounter;
        std::uint64_t n_datagrams = 0, n_parts = 0, n_fragments_placed = 0;
        for (auto& builder : builders) {
            test::expect_sums(*builder);
            n_datagrams += builder->counters()[datagrams];
            n_parts += builder->counters()[events_out];
            n_fragments_placed += builder->counters()[fragments_placed];
        }
        const auto& joined = joiner->counters();
        RC_ASSERT(n_datagrams == n_placed);
        RC_ASSERT(joined[CameraJoinCounter::parts_in] == n_parts);
        RC_ASSERT(joined[CameraJoinCounter::parts_joined] + joined[CameraJoinCounter::parts_late] == n_parts);
        RC_ASSERT(joined[CameraJoinCounter::fragments] == n_fragments);
        RC_ASSERT(n_fragments + joined[CameraJoinCounter::fragments_late] == n_fragments_placed);
        RC_ASSERT(!testing::Test::HasFailure());
    }

    ManualClock clock{1'000'000'000};
    CounterPage page;
    std::vector<std::unique_ptr<CameraBuilder>> builders;
    std::unique_ptr<CameraJoiner> joiner;
    std::vector<TestBoard> boards;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> seen;
    std::uint64_t n_placed = 0, n_fragments = 0;
    bool may_turn_back = false;  ///< most boards may say that they step back
    bool has_last = false;
    std::uint32_t last_run = 0, last = 0;

  private:
    std::uint32_t n_groups_;
};

CameraBuilderConfig drawn_camera() {
    CameraBuilderConfig config = test::small_camera(*rc::gen::inRange(1U, 30U));
    config.window_events = 1U << *rc::gen::inRange(1, 6);
    config.n_events = 2 * config.window_events + *rc::gen::inRange(4U, 64U);
    config.copy =
        *rc::gen::elementOf(std::vector{CopyMode::plain, CopyMode::ahead, CopyMode::non_temporal, CopyMode::automatic});
    config.full_policy = *rc::gen::elementOf(std::vector{receive::FullPolicy::wait, receive::FullPolicy::drop_new});
    return config;
}

RC_GTEST_PROP(CameraProperty, EveryDatagramHasOneOutcome, ()) {
    const CameraBuilderConfig config = drawn_camera();
    const std::uint32_t n_groups = *rc::gen::inRange(1U, std::min(5U, config.shape.n_boards + 1));
    RC_PRE(boards_of_group(config.shape.n_boards, n_groups, n_groups - 1).count > 0U);
    const double fault_share = *rc::gen::elementOf(std::vector{0.0, 0.01, 0.1, 0.4});
    FaultyNetwork network(*rc::gen::arbitrary<std::uint32_t>(), fault_share);
    PropertyCamera camera(config, n_groups);
    camera.may_turn_back = config.window_events < 16;  // boards are farther apart than that
    const std::uint32_t n_runs = *rc::gen::inRange(1U, 4U);
    for (std::uint32_t run = 1; run <= n_runs; ++run) {
        const auto first_event = *rc::gen::elementOf(std::vector<std::uint32_t>{0, 1, 77, 0xffffffe0U});
        auto sent = camera.send_run(run, first_event, *rc::gen::inRange(1U, 60U), *rc::gen::arbitrary<bool>());
        for (const Sent& datagram : network.carry(std::move(sent))) {
            camera.place(datagram);
            if (network.below(4) == 0) camera.work(network.below(500'000));
        }
        // The ends of runs arrive: without them, losses after the last fragment are not known.
        for (std::uint32_t board = 0; board < camera.boards.size(); ++board)
            for (int repeat = 0; repeat < 2; ++repeat) camera.place({board, camera.boards[board].end()});
        if (*rc::gen::arbitrary<bool>()) camera.work(25'000'000);
        if (*rc::gen::arbitrary<bool>()) camera.work(25'000'000);
    }
    camera.finish();
    camera.check_sums();
    if (fault_share > 0.0) return;
    std::uint64_t n_lost = 0;
    for (auto& builder : camera.builders)
        for (std::uint32_t i = 0; i < builder->config().boards.count; ++i)
            n_lost += builder->board_counters(builder->config().boards.first + i)[CameraBoardCounter::lost];
    RC_ASSERT(n_lost == 0U);
}

/// One run after another, each begun by its markers: then every sequence number is accounted for, board by board.
RC_GTEST_PROP(CameraProperty, EverySequenceNumberHasOneOutcome, ()) {
    const CameraBuilderConfig config = drawn_camera();
    FaultyNetwork network(*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::elementOf(std::vector{0.0, 0.02, 0.2}));
    PropertyCamera camera(config, 1);
    const std::uint32_t n_runs = *rc::gen::inRange(1U, 4U);
    for (std::uint32_t run = 1; run <= n_runs; ++run) {
        for (TestBoard& board : camera.boards) {
            board.begin_run(run);
            board.set_first_event(5);
            camera.place({board.number(), board.start()});
        }
        auto sent = camera.send_run(run, 5, *rc::gen::inRange(1U, 80U), false);
        for (const Sent& datagram : network.carry(std::move(sent))) {
            camera.place(datagram);
            if (network.below(8) == 0) camera.work(network.below(2'000'000));
        }
        for (std::uint32_t board = 0; board < camera.boards.size(); ++board)
            camera.place({board, camera.boards[board].end()});
    }
    camera.finish();
    camera.check_sums();
    for (std::uint32_t board = 0; board < camera.boards.size(); ++board)
        test::expect_board_sum(*camera.builders[0], board);
    RC_ASSERT(!testing::Test::HasFailure());
}

/// Headers of every kind with right checksums: no crash, no double outcome, nothing handed on that was not sent.
RC_GTEST_PROP(CameraProperty, HostileHeadersAreAccountedFor, ()) {
    const CameraBuilderConfig config = drawn_camera();
    FaultyNetwork network(*rc::gen::arbitrary<std::uint32_t>(), 0.5);
    PropertyCamera camera(config, 1);
    camera.may_turn_back = true;
    for (std::uint32_t i = 0; i < 600; ++i) {
        TestBoard board(static_cast<std::uint16_t>(network.below(config.shape.n_boards)), 1 + network.below(2));
        for (std::uint32_t skip = network.below(4); skip > 0; --skip) board.lose(0);
        const std::uint32_t near = i / 20 + network.below(config.window_events);
        const std::uint32_t event = network.below(10) > 0 ? near : network.below(0xffffffffU);
        Bytes datagram = board.data(event);
        if (network.below(30) == 0) datagram = network.fault() ? board.start() : board.end();
        camera.place({0, std::move(datagram)});
        if (network.below(4) == 0) camera.work(network.below(4'000'000));
    }
    camera.finish();
    camera.check_sums();
}

}  // namespace
}  // namespace anello::camera::property
