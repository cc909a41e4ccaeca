// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "km3net/wire/clb.hpp"
#include "memory/persistent_buffers.hpp"
#include "memory/spsc_ring.hpp"

namespace anello::km3net {

namespace clb = wire::clb;

inline constexpr std::uint32_t max_datagrams = 512;     ///< of a DOM in a slice; 62,000 hits, 229 in each, need 271
inline constexpr std::uint32_t trailer_bit = 1U << 31;  ///< in status 2

/// Data of one DOM in a slice. Its hits are in the order in which datagrams arrived; `pieces` gives the hits of each
/// datagram, and is sorted by sequence number when the slice is passed on.
struct Frame {
    struct Piece {
        std::uint32_t sequence, first_hit, n_hits;
    };
    std::uint32_t n_received, n_numbers;  ///< data datagrams received; data datagrams sent, as far as is known
    std::uint32_t n_hits, n_pieces;
    std::uint32_t trailer_sequence;
    bool has_trailer, trailer_has_hits;
    std::uint32_t status1, status2;
    std::uint32_t run;  ///< from its first datagram
    std::bitset<max_datagrams> seen;
    Piece pieces[max_datagrams];

    bool is_absent() const noexcept { return n_received == 0 && !has_trailer; }
    /// Without trailers (short header) the number of datagrams sent is only a lower limit.
    bool is_complete(bool has_trailers) const noexcept {
        return (has_trailers ? has_trailer : n_received > 0) && n_received == n_numbers;
    }
    /// Clears the frame for a new slice. It leaves `pieces` as they are, because n_pieces = 0 makes them invalid.
    void clear() noexcept {
        n_received = n_numbers = n_hits = n_pieces = trailer_sequence = status1 = status2 = run = 0;
        has_trailer = trailer_has_hits = false;
        seen.reset();
    }
    void sort_pieces() noexcept { std::ranges::sort(std::span(pieces).first(n_pieces), {}, &Piece::sequence); }
    std::uint32_t n_datagrams() const noexcept { return n_received + (has_trailer && !trailer_has_hits ? 1 : 0); }
};

/// A slice has the data of all DOMs in 100 ms.
struct Slice {
    std::uint64_t number = 0;   ///< slices since 1970: the same number for all boards
    std::uint32_t run = 0;      ///< 0 while the slice is open, and when the DOMs do not agree on a run
    Nanoseconds opened_ns = 0;  ///< monotonic
    Nanoseconds opened_wall_ns = 0, last_wall_ns = 0, built_wall_ns = 0;  ///< last: arrival of its last datagram
    std::vector<Frame> frames;                                            ///< by DOM
};

class SliceStore;

struct SliceStoreConfig {
    std::uint32_t n_slices = 24;      ///< slices in memory: being built, or passed on and not given back
    std::uint32_t max_hits = 65'536;  ///< of a DOM in a slice
    bool has_trailers = true;         ///< boards send the long header, and a trailer at the end of a frame
    memory::Kind memory = memory::Kind::host;
    /// In virtual time: sees each slice (by its buffer) when it is passed on.
    std::function<void(SliceStore& slices, std::uint32_t buffer)> watch = nullptr;
};

/// Slices and the memory of their hits. A slice has one owner at a time and is named by the number of its buffer: the
/// slice builder passes it on, and the next stage gives it back.
class SliceStore {
  public:
    SliceStore(const SliceStoreConfig& config, std::uint32_t n_doms)
        : config_(config),
          full_(config.n_slices),
          slices_(config.n_slices),
          hits_({.n_buffers = config.n_slices,
                 .buffer_bytes = std::size_t{n_doms} * config.max_hits * clb::hit_bytes,
                 .kind = config.memory}) {
        for (Slice& slice : slices_) slice.frames.resize(n_doms);
    }

    Slice& slice(std::uint32_t buffer) noexcept { return slices_[buffer]; }
    /// Memory for the hits of one DOM, packed as on the wire.
    std::span<std::byte> hits(std::uint32_t buffer, std::uint32_t dom) noexcept {
        const std::size_t n_bytes = std::size_t{config_.max_hits} * clb::hit_bytes;
        return hits_.bytes(buffer).subspan(dom * n_bytes, n_bytes);
    }
    void pass_on(std::uint32_t buffer) noexcept {
        if (config_.watch) config_.watch(*this, buffer);
        full_.try_give(buffer);                                // never fails: the ring has a place for each buffer
        n_passed_on_.fetch_add(1, std::memory_order_release);  // pairs with the load in n_passed_on()
    }
    bool try_take(std::uint32_t& buffer) noexcept { return full_.try_take(buffer); }
    bool has_slices() const noexcept { return full_.size() > 0; }
    /// Any thread may call this. The load pairs with the one in pass_on().
    std::uint64_t n_passed_on() const noexcept { return n_passed_on_.load(std::memory_order_acquire); }
    const SliceStoreConfig& config() const noexcept { return config_; }
    memory::PersistentBuffers& buffers() noexcept { return hits_; }
    const memory::PersistentBuffers& buffers() const noexcept { return hits_; }

  private:
    const SliceStoreConfig config_;
    memory::SpscRing<std::uint32_t> full_;
    std::atomic<std::uint64_t> n_passed_on_{0};
    std::vector<Slice> slices_;
    memory::PersistentBuffers hits_;
};

}  // namespace anello::km3net
