// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "receive/unpacker.hpp"
#include "wire/clb.hpp"

namespace anello::receive {

class ClbUnpacker final : public Unpacker {
  public:
    explicit ClbUnpacker(const UnpackerConfig& config) noexcept : dom_id_(config.source_id) {}
    wire::Verdict unpack(std::span<const std::byte> datagram, FragmentWriter& writer,
                         PacketInfo& packet) noexcept override;

  private:
    std::uint32_t dom_id_;  ///< 0 = any
};

}  // namespace anello::receive
