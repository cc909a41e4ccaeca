// SPDX-License-Identifier: Apache-2.0
#include "km3net/simulate/wrong_headers.hpp"

#include "km3net/detector.hpp"
#include "wire/bytes.hpp"

namespace anello::km3net {
namespace {

constexpr std::size_t run_at = 4, utc_s_at = 12, ticks_at = 16, status_at = 24, n_changed_bytes = 28;
constexpr std::uint32_t some_ticks = 625, other_run = 77;

void set_slice(std::span<std::byte> bytes, std::uint64_t slice) noexcept {
    wire::store_be(bytes.data() + utc_s_at, static_cast<std::uint32_t>(slice / slices_per_second));
    wire::store_be(bytes.data() + ticks_at, static_cast<std::uint32_t>(slice % slices_per_second) * ticks_per_slice);
}

}  // namespace

WrongHeaders::WrongHeaders(const simulate::ChainTroubles& troubles, std::uint64_t first_slice, source::PacketSink& sink)
    : kind_(troubles.wrong_header),
      board_(troubles.wrong_board),
      by_slices_(troubles.wrong_by_steps),
      first_slice_(first_slice),
      from_slice_(first_slice + troubles.wrong_from_step),
      end_slice_(from_slice_ + troubles.n_wrong_steps),
      sink_(sink) {}

void WrongHeaders::send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds now_ns,
                        source::SendResult* results) noexcept {
    out_.assign(datagrams.begin(), datagrams.end());
    copies_.clear();
    for (source::OutgoingDatagram& datagram : out_) {
        const std::uint64_t slice = slice_of(datagram);
        const bool is_wrong = datagram.stream == board_ && slice >= from_slice_ && slice < end_slice_;
        if (kind_ == simulate::WrongHeader::none || !is_wrong || datagram.bytes.size() < n_changed_bytes) continue;
        datagram.bytes = copies_.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
        change(copies_.back(), slice);
        has_changed_ = true;
    }
    sink_.send(out_, now_ns, results);
}

/// The epoch of a datagram is the lower half of its slice's number.
std::uint64_t WrongHeaders::slice_of(const source::OutgoingDatagram& datagram) const noexcept {
    return first_slice_ + (datagram.epoch - static_cast<std::uint32_t>(first_slice_));
}

void WrongHeaders::change(std::span<std::byte> bytes, std::uint64_t slice) const noexcept {
    using Kind = simulate::WrongHeader;
    switch (kind_) {
        case Kind::none:
            return;
        case Kind::ahead:
            return set_slice(bytes, slice + by_slices_);
        case Kind::behind:
            return set_slice(bytes, slice - by_slices_);
        case Kind::stands:
            return set_slice(bytes, from_slice_);
        case Kind::not_valid:
            return wire::store_be(bytes.data() + status_at, std::uint32_t{0});
        case Kind::between:
            return wire::store_be(bytes.data() + ticks_at,
                                  wire::load_be<std::uint32_t>(bytes.data() + ticks_at) + some_ticks);
        case Kind::other_run:
            return wire::store_be(bytes.data() + run_at, other_run);
    }
}

}  // namespace anello::km3net
