// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/counters/counters.hpp"
#include "core/range_log.hpp"
#include "km3net/detector.hpp"
#include "km3net/slices/slice.hpp"
#include "km3net/slices/slice_counters.hpp"
#include "pipeline/datagram_intake.hpp"
#include "receive/numbers/board_source.hpp"
#include "wire/verdict.hpp"

namespace anello::km3net {

struct SliceBuilderConfig {
    std::uint32_t run = 1;  ///< 0: each slice has the run that at least half of its DOMs report
    std::size_t header_bytes() const noexcept {
        return store.has_trailers ? clb::long_header_bytes : clb::header_bytes;
    }
    std::uint32_t window_slices = 8;   ///< number of slices that may be open at a time
    std::uint32_t max_lag_slices = 3;  ///< a slice is passed on when half of the DOMs are this many beyond
    SliceStoreConfig store = {};
    std::uint32_t first_dom = 0;  ///< number in the line of this node's first DOM; not 0 in a farm
    /// A slice is passed on when all datagrams that arrived up to this long after its first one have been read.
    Nanoseconds timeout_ns = 1'000'000'000;
    bool waits = true;  ///< without a free buffer datagrams stay in the kernel; false: read and dropped
    std::vector<receive::SourceAddress> sources = {};  ///< by DOM; empty: the first sender is the board
};

/// For the ledger: numbers of a DOM's datagrams that are in slices, and of those that were not used, by cause (a
/// DomCounter). An epoch is the lower half of a slice's number. Read it only after the thread has ended.
struct DatagramLog {
    explicit DatagramLog(std::size_t max_ranges) : seen(max_ranges), unused(max_ranges) {}
    void add_seen(std::uint64_t slice, std::uint32_t sequence) noexcept {
        seen.add(static_cast<std::uint32_t>(slice), sequence, std::uint64_t{sequence} + 1);
    }
    void add_unused(std::uint64_t slice, std::uint32_t sequence, DomCounter why) noexcept {
        unused.add(static_cast<std::uint32_t>(slice), sequence, std::uint64_t{sequence} + 1,
                   static_cast<std::uint32_t>(why));
    }
    RangeLog seen, unused;
};

/// Builds slices of all DOMs and passes them on in order of time, each once: when it is complete, when half of the DOMs
/// are beyond it, or after a timeout. Fewer than half of the DOMs can neither move the window nor change the run.
class SliceBuilder final : public pipeline::DatagramUser {
  public:
    /// DOMs, clock and page must outlive the builder. Counters: "build", "build.verdict", "build.board<d>". Throws
    /// ConfigError.
    SliceBuilder(const SliceBuilderConfig& config, std::span<const Dom> doms, const Clock& clock, CounterPage& page);

    // Hot path: no allocation, no lock, no log, no throw.
    /// True when there are enough free buffers for all slices of the window. Otherwise datagrams should wait, until the
    /// next stage gives a buffer back: where it has none, there are enough.
    bool has_room() noexcept override {
        if (!config_.waits) return true;
        const std::size_t n_free = store_.buffers().n_free();
        return n_free >= 2 && n_open_ + n_free >= config_.window_slices;
    }
    void place(const receive::Datagram& datagram) noexcept;
    /// Passes on the slices that are due, and returns their number. All datagrams received until read_until_ns were
    /// placed.
    std::size_t pass_on(Nanoseconds read_until_ns) noexcept;
    void begin_batch(Nanoseconds now_ns) noexcept override { now_ns_ = now_ns; }
    void use(const receive::Datagram& datagram) noexcept override { place(datagram); }
    std::size_t end_batch(Nanoseconds read_until_ns) noexcept override { return pass_on(read_until_ns); }
    Nanoseconds longest_wait_ns() const noexcept override { return n_open_ > 0 ? usual_wait_ns : longest_idle_ns; }
    void finish() noexcept override;  ///< At the end of the run: passes on all open slices.

    /// One thread of the next stage takes slices from the store.
    SliceStore& store() noexcept { return store_; }
    const SliceStore& store() const noexcept { return store_; }

