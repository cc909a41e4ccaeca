// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "card_events.hpp"
#include "events/merger.hpp"
#include "receive/boards/burst_follower.hpp"
#include "receive/boards/mgp_unpacker.hpp"

/// Sends datagrams through Anello's own parser, burst follower and merger.
namespace software {

using anello::Nanoseconds;
namespace receive = anello::receive;
namespace events = anello::events;

struct Fragment {
    std::uint32_t timestamp_ticks;
    std::uint8_t fine_time;
    std::vector<std::uint16_t> hit_id;
    std::vector<std::int16_t> hit_time_fine;
};

/// Content of one datagram: fragments, or an end of burst (no fragments).
struct Block {
    std::vector<Fragment> fragments;
    std::uint32_t burst_id = 0;
    bool is_end = false;
    Nanoseconds stamp = 0;
};

/// Turns one board's datagrams into blocks; the fragments of a packet make one block.
class Parser {
  public:
    Parser(std::uint32_t source_id, std::uint16_t board)
        : unpacker_({.source_id = static_cast<std::uint16_t>(source_id),
                     .first_hit_id = static_cast<std::uint16_t>(board * 488),
                     .n_channels = 488}),
          memory_(receive::block_bytes(shape_)) {}

    anello::wire::Verdict parse(std::span<const std::byte> datagram, Nanoseconds stamp, std::vector<Block>& blocks) {
        receive::FragmentColumns columns = receive::columns_of(memory_, shape_);
        receive::FragmentWriter writer;
        writer.open(columns, shape_);
        receive::PacketInfo packet;
        const anello::wire::Verdict verdict = unpacker_.unpack(datagram, writer, packet);
        if (verdict != anello::wire::Verdict::ok) return verdict;
        const bool is_new = bursts_.is_new(packet.burst_id);
        if (is_new) {
            if (bursts_.has_burst() && bursts_.note_end(bursts_.burst_id()))
                blocks.push_back({{}, bursts_.burst_id(), true, stamp});
            bursts_.enter(packet.burst_id);
        }
        if (packet.kind == receive::PacketKind::end_of_burst && bursts_.note_end(packet.burst_id))
            blocks.push_back({{}, packet.burst_id, true, stamp});
        if (packet.kind != receive::PacketKind::data) return verdict;
        writer.commit(0, 0, 0);
        Block block{{}, packet.burst_id, false, stamp};
        for (std::uint32_t i = 0; i < writer.n_fragments(); ++i) {
            const std::uint32_t begin = columns.hit_begin[i], end = columns.hit_begin[i + 1];
            block.fragments.push_back({columns.timestamp_ticks[i],
                                       columns.fine_time[i],
                                       {columns.hit_id + begin, columns.hit_id + end},
                                       {columns.hit_time_fine + begin, columns.hit_time_fine + end}});
        }
        blocks.push_back(std::move(block));
        return verdict;
    }

  private:
    static constexpr receive::BlockShape shape_{.max_fragments = 12'000, .max_hits = 70'000, .max_packets = 4};
    receive::MgpUnpacker unpacker_;
    receive::BurstFollower bursts_;
    std::vector<std::byte> memory_;
};

/// Gives blocks in memory to the merger as its input.
class Source final : public events::BlockSource {
  public:
    explicit Source(std::uint32_t n_boards) : ready_(n_boards) {}
    void give(std::uint32_t board, const Block& block) {
        auto held = std::make_unique<Held>();
        held->hit_begin.push_back(0);
        bool sorted = true;
        for (const Fragment& f : block.fragments) {
            if (!held->ticks.empty()) {
                const auto apart = static_cast<std::int32_t>(f.timestamp_ticks - held->ticks.back());
                sorted = sorted && (apart > 0 || (apart == 0 && f.fine_time >= held->fine.back()));
            }
            held->ticks.push_back(f.timestamp_ticks);
            held->fine.push_back(f.fine_time);
            held->hit_id.insert(held->hit_id.end(), f.hit_id.begin(), f.hit_id.end());
            held->time.insert(held->time.end(), f.hit_time_fine.begin(), f.hit_time_fine.end());
            held->hit_begin.push_back(static_cast<std::uint32_t>(held->hit_id.size()));
        }
        held->packet.push_back({0, 0, 0, 0});
        ready_[board].push_back(
            {.stream = static_cast<std::uint16_t>(board),
             .reason = block.is_end ? receive::CloseReason::end_of_burst : receive::CloseReason::size,
             .sorted = sorted,
             .buffer = static_cast<std::uint32_t>(blocks_.size()),
             .burst_id = block.burst_id,
             .n_fragments = static_cast<std::uint32_t>(block.fragments.size()),
             .n_hits = held->hit_begin.back(),
             .n_packets = 1,
             .opened_ns = 0,
             .closed_ns = 0,
             .given_ns = block.stamp,
             .burst_origin_ns = 0});
        blocks_.push_back(std::move(held));
    }
    bool try_take(std::uint32_t board, receive::Completion& completion) noexcept override {
        if (ready_[board].empty()) return false;
        completion = ready_[board].front();
        ready_[board].pop_front();
        return true;
    }
    Nanoseconds read_until_ns(std::uint32_t) const noexcept override { return read_until; }
    bool is_wanted(std::uint32_t) const noexcept override { return true; }  // this input is never short of memory
    receive::FragmentColumns columns(std::uint32_t, std::uint32_t buffer) noexcept override {
        Held& held = *blocks_[buffer];
        return {held.ticks.data(),  held.fine.data(), held.hit_begin.data(),
                held.hit_id.data(), held.time.data(), held.packet.data()};
    }
    void give_back(std::uint32_t, std::uint32_t buffer) noexcept override { blocks_[buffer].reset(); }
    bool has(std::uint32_t board) const { return !ready_[board].empty(); }

