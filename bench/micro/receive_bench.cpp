// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "receive/boards/mgp_unpacker.hpp"
#include "receive/boards/receiver.hpp"
#include "wire/bytes.hpp"
#include "wire/mgp.hpp"

/// What one core takes from datagrams in memory to blocks: parsing, unpacking, sequence, counters, completions. No
/// socket, no copy from the kernel. A "fragment" is one board's part of one event, with 5 or 20 hits.
namespace anello::receive {
namespace {

namespace mgp = wire::mgp;
using Bytes = std::vector<std::byte>;

Bytes make_packet(std::size_t n_bytes_at_most, std::uint32_t n_hits, std::uint8_t flags) {
    Bytes packet(n_bytes_at_most);
    std::vector<mgp::Hit> hits(n_hits);
    for (std::uint32_t i = 0; i < n_hits; ++i) hits[i] = {static_cast<std::uint16_t>(i * 97 % 488), 4};
    std::size_t used = mgp::header_bytes;
    mgp::Header header;
    header.flags = flags;
    const bool with_time = (flags & mgp::hits_with_time) != 0;
    for (;; ++header.n_events) {
        const std::size_t n_bytes =
            mgp::write_event(std::span(packet).subspan(used), header.n_events * 100U, 0, hits, with_time);
        if (n_bytes == 0) break;
        used += n_bytes;
    }
    packet.resize(mgp::seal(packet, header, used - mgp::header_bytes));
    return packet;
}

/// Lends the same packets again and again, each with the next sequence number.
class MemoryBackend final : public Backend {
  public:
    explicit MemoryBackend(const Bytes& packet) : packets_(256, packet) {}
    std::size_t n_streams() const noexcept override { return 1; }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<Datagram> batch) noexcept override {
        const std::size_t n_lent = std::min(batch.size(), packets_.size());
        for (std::size_t i = 0; i < n_lent; ++i) {
            wire::store_le(packets_[i].data() + 12, sequence_++);
            batch[i] = {.bytes = packets_[i], .stream = 0, .cut = false, .kernel_ns = 0};
        }
        return n_lent;
    }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t) const noexcept override { return true; }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return 0; }
    std::string describe() const override { return "memory"; }

  private:
    std::vector<Bytes> packets_;
    std::uint32_t sequence_ = 0;
};

void receive_from_memory(benchmark::State& state, std::uint8_t flags) {
    const Bytes packet =
        make_packet(static_cast<std::size_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)), flags);
    CounterPage page;
    const StreamCounters counters{page.add_block<ReceiveCounter>("receive"), page.add_block<wire::Verdict>("verdict")};
    BlockStream blocks({}, 16);
    std::vector<std::unique_ptr<StreamReceiver>> streams;
    streams.push_back(std::make_unique<StreamReceiver>(StreamConfig{}, std::uint16_t{0},
                                                       std::make_unique<MgpUnpacker>(MgpBoard{}), blocks, counters,
                                                       SystemClock::instance()));
    Receiver receiver(std::make_unique<MemoryBackend>(packet), std::move(streams), SystemClock::instance(), 8);
    std::uint64_t n_taken = 0;
    const auto take_all = [&] {
        for (Completion completion; blocks.try_take(completion); n_taken += completion.n_fragments)
            blocks.give_back(completion.buffer);
    };
    for (auto _ : state) {
        receiver.do_work();
        take_all();
    }
    receiver.finish();
    take_all();
    if (n_taken != counters.stream[ReceiveCounter::fragments] || counters.stream[ReceiveCounter::dropped_packets] != 0)
        state.SkipWithError("packets were dropped");
    using benchmark::Counter;
    const auto rate = [&](ReceiveCounter c) {
        return Counter(static_cast<double>(counters.stream[c]), Counter::kIsRate);
    };
    state.counters["datagrams"] = rate(ReceiveCounter::packets);
    state.counters["fragments"] = rate(ReceiveCounter::fragments);
    state.counters["hits"] = rate(ReceiveCounter::hits);
    state.SetBytesProcessed(static_cast<std::int64_t>(counters.stream[ReceiveCounter::bytes]));
}

void packed_hits(benchmark::State& state) {
    receive_from_memory(state, 0);
}
void timed_hits(benchmark::State& state) {
    receive_from_memory(state, mgp::hits_with_time);
}
BENCHMARK(packed_hits)
    ->ArgNames({"bytes", "hits"})
    ->Args({1472, 5})
    ->Args({1472, 20})
    ->Args({8972, 5})
    ->Args({8972, 20});
BENCHMARK(timed_hits)->ArgNames({"bytes", "hits"})->Args({1472, 5})->Args({8972, 5})->Args({8972, 20});

}  // namespace
}  // namespace anello::receive

BENCHMARK_MAIN();
