// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "camera/tests/rig.hpp"

/// Fewer than half of the boards do whatever they like. Every event outside the windows in which they did is built bit
/// for bit as without them, and inside only they may be missing. Rapidcheck prints the seed of a failing case.
namespace anello::camera {
namespace {

using test::Bytes;
using test::TestBoard;

class Dice {
  public:
    explicit Dice(std::uint32_t seed) : random_(seed) {}
    std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }
    std::mt19937& random() { return random_; }

  private:
    std::mt19937 random_;
};

/// A board that now and then does something else than it should, for a while.
class HostileBoard {
  public:
    enum class Fault : std::uint8_t {
        reboot,
        far_event,
        ahead,
        behind,
        far_time,
        repeat,
        silence,
        garbage,
        end,
        count
    };

    HostileBoard(std::uint16_t number, Dice& dice) : dice_(dice), good_(number), other_(number, 9) {}

    /// What it sends instead of the fragment of this event; true: that fragment and nothing else.
    bool send(std::uint32_t event, std::vector<Bytes>& sent) {
        if (n_left_ == 0 && dice_.one_in(30)) begin_fault();
        if (n_left_ == 0) {
            sent.push_back(good_.data(event));
            return true;
        }
        --n_left_;
        misbehave(event, sent);
        return false;
    }
    Bytes marker(bool begins) const { return begins ? good_.start() : good_.end(); }

  private:
    void begin_fault() {
        fault_ = static_cast<Fault>(dice_.below(static_cast<std::uint32_t>(Fault::count)));
        n_left_ = 1 + dice_.below(40);
        far_ = dice_.below(0xffffffffU);
        const std::uint32_t run_id = dice_.one_in(3) ? dice_.below(5) : dice_.below(0xffffffffU);
        other_.begin_run(run_id == 1 ? 0 : run_id);  // in this run a second life's fragments are duplicates
        if (fault_ == Fault::reboot) is_started_ = false;
    }

    void misbehave(std::uint32_t event, std::vector<Bytes>& sent) {
        switch (fault_) {
            case Fault::reboot:
                if (!is_started_) sent.push_back(other_.start());
                is_started_ = true;
                sent.push_back(other_.data(event + dice_.below(3)));
                break;
            case Fault::far_event:
                sent.push_back(good_.data(far_ + event));
                break;
            case Fault::ahead:
                sent.push_back(good_.data(event + dice_.below(8)));
                break;
            case Fault::behind:
                sent.push_back(good_.data(event - dice_.below(100)));
                break;
            case Fault::far_time:
                good_.set_clock_ahead(far_ + 2000ULL);
                sent.push_back(good_.data(event));
                good_.set_clock_ahead(0);
                break;
            case Fault::repeat:
                sent.assign(2 + dice_.below(5), good_.data(event));
                break;
            case Fault::silence:
                good_.lose(event);
                break;
            case Fault::garbage:
                sent.push_back(good_.data(event));
                sent.back()[dice_.below(static_cast<std::uint32_t>(sent.back().size()))] ^= std::byte{0x41};
                break;
            case Fault::end:
                sent.push_back(dice_.one_in(2) ? good_.end() : good_.start());
                break;
            case Fault::count:
                break;
        }
    }

    Dice& dice_;
    TestBoard good_, other_;
    Fault fault_ = Fault::silence;
    std::uint32_t n_left_ = 0, far_ = 0;
    bool is_started_ = false;
};

/// A camera with boards of both kinds, and the events that come out.
class MixedCamera {
  public:
    static constexpr std::uint32_t n_events = 160;

    MixedCamera(Dice& dice, std::uint32_t n_boards, std::uint32_t n_groups, const std::set<std::uint32_t>& hostile)
        : dice_(dice), n_groups_(n_groups) {
        CameraBuilderConfig config = test::small_camera(n_boards);
        config.votes = std::make_shared<CameraVotes>(n_boards, n_groups, config.window_events);
        std::vector<CameraBuilder*> pointers;
        for (std::uint32_t group = 0; group < n_groups; ++group) {
            config.group = group;
            config.boards = boards_of_group(n_boards, n_groups, group);
            builders_.push_back(std::make_unique<CameraBuilder>(config, clock_, page_));
            pointers.push_back(builders_.back().get());
        }
        joiner_ = std::make_unique<CameraJoiner>(CameraJoinerConfig{}, pointers, clock_, page_);
        for (std::uint32_t board = 0; board < n_boards; ++board) {
            good_.emplace_back(static_cast<std::uint16_t>(board));
            if (hostile.contains(board)) hostile_.emplace(board, HostileBoard(static_cast<std::uint16_t>(board), dice));
        }
    }

