// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "stream/ring/bell_line.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/ring/ring_memory.hpp"

namespace anello::stream {

/// Shared, since both ends may be in one process, and then use one mapping.
using SharedRing = std::shared_ptr<const RingMemory>;

/// A sending end in memory that it shares with the receiver.
class SharedSendEnd final : public SendEnd {
  public:
    SharedSendEnd(SharedRing ring, SharedLine line);

    std::byte* bytes() const noexcept override { return ring_->bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_->size_bytes(); }
    std::shared_ptr<const void> memory() const noexcept override { return ring_; }
    int descriptor() const noexcept override { return bell_.descriptor(); }
    void quiet_bell() noexcept override { bell_.quiet(); }
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return bell_.line().peer_alive(); }
    void hang_up() noexcept override { bell_.line().hang_up(); }
    bool publish(std::uint64_t head) noexcept override;
    std::uint64_t tail() noexcept override;
    bool peer_closed() noexcept override;
    void end() noexcept override;
    void ask_for_bell(std::size_t n_bytes) noexcept override;

  private:
    SharedRing ring_;
    RingHeader& header_;
    Bell bell_;
};

/// A receiving end in memory that it shares with the sender.
class SharedReceiveEnd final : public ReceiveEnd {
  public:
    SharedReceiveEnd(SharedRing ring, SharedLine line);

    std::byte* bytes() const noexcept override { return ring_->bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_->size_bytes(); }
    std::shared_ptr<const void> memory() const noexcept override { return ring_; }
    int descriptor() const noexcept override { return bell_.descriptor(); }
    void quiet_bell() noexcept override { bell_.quiet(); }
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return bell_.line().peer_alive(); }
    void hang_up() noexcept override { bell_.line().hang_up(); }
    std::uint64_t head() noexcept override;
    bool peer_ended() noexcept override;
    bool release(std::uint64_t tail, std::size_t n_free) noexcept override;
    void close() noexcept override;
    void ask_for_bell() noexcept override;

  private:
    SharedRing ring_;
    RingHeader& header_;
    Bell bell_;
};

}  // namespace anello::stream