    // Any thread may call this.
    bool is_silent(std::uint32_t dom) const noexcept { return doms_[dom].silent.load(std::memory_order_relaxed); }
    receive::Speakers speakers(std::uint32_t dom) const noexcept { return doms_[dom].source.speakers(); }
    const Counters<DomCounter>& dom_counters(std::uint32_t dom) const noexcept { return doms_[dom].counters; }
    const Counters<SliceCounter>& counters() const noexcept { return counters_; }
    const SliceBuilderConfig& config() const noexcept { return config_; }
    std::uint32_t n_doms() const noexcept { return static_cast<std::uint32_t>(doms_.size()); }
    const DatagramLog& log(std::uint32_t dom) const noexcept { return doms_[dom].log; }

  private:
    static constexpr std::uint32_t none = ~0U;
    struct DomState {
        DomState(Counters<DomCounter> its_counters, std::size_t max_ranges) : counters(its_counters), log(max_ranges) {}
        Counters<DomCounter> counters;
        DatagramLog log;
        std::uint64_t newest = 0;  ///< slice of its last datagram
        std::uint32_t run = 0;     ///< run of its last datagram
        receive::BoardSource source;
        std::atomic<bool> silent{true};  ///< until its first datagram
    };
    bool reject_stranger(std::uint32_t dom, receive::SourceAddress source) noexcept;
    std::optional<DomCounter> reject(const clb::Header& header, std::uint64_t slice) const noexcept;
    DomCounter place_in_window(std::uint32_t dom, const clb::PacketView& packet, std::uint64_t slice) noexcept;
    DomCounter add(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept;
    bool has_same(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept;
    DomCounter add_hits(std::uint32_t buffer, std::uint32_t dom, const clb::PacketView& packet) noexcept;
    bool open(std::uint64_t slice) noexcept;
    void hear(std::uint32_t dom, std::uint64_t slice) noexcept;
    void sort_newest() noexcept;
    std::size_t n_half() const noexcept { return (doms_.size() + 1) / 2; }
    void follow_half() noexcept;
    void settle() noexcept;
    void settle_at(std::uint64_t latest) noexcept;
    void revoke(std::uint32_t buffer, std::uint32_t dom, DomCounter why) noexcept;
    bool is_due() noexcept;
    bool is_whole(const Slice& slice) const noexcept;
    void pass_on_oldest() noexcept;
    void settle_run(std::uint32_t buffer) noexcept;
    void vote(const Slice& slice) noexcept;
    void count_frames(std::uint32_t buffer) noexcept;
    void log_frame(DomState& dom, const Frame& frame, std::uint64_t slice) noexcept;
    void look_for_silence() noexcept;
    std::uint32_t& position_of(std::uint64_t slice) noexcept { return window_[slice % window_.size()]; }
    Nanoseconds oldest_opened_ns() noexcept;

    const SliceBuilderConfig config_;
    const Clock& clock_;
    DomIndex index_;
    SliceStore store_;
    Counters<SliceCounter> counters_;
    Counters<wire::Verdict> verdicts_;
    std::deque<DomState> doms_;          // a deque, because DomState cannot be moved
    std::vector<std::uint32_t> window_;  ///< buffer of each open slice, by slice number modulo the window's length
    std::vector<std::uint64_t> newest_;  ///< newest slice of each DOM, in descending order
    std::uint32_t n_open_ = 0;
    std::optional<std::uint32_t> run_;   ///< of the last slice that was passed on
    std::vector<std::uint32_t> votes_;   ///< scratch: the run of each DOM
    bool settled_ = false;               ///< half of the DOMs have agreed on a time
    bool has_passed_on_ = false;         ///< a slice
    std::uint64_t base_ = 0, half_ = 0;  ///< oldest slice that may be open; slice that half of the DOMs have reached
    Nanoseconds now_ns_;                 ///< time at which the batch of datagrams was received
    Nanoseconds read_until_ns_;          ///< all datagrams received until then were placed
};

}  // namespace anello::km3net
