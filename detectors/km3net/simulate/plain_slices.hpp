// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "km3net/slices/slice_builder.hpp"
#include "receive/datagrams/backend.hpp"

namespace anello::km3net {

/// What the datagrams of one DOM say of one slice.
struct PlainFrame {
    static constexpr std::size_t hit_bytes = 6;
    std::map<std::uint32_t, std::vector<std::byte>> hits;  ///< by the number of the datagram, packed as on the wire
    std::optional<std::uint32_t> trailer;                  ///< its number
    bool trailer_has_hits = false;
    std::uint32_t status1 = 0, status2 = 0, run = 0;

    bool is_absent() const noexcept { return hits.empty() && !trailer; }
    /// Data datagrams that the board sent, as far as is known.
    std::uint32_t n_numbers() const noexcept {
        return std::max(hits.empty() ? 0 : hits.rbegin()->first + 1, trailer.value_or(0));
    }
    bool is_complete(bool has_trailers) const noexcept {
        return (has_trailers ? trailer.has_value() : !hits.empty()) && hits.size() == n_numbers();
    }
    std::uint64_t n_datagrams() const noexcept { return hits.size() + (trailer && !trailer_has_hits ? 1 : 0); }
    std::uint32_t n_hits() const noexcept;
};

struct PlainSlice {
    std::uint64_t number = 0;
    Nanoseconds opened_ns = 0;
    std::uint32_t run = 0;
    std::vector<PlainFrame> frames;  ///< by DOM
};

/// Builds slices a second time, by the rules of docs/reference/km3net.md, from the datagrams that the node read and in
/// their order. It shares no code with the slice builder and has no regard for speed. Each slice that the builder
/// passes on is compared with its own one; at the end the fate of each datagram is compared with the counters.
class PlainSlices {
  public:
    /// What a correct builder passed on; called for each slice.
    using Use = std::function<void(const PlainSlice&)>;
    /// n_given_back: number of slices whose buffers the trigger has given back.
    using Count = std::function<std::uint64_t()>;
    PlainSlices(const SliceBuilderConfig& rules, std::span<const Dom> doms, Use use, Count n_given_back);

    /// The node read these datagrams; none: all streams are empty.
    void read(std::span<const receive::Datagram> datagrams, Nanoseconds now_ns);
    void pass_on(SliceStore& slices, std::uint32_t buffer, Nanoseconds now_ns);  ///< The builder passes this slice on.
    void begin_end() noexcept { is_ending_ = true; }                             ///< The node drains from now on.
    /// After the node has ended: compares all counters.
    void end(const CounterPage& page, Nanoseconds now_ns);

    const std::vector<std::string>& wrong() const noexcept { return wrong_; }
    std::uint64_t n_slices() const noexcept { return n_slices_; }
    std::uint64_t n_complete() const noexcept { return n_complete_; }

  private:
    using Counts = std::array<std::uint64_t, static_cast<std::size_t>(DomCounter::count)>;
    struct Read {
        std::uint32_t stream;
        std::vector<std::byte> bytes;
    };
    struct Datagram;
    struct DomState {
        std::uint32_t id = 0, run = 0;
        std::uint64_t newest = 0;
        bool is_silent = true;
        Counts counts{};
    };
    struct Values;

    static std::optional<Datagram> parsed(std::span<const std::byte> bytes, std::size_t header_bytes);
    std::optional<std::uint32_t> dom_of(std::uint32_t id) const noexcept;
    void place_pending();
    void place_next();
    /// nullopt: it is in an open slice.
    std::optional<DomCounter> place(std::uint32_t dom, const Datagram& datagram);
    std::optional<DomCounter> rejected(const Datagram& datagram) const;
    std::optional<DomCounter> place_in(PlainFrame& frame, const Datagram& datagram) const;
    bool has_place(std::uint64_t number) const;
    bool has_buffer() const;
    PlainSlice& opened(std::uint64_t number);
    void hear(std::uint32_t dom, const Datagram& datagram);
    std::vector<std::uint64_t> newest_first() const;
    std::size_t n_half() const noexcept { return (doms_.size() + 1) / 2; }
    void follow_half();
    void settle();
    void settle_at(std::uint64_t latest);
    void drop(PlainSlice& slice, std::uint32_t dom, DomCounter why);
    bool is_whole(const PlainSlice& slice) const;
    bool is_oldest_whole() const;
    Nanoseconds oldest_opened_ns(Nanoseconds now_ns) const;
    void pass_on_oldest();
    void pass_on_until(std::uint64_t number, Nanoseconds now_ns);
    void settle_run(PlainSlice& slice);
    std::optional<std::uint32_t> voted(const PlainSlice& slice) const;
    void count(const PlainSlice& slice);
    void look_for_silence();
    void look_for_forgotten(Nanoseconds now_ns);
    void compare(SliceStore& slices, std::uint32_t buffer, const PlainSlice& expected);
    void compare_frame(const Slice& slice, std::uint32_t dom, std::span<const std::byte> hits,
                       const PlainFrame& expected);
    void complain(std::string what);

    const SliceBuilderConfig rules_;
    const Use use_;
    const Count n_given_back_;
    std::vector<DomState> doms_;
    std::deque<Read> pending_;  ///< of the batch that the builder has read
    std::map<std::uint64_t, PlainSlice> open_;
    std::deque<PlainSlice> due_;          ///< must be passed on now
    std::uint64_t base_ = 0, first_ = 0;  ///< oldest slice that may be open; first one, for words
    bool is_settled_ = false, is_ending_ = false, is_empty_ = false, is_lost_ = false;
    std::optional<std::uint32_t> run_;
    Nanoseconds batch_ns_ = 0, last_read_ns_ = 0, gap_ns_ = 0;
    std::uint64_t n_slices_ = 0, n_complete_ = 0, n_missing_ = 0, n_hits_ = 0, n_well_formed_ = 0, n_malformed_ = 0;
    std::uint64_t n_given_back_at_read_ = 0;
    std::vector<std::string> wrong_;
};

}  // namespace anello::km3net
