// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "receive/unpacker.hpp"
#include "wire/mep.hpp"
#include "wire/tel62.hpp"

namespace anello::receive {

class MepUnpacker final : public Unpacker {
  public:
    static constexpr std::uint16_t supercell_board = 4;

    explicit MepUnpacker(const UnpackerConfig& config);
    wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                         PacketInfo& packet) noexcept override;

  private:
    wire::Verdict unpack_fragment(const wire::mep::FragmentView& fragment, FragmentWriter& writer) noexcept;
    static wire::Verdict write_hits(std::span<const wire::tel62::Hit> hits, std::uint32_t timestamp_ticks,
                                    const FragmentWriter::HitSpace& space) noexcept;

    wire::KnownSources known_;
    std::uint8_t board_;
    std::vector<wire::tel62::Hit> hits_;  ///< of one fragment; as many as the longest packet can hold
};

}  // namespace anello::receive
