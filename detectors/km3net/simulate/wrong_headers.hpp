// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "km3net/wire/clb.hpp"
#include "simulate/chain_troubles.hpp"
#include "source/sinks/packet_sink.hpp"

namespace anello::km3net {

/// Stands between the boards and the wire, and writes wrong times or runs into the headers of one board's datagrams.
class WrongHeaders final : public source::PacketSink {
  public:
    /// The board sends its slices from first_slice on. The sink must outlive the object.
    WrongHeaders(const simulate::ChainTroubles& troubles, std::uint64_t first_slice, source::PacketSink& sink);

    void send(std::span<const source::OutgoingDatagram> datagrams, Nanoseconds now_ns,
              source::SendResult* results) noexcept override;
    /// True when a header of this board was written wrongly.
    bool has_changed(std::uint32_t board) const noexcept { return has_changed_ && board == board_; }

  private:
    std::uint64_t slice_of(const source::OutgoingDatagram& datagram) const noexcept;
    void change(std::span<std::byte> bytes, std::uint64_t slice) const noexcept;

    const simulate::WrongHeader kind_;
    const std::uint32_t board_;
    const std::uint64_t by_slices_, first_slice_, from_slice_, end_slice_;
    source::PacketSink& sink_;
    std::vector<std::vector<std::byte>> copies_;
    std::vector<source::OutgoingDatagram> out_;
    bool has_changed_ = false;
};

}  // namespace anello::km3net
