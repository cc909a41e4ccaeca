// SPDX-License-Identifier: Apache-2.0
#include "unit/events/merger_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace anello::events::test {

void read_batch(const BatchColumns& c, const BatchCompletion& batch, std::vector<TestEvent>& events) {
    for (std::uint32_t e = 0; e < batch.n_events; ++e) {
        const std::uint32_t begin = c.hit_offset[e], end = c.hit_offset[e + 1];
        events.push_back({c.event_key[e],
                          c.fine_time[e],
                          c.flags[e],
                          c.missing_boards[e],
                          {c.hit_id + begin, c.hit_id + end},
                          {c.hit_time_fine + begin, c.hit_time_fine + end},
                          c.sent_ns[e],
                          c.kernel_ns[e],
                          c.placed_ns[e]});
    }
    EXPECT_EQ(c.hit_offset[batch.n_events], batch.n_hits);
}

void TestSource::give(std::uint32_t board, const std::vector<TestFragment>& fragments, std::uint32_t burst_id,
                      receive::CloseReason reason, Nanoseconds closed_ns) {
    auto block = std::make_unique<Block>();
    bool sorted = true;
    block->hit_begin.push_back(0);
    for (const TestFragment& fragment : fragments) {
        const auto index = static_cast<std::uint32_t>(block->timestamp_ticks.size());
        if (index > 0 && static_cast<std::int32_t>(fragment.timestamp_ticks - block->timestamp_ticks.back()) < 0)
            sorted = false;
        block->timestamp_ticks.push_back(fragment.timestamp_ticks);
        block->fine_time.push_back(fragment.fine_time);
        block->hit_id.insert(block->hit_id.end(), fragment.hit_id.begin(), fragment.hit_id.end());
        block->hit_time_fine.insert(block->hit_time_fine.end(), fragment.hit_time_fine.begin(),
                                    fragment.hit_time_fine.end());
        block->hit_time_fine.resize(block->hit_id.size());
        block->hit_begin.push_back(static_cast<std::uint32_t>(block->hit_id.size()));
        if (has_stamps) block->packet.push_back({index, 0, fragment.sent_ns, fragment.kernel_ns});
    }
    ready_[board].push_back({.stream = static_cast<std::uint16_t>(board),
                             .reason = reason,
                             .sorted = sorted,
                             .buffer = static_cast<std::uint32_t>(blocks_.size()),
                             .burst_id = burst_id,
                             .n_fragments = static_cast<std::uint32_t>(fragments.size()),
                             .n_hits = static_cast<std::uint32_t>(block->hit_id.size()),
                             .n_packets = static_cast<std::uint32_t>(block->packet.size()),
                             .opened_ns = 0,
                             .closed_ns = closed_ns,
                             .given_ns = clock_.monotonic_ns(),
                             .burst_origin_ns = burst_origin_ns});
    blocks_.push_back(std::move(block));
}

bool TestSource::try_take(std::uint32_t board, receive::Completion& completion) noexcept {
    if (ready_[board].empty()) return false;
    completion = ready_[board].front();
    ready_[board].pop_front();
    ++n_taken_;
    when_taken();
    return true;
}

receive::FragmentColumns TestSource::columns(std::uint32_t, std::uint32_t buffer) noexcept {
    Block& block = *blocks_[buffer];
    return {block.timestamp_ticks.data(), block.fine_time.data(),     block.hit_begin.data(),
            block.hit_id.data(),          block.hit_time_fine.data(), block.packet.data()};
}

void TestSource::give_back(std::uint32_t, std::uint32_t buffer) noexcept {
    ++n_given_back_;
    if (blocks_[buffer] == nullptr) ADD_FAILURE() << "buffer " << buffer << " given back twice";
    blocks_[buffer].reset();  // a read after this is found by the address sanitizer
}

MergerRig::MergerRig(const MergerConfig& with, std::uint32_t n_batches)
    : config(with),
      source(with.n_boards, clock),
      batches({.n_buffers = n_batches, .buffer_bytes = batch_bytes(with.batch)}),
      ring(n_batches),
      merger(with, source, batches, sink, clock, page) {}

std::size_t MergerRig::work() {
    std::size_t n_calls = 1;
    for (; merger.do_work() > 0; ++n_calls)
        if (take_batches) read_batches();
    if (take_batches) read_batches();
    return n_calls;
}

void MergerRig::pass(Nanoseconds time_ns) {
    for (Nanoseconds step_ns = 0; time_ns > 0; time_ns -= step_ns) {
        step_ns = std::min(time_ns, Nanoseconds{1'000'000});
        clock.advance(step_ns);
        work();
    }
}

bool MergerRig::finish() {
    merger.finish();
    for (int i = 0; i < 1000 && !merger.is_drained(); ++i) {
        work();
        clock.advance(config.timeout_ns);
    }
    read_batches();
    return merger.is_drained();
}

void MergerRig::read_batches() {
    BatchCompletion batch;
    while (ring.try_take(batch)) {
        read_batch(columns_of(batches.bytes(batch.buffer), config.batch), batch, events);
        completions.push_back(batch);
        batches.give_back(batch.buffer);
    }
}

void MergerRig::expect_balance() const {
    using enum BuildCounter;
    EXPECT_EQ(value(fragments_in), value(fragments_merged) + value(fragments_late) + value(fragments_duplicate) +
                                       value(fragments_ahead) + value(fragments_disowned));
    EXPECT_EQ(value(hits_in), value(hits_merged) + value(hits_late) + value(hits_duplicate) + value(hits_ahead) +
                                  value(hits_disowned) + value(hits_truncated) + value(hits_rejected));
    EXPECT_EQ(value(events_built), value(events_complete) + value(events_incomplete));
    EXPECT_EQ(value(events_out), value(events_built) - value(events_rejected));
    EXPECT_EQ(value(events_out), events.size());
    EXPECT_EQ(source.n_held(), 0U);
    EXPECT_EQ(batches.n_free(), batches.n_buffers());
}

}  // namespace anello::events::test
