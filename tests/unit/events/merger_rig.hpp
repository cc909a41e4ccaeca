// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "events/merger.hpp"

/// A merger with everything around it in memory: blocks made from lists of fragments, batches read back as events.
namespace anello::events::test {

struct TestFragment {
    std::uint32_t timestamp_ticks;
    std::uint8_t fine_time = 0;
    std::vector<std::uint16_t> hit_id = {};
    Nanoseconds sent_ns = 0, kernel_ns = 0;
    std::vector<std::int16_t> hit_time_fine = {};
};

struct TestEvent {
    std::uint64_t event_key;
    std::uint8_t fine_time;
    std::uint8_t flags;
    std::uint32_t missing_boards;
    std::vector<std::uint16_t> hit_id;
    std::vector<std::int16_t> hit_time_fine;
    Nanoseconds sent_ns, kernel_ns, placed_ns;
};

/// Appends the events of a batch to `events`.
void read_batch(const BatchColumns& columns, const BatchCompletion& batch, std::vector<TestEvent>& events);

class TestSource final : public BlockSource {
  public:
    TestSource(std::uint32_t n_boards, const Clock& clock)
        : read_until(n_boards), is_unwanted(n_boards), clock_(clock), ready_(n_boards) {}

    /// One packet per fragment; a block is `sorted` when it is.
    void give(std::uint32_t board, const std::vector<TestFragment>& fragments, std::uint32_t burst_id = 1,
              receive::CloseReason reason = receive::CloseReason::size, Nanoseconds closed_ns = 0);
    void end(std::uint32_t board, std::uint32_t burst_id = 1) {
        give(board, {}, burst_id, receive::CloseReason::end_of_burst);
    }
    /// Declares that the board's fragments so far came from another sender.
    void disown(std::uint32_t board, std::uint32_t burst_id = 1) {
        give(board, {}, burst_id, receive::CloseReason::disowned);
    }
    std::function<void()> when_taken = [] {};
    Nanoseconds burst_origin_ns = 0;                     ///< of what is given from now on
    bool has_stamps = true;                              ///< of the packets; otherwise their times are unknown
    std::vector<std::optional<Nanoseconds>> read_until;  ///< by board; nothing: all that came was read
    std::vector<bool> is_unwanted;                       ///< by board
    std::size_t n_held() const { return n_taken_ - n_given_back_; }

    bool try_take(std::uint32_t board, receive::Completion& completion) noexcept override;
    Nanoseconds read_until_ns(std::uint32_t board) const noexcept override {
        return read_until[board].value_or(clock_.monotonic_ns());
    }
    bool is_wanted(std::uint32_t board) const noexcept override { return !is_unwanted[board]; }
    receive::FragmentColumns columns(std::uint32_t board, std::uint32_t buffer) noexcept override;
    void give_back(std::uint32_t board, std::uint32_t buffer) noexcept override;

  private:
    struct Block {
        std::vector<std::uint32_t> timestamp_ticks, hit_begin;
        std::vector<std::uint8_t> fine_time;
        std::vector<std::uint16_t> hit_id;
        std::vector<std::int16_t> hit_time_fine;
        std::vector<receive::PacketStamp> packet;
    };
    const Clock& clock_;
    std::vector<std::deque<receive::Completion>> ready_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::size_t n_taken_ = 0, n_given_back_ = 0;
};

class MergerRig {
  public:
    explicit MergerRig(const MergerConfig& config, std::uint32_t n_batches = 8);

    /// Works until there is nothing to do, reading batches as they come; returns the calls made.
    std::size_t work();
    /// Calls work() while this time passes, in steps such as a running thread sees.
    void pass(Nanoseconds time_ns);
    /// Calls work() and moves time past every timeout, until the merger says that it is drained.
    bool finish();
    void read_batches();
    std::uint64_t value(BuildCounter counter) const { return merger.counters()[counter]; }
    /// Fails the running test when the ledger of the builder does not balance.
    void expect_balance() const;

    MergerConfig config;
    ManualClock clock{1'000'000'000};
    CounterPage page;
    TestSource source;
    memory::PersistentBuffers batches;
    memory::SpscRing<BatchCompletion> ring;
    RingSink sink{ring};
    Merger merger;
    std::vector<TestEvent> events;
    std::vector<BatchCompletion> completions;
    bool take_batches = true;
};

}  // namespace anello::events::test
