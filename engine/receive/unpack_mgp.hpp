// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/unpacker.hpp"
#include "wire/mgp.hpp"

namespace anello::receive {

class MgpUnpacker final : public Unpacker {
  public:
    explicit MgpUnpacker(const UnpackerConfig& config) noexcept;
    wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                         PacketInfo& packet) noexcept override;

  private:
    wire::Verdict unpack_events(const wire::mgp::PacketView& view, FragmentWriter& writer) const noexcept;
    bool unpack_hits(const wire::mgp::EventReader& reader, const wire::mgp::EventView& event, bool with_time,
                     const FragmentWriter::HitSpace& space) const noexcept;

    std::uint16_t source_id_;
    std::uint16_t first_id_;
};

}  // namespace anello::receive