    void run(bool with_start) {
        for (std::uint32_t board = 0; with_start && board < good_.size(); ++board)
            place(board, hostile_.contains(board) ? hostile_.at(board).marker(true) : good_[board].start());
        for (std::uint32_t event = 0; event < n_events; ++event) {
            send(event);
            work(200'000 + dice_.below(1'800'000));
        }
        for (std::uint32_t board = 0; board < good_.size(); ++board)
            place(board, hostile_.contains(board) ? hostile_.at(board).marker(false) : good_[board].end());
        for (int ms = 0; ms < 100; ++ms) work(1'000'000);
        for (auto& builder : builders_)
            for (int i = 0; i < 100 && !builder->finish(); ++i) take();
        for (int ms = 0; ms < 100; ++ms) work(1'000'000);
    }

    void check() {
        for (auto& builder : builders_) test::expect_sums(*builder);
        RC_ASSERT(!testing::Test::HasFailure());
        for (std::uint32_t event = 0; event < n_events; ++event) {
            RC_ASSERT(present_.contains(event));
            for (std::uint32_t board = 0; board < good_.size(); ++board) {
                const bool may_miss = hostile_.contains(board) && is_near_fault(board, event);
                if (may_miss || present_.at(event).contains(board)) continue;
                RC_LOG() << "event " << event << " lacks board " << board
                         << (hostile_.contains(board) ? ", hostile" : "") << "; faults at";
                for (const std::uint32_t fault : faults_[board]) RC_LOG() << ' ' << fault;
                RC_LOG() << std::endl;
                RC_FAIL("a fragment is missing");
            }
        }
    }

    std::uint64_t n_ended() const { return joiner_->counters()[CameraJoinCounter::runs_ended]; }

  private:
    void send(std::uint32_t event) {
        std::vector<std::uint32_t> order(good_.size());
        for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), dice_.random());
        for (const std::uint32_t board : order) {
            if (!hostile_.contains(board)) {
                place(board, good_[board].data(event));
            } else {
                std::vector<Bytes> sent;
                if (!hostile_.at(board).send(event, sent)) faults_[board].insert(event);
                for (const Bytes& datagram : sent) place(board, datagram);
            }
            if (dice_.one_in(8)) work(dice_.below(100'000));
        }
    }
    void place(std::uint32_t board, const Bytes& datagram) {
        const std::uint32_t per_group = boards_of_group(static_cast<std::uint32_t>(good_.size()), n_groups_, 0).count;
        builders_[board / per_group]->place({.bytes = datagram, .stream = 0, .cut = false, .kernel_ns = 0});
    }
    void work(std::int64_t step_ns) {
        clock_.advance(step_ns);
        for (auto& builder : builders_) {
            builder->read_clocks();
            builder->on_time(builder->now_ns());
        }
        take();
    }
    void take() {
        CameraEventView view;
        while (joiner_->try_take(view)) {
            look_at(view);
            joiner_->release(view);
        }
    }
    /// Checks an event's fragments, and that fragments that few boards invented change no event of the others.
    void look_at(const CameraEventView& view) {
        std::uint32_t n_good = 0;
        for (std::uint32_t board = 0; board < good_.size(); ++board) {
            if (!view.present.contains(board)) continue;
            RC_ASSERT(test::fault_of(view.slot(board), 1, view.event_number, board) == "");
            n_good += hostile_.contains(board) ? 0 : 1;
        }
        if (n_good == 0) return;
        RC_ASSERT(!present_.contains(view.event_number));
        RC_ASSERT(view.run_id == 1U);
        RC_ASSERT(view.timestamp_ns == 1000ULL * view.event_number);
        present_[view.event_number] = view.present;
    }
    /// A board that is back from wherever it was is waited for from its first fragment on.
    bool is_near_fault(std::uint32_t board, std::uint32_t event) const {
        const auto of_board = faults_.find(board);
        if (of_board == faults_.end()) return false;
        const std::uint32_t window = 2 * builders_.front()->config().window_events;
        const auto next = of_board->second.lower_bound(event < window ? 0 : event - window);
        return next != of_board->second.end() && *next <= event + window;
    }

    Dice& dice_;
    std::uint32_t n_groups_;
    ManualClock clock_{1'000'000'000};
    CounterPage page_;
    std::vector<std::unique_ptr<CameraBuilder>> builders_;
    std::unique_ptr<CameraJoiner> joiner_;
    std::vector<TestBoard> good_;
    std::map<std::uint32_t, HostileBoard> hostile_;
    std::map<std::uint32_t, std::set<std::uint32_t>> faults_;  ///< board, events
    std::map<std::uint32_t, BoardSet> present_;                ///< by event
};

RC_GTEST_PROP(CameraHostileProperty, WhatFewBoardsDoCostsNobodyElseAFragment, ()) {
    // Few cases in ten thousand are like these, which once failed: a group whose first board is far off next to a group
    // whose first board is not, and groups that lag.
    const auto failed_once = rc::gen::element<std::uint32_t>(181, 3424, 367500);
    Dice dice(*rc::gen::weightedOneOf<std::uint32_t>({{9, rc::gen::arbitrary<std::uint32_t>()}, {1, failed_once}}));
    const std::uint32_t n_groups = 1 + dice.below(3), per_group = 3 + dice.below(5);
    std::set<std::uint32_t> hostile;
    for (std::uint32_t group = 0; group < n_groups; ++group)
        for (std::uint32_t i = 0; i < (per_group - 1) / 2; ++i)
            if (!dice.one_in(3)) hostile.insert(group * per_group + dice.below(per_group));
    MixedCamera camera(dice, n_groups * per_group, n_groups, hostile);
    camera.run(dice.one_in(2));
    camera.check();
    RC_ASSERT(camera.n_ended() == 1U);
}

/// Well-formed datagrams of every kind, in one board's name, and the others' events.
TEST(CameraHostile, ANeighbourAtOnePercentOfTheTrafficCostsAtMostATenthOfAPercent) {
    constexpr std::uint32_t n_boards = 20, neighbour = 7, n_events = 3000;
    Dice dice(20261122);
    test::CameraRig rig(test::small_camera(n_boards));
    const auto well_formed = [&] {
        const std::uint32_t runs[]{1, 1, 2, 0, dice.below(0xffffffffU)};
        const std::uint32_t now = static_cast<std::uint32_t>(rig.parts.size());
        const std::uint32_t events[]{now + dice.below(8), now + dice.below(200), now - dice.below(200),
                                     dice.below(0xffffffffU)};
        TestBoard board(neighbour, runs[dice.below(5)]);
        board.set_clock_ahead(dice.one_in(2) ? dice.below(0xffffffffU) : 0);
        for (std::uint32_t skip = dice.below(50); skip > 0; --skip) board.lose(now);
        const Bytes fragment = board.data(events[dice.below(4)]);
        return !dice.one_in(5) ? fragment : dice.one_in(2) ? board.start() : board.end();
    };
    std::uint32_t n_sent = 0;
    for (std::uint32_t event = 0; event < n_events; ++event) {
        for (TestBoard& board : rig.boards) {
            if (board.number() == neighbour) continue;
            if (dice.one_in(100)) {
                rig.place(well_formed());
                ++n_sent;
            }
            rig.place(board.data(event));
        }
        rig.advance_ms(1);
    }
    rig.finish();
    std::uint32_t n_whole = 0;
    for (const test::TakenPart& taken : rig.parts) {
        const std::uint32_t n_others = taken.part.n_present - (taken.present.contains(neighbour) ? 1 : 0);
        n_whole += !taken.part.end_of_run && taken.part.run_id == 1 && n_others == n_boards - 1 ? 1 : 0;
    }
    EXPECT_GT(n_sent, n_events * n_boards / 150);
    EXPECT_GE(n_whole, n_events - n_events / 1000);
    EXPECT_EQ(rig.value(CameraBuildCounter::runs_begun), 1U);
    test::expect_sums(rig.builder);
}

}  // namespace
}  // namespace anello::camera