    Nanoseconds read_until = 0;

  private:
    struct Held {
        std::vector<std::uint32_t> ticks, hit_begin;
        std::vector<std::uint8_t> fine;
        std::vector<std::uint16_t> hit_id;
        std::vector<std::int16_t> time;
        std::vector<receive::PacketStamp> packet;
    };
    std::vector<std::deque<receive::Completion>> ready_;
    std::vector<std::unique_ptr<Held>> blocks_;
};

/// Merger, batches and clock; a cycle of the card counts as a nanosecond.
class Path {
  public:
    explicit Path(const events::MergerConfig& config)
        : source(config.n_boards),
          buffers_({.n_buffers = 8, .buffer_bytes = events::batch_bytes(config.batch)}),
          ring_(8),
          sink_(ring_),
          shape_(config.batch),
          merger(config, source, buffers_, sink_, clock, page_) {}

    /// Makes one step, which may hand on at most n_batches: if a batch has one event, each is an event or an end of
    /// burst. Back-pressure stops further ones, as in any run.
    void step(std::size_t n_batches) {
        for (std::uint32_t buffer = 0; buffers_.try_take_free(buffer);) held_.push_back(buffer);
        for (std::size_t i = 0; i < n_batches; ++i) give_back_held();
        merger.do_work();
        read_batches();
    }
    void work() {
        while (merger.do_work() > 0) read_batches();
        read_batches();
    }
    bool finish() {
        while (!held_.empty()) give_back_held();
        merger.finish();
        for (int i = 0; i < 100'000 && !merger.is_drained(); ++i) {
            work();
            clock.advance(1'000'000);
            source.read_until = clock.monotonic_ns();
        }
        read_batches();
        return merger.is_drained();
    }
    std::uint64_t value(events::BuildCounter counter) const { return merger.counters()[counter]; }

    anello::ManualClock clock{0};
    Source source;
    std::vector<card::Event> found;

  private:
    void give_back_held() {
        buffers_.give_back(held_.back());
        held_.pop_back();
    }
    void read_batches() {
        events::BatchCompletion batch;
        while (ring_.try_take(batch)) {
            const events::BatchColumns c = events::columns_of(buffers_.bytes(batch.buffer), shape_);
            for (std::uint32_t e = 0; e < batch.n_events; ++e)
                found.push_back({c.event_key[e],
                                 c.fine_time[e],
                                 c.flags[e],
                                 c.missing_boards[e],
                                 {c.hit_id + c.hit_offset[e], c.hit_id + c.hit_offset[e + 1]},
                                 {c.hit_time_fine + c.hit_offset[e], c.hit_time_fine + c.hit_offset[e + 1]}});
            buffers_.give_back(batch.buffer);
        }
    }

    anello::CounterPage page_;
    anello::memory::PersistentBuffers buffers_;
    anello::memory::SpscRing<events::BatchCompletion> ring_;
    events::RingSink sink_;
    events::BatchShape shape_;
    std::vector<std::uint32_t> held_;  ///< buffers that are withheld from the merger

  public:
    events::Merger merger;
};

}  // namespace software
