// SPDX-License-Identifier: Apache-2.0
#include "rich/source/event_pool.hpp"

#include <algorithm>
#include <array>

#include "core/errors.hpp"
#include "wire/mgp.hpp"

namespace anello::rich {
namespace {

namespace mgp = wire::mgp;

constexpr std::size_t max_hits_per_fragment = 255;

}  // namespace

EventPool::EventPool(const EventSample& sample, Format format, bool hit_times)
    : n_events_(sample.n_events()), format_(format), hit_times_(hit_times) {
    if (n_events_ == 0) throw ConfigError("n_pool_events", "must be at least 1", "0", "Simulate or read some events");
    entries_.reserve(std::size_t{n_events_} * n_boards);
    for (std::uint32_t event = 0; event < n_events_; ++event)
        format == Format::mgp ? add_mgp(sample.hits_of(event)) : add_mep(sample.hits_of(event));
    bytes_.resize(bytes_.size() + slack_bytes);
    bytes_.shrink_to_fit();
}

void EventPool::add_mgp(std::span<const SampleHit> hits) {
    std::array<std::byte, mgp::event_header_bytes + 2 * max_hits_per_fragment> encoded;
    std::array<mgp::Hit, max_hits_per_fragment> of_board;
    for (std::uint32_t board = 0; board < n_boards; ++board) {
        std::size_t n_hits = 0;
        for (const SampleHit& hit : hits)
            if (board_of(hit.pmt) == board)
                of_board[n_hits++] = {static_cast<std::uint16_t>(channel_of(hit.pmt)), hit.time_fine};
        const std::size_t n_bytes = mgp::write_event(encoded, 0, 0, std::span(of_board).first(n_hits), hit_times_);
        entries_.push_back({static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint16_t>(n_bytes),
                            static_cast<std::uint16_t>(n_hits)});
        bytes_.insert(bytes_.end(), encoded.begin(), encoded.begin() + static_cast<std::ptrdiff_t>(n_bytes));
        max_fragment_bytes_ = std::max(max_fragment_bytes_, n_bytes);
    }
}

void EventPool::add_mep(std::span<const SampleHit> hits) {
    for (std::uint32_t board = 0; board < n_boards; ++board) {
        const std::size_t begin = hits_.size();
        for (const SampleHit& hit : hits)
            if (board_of(hit.pmt) == board)
                hits_.push_back({static_cast<std::uint16_t>(readout_channel_of(hit.pmt)), hit.time_fine});
        const std::size_t n_hits = hits_.size() - begin;
        entries_.push_back({static_cast<std::uint32_t>(begin), 0, static_cast<std::uint16_t>(n_hits)});
        // Fragment header, board header, four FPGA headers; in the worst case each hit needs its own frame.
        max_fragment_bytes_ = std::max(max_fragment_bytes_, 8 + 4 + 4 * std::size_t{4} + 8 * n_hits);
    }
}

}  // namespace anello::rich
