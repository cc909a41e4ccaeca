// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "events/merger.hpp"

/// Fragments per second of the merger on one core, in memory: blocks are prepared once and given again and again, with
/// their timestamps as they are (each round is a burst of its own). Arguments: boards, hits per fragment, ticks by
/// which boards disagree (0: equal timestamps).
namespace {

using namespace anello;
using namespace anello::events;

constexpr receive::BlockShape shape{.max_fragments = 1024, .max_hits = 1024 * 16, .max_packets = 256};
constexpr std::uint32_t blocks_per_round = 8;
constexpr std::uint32_t fragments_per_packet = 40;

class Blocks final : public BlockSource {
  public:
    Blocks(std::uint32_t n_boards, std::uint32_t n_hits, std::uint32_t jitter_ticks)
        : buffers_({.n_buffers = n_boards * blocks_per_round, .buffer_bytes = receive::block_bytes(shape)}),
          next_(n_boards, blocks_per_round),
          n_hits_(n_hits) {
        for (std::uint32_t board = 0; board < n_boards; ++board)
            for (std::uint32_t block = 0; block < blocks_per_round; ++block) fill(board, block, jitter_ticks);
    }
    void begin_round() {
        ++burst_id_;
        for (auto& next : next_) next = 0;
    }
    bool try_take(std::uint32_t board, receive::Completion& completion) noexcept override {
        if (next_[board] == blocks_per_round) return false;
        const std::uint32_t block = next_[board]++;
        const bool is_last = block + 1 == blocks_per_round;
        completion = {.stream = static_cast<std::uint16_t>(board),
                      .reason = is_last ? receive::CloseReason::end_of_burst : receive::CloseReason::size,
                      .sorted = true,
                      .buffer = board * blocks_per_round + block,
                      .burst_id = burst_id_,
                      .n_fragments = shape.max_fragments,
                      .n_hits = shape.max_fragments * n_hits_,
                      .n_packets = (shape.max_fragments + fragments_per_packet - 1) / fragments_per_packet,
                      .opened_ns = 1,
                      .closed_ns = 2};
        return true;
    }
    Nanoseconds read_until_ns(std::uint32_t) const noexcept override { return 0; }  // nothing times out
    bool is_wanted(std::uint32_t) const noexcept override { return true; }
    receive::FragmentColumns columns(std::uint32_t, std::uint32_t buffer) noexcept override {
        return receive::columns_of(buffers_.bytes(buffer), shape);
    }
    void give_back(std::uint32_t, std::uint32_t) noexcept override {}

  private:
    void fill(std::uint32_t board, std::uint32_t block, std::uint32_t jitter_ticks) {
        const receive::FragmentColumns c = columns(board, board * blocks_per_round + block);
        c.hit_begin[0] = 0;
        for (std::uint32_t i = 0; i < shape.max_fragments; ++i) {
            const std::uint32_t number = block * shape.max_fragments + i;
            c.timestamp_ticks[i] = number * 20 + (jitter_ticks == 0 ? 0 : (number * 7 + board) % (jitter_ticks + 1));
            c.fine_time[i] = static_cast<std::uint8_t>(number * 37);
            c.hit_begin[i + 1] = c.hit_begin[i] + n_hits_;
            for (std::uint32_t hit = 0; hit < n_hits_; ++hit)
                c.hit_id[c.hit_begin[i] + hit] = static_cast<std::uint16_t>(board * 488 + (number + hit * 31) % 488);
        }
        for (std::uint32_t first = 0, k = 0; first < shape.max_fragments; first += fragments_per_packet, ++k)
            c.packet[k] = {first, k, 1000 + k, 2000 + k};
    }

    memory::PersistentBuffers buffers_;
    std::vector<std::uint32_t> next_;
    std::uint32_t n_hits_;
    std::uint32_t burst_id_ = 0;
};

void merge(benchmark::State& state) {
    const auto n_boards = static_cast<std::uint32_t>(state.range(0));
    Blocks blocks(n_boards, static_cast<std::uint32_t>(state.range(1)), static_cast<std::uint32_t>(state.range(2)));
    MergerConfig config;
    config.window_ticks = 2;  // the largest jitter below
    config.n_boards = n_boards;
    memory::PersistentBuffers batches({.n_buffers = 8, .buffer_bytes = batch_bytes(config.batch)});
    memory::SpscRing<BatchCompletion> ring(8);
    RingSink sink(ring);
    CounterPage page;
    Merger merger(config, blocks, batches, sink, SystemClock::instance(), page);
    for (auto _ : state) {
        blocks.begin_round();
        while (merger.do_work() > 0) {
            BatchCompletion batch;
            while (ring.try_take(batch)) batches.give_back(batch.buffer);
        }
    }
    const auto n_fragments = merger.counters()[BuildCounter::fragments_merged];
    if (n_fragments !=
            static_cast<std::uint64_t>(state.iterations()) * n_boards * blocks_per_round * shape.max_fragments ||
        merger.counters()[BuildCounter::events_incomplete] != 0)
        state.SkipWithError("not all fragments were merged into complete events");
    state.counters["fragments/s"] = benchmark::Counter(static_cast<double>(n_fragments), benchmark::Counter::kIsRate);
    state.SetItemsProcessed(static_cast<std::int64_t>(n_fragments));
}
BENCHMARK(merge)
    ->ArgNames({"boards", "hits", "jitter"})
    ->Args({4, 5, 0})
    ->Args({4, 5, 2})
    ->Args({2, 10, 0})
    ->Args({4, 16, 0})
    ->Args({32, 5, 0});

}  // namespace

BENCHMARK_MAIN();
