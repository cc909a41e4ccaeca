// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/kernel_handle.hpp"
#include "stream/ring_ends.hpp"
#include "stream/ring_memory.hpp"

namespace anello::stream {

/// The control socket of a stream, which both directions watch.
using ControlSocket = std::shared_ptr<const Descriptor>;
/// Both ends may lie in one process, and then in one mapping.
using SharedRing = std::shared_ptr<const RingMemory>;

/// Rung through an event descriptor; poll() of one descriptor tells of the bell and of the peer's end.
class Bell {
  public:
    /// `heard` is rung by the peer, `control` hangs up when it is gone. Throws SystemError.
    Bell(Descriptor heard, ControlSocket control);

    int descriptor() const noexcept { return both_.number(); }
    void quiet() noexcept;
    bool peer_alive() const noexcept;
    void hang_up() const noexcept;

  private:
    Descriptor heard_, both_;
    ControlSocket control_;
};

/// A sending end in memory that is shared with the receiver.
class SharedSendEnd final : public SendEnd {
  public:
    SharedSendEnd(SharedRing ring, Descriptor data_bell, Descriptor space_bell, ControlSocket control);

    std::byte* bytes() const noexcept override { return ring_->bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_->size_bytes(); }
    int descriptor() const noexcept override { return space_bell_.descriptor(); }
    void quiet_bell() noexcept override { space_bell_.quiet(); }
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return space_bell_.peer_alive(); }
    void hang_up() noexcept override { space_bell_.hang_up(); }
    bool publish(std::uint64_t head) noexcept override;
    std::uint64_t tail() noexcept override;
    bool peer_closed() noexcept override;
    void end() noexcept override;
    void ask_for_bell(std::size_t n_bytes) noexcept override;

  private:
    SharedRing ring_;
    RingHeader& header_;
    Descriptor data_bell_;
    Bell space_bell_;
};

/// A receiving end in memory that is shared with the sender.
class SharedReceiveEnd final : public ReceiveEnd {
  public:
    SharedReceiveEnd(SharedRing ring, Descriptor data_bell, Descriptor space_bell, ControlSocket control);

    std::byte* bytes() const noexcept override { return ring_->bytes(); }
    std::size_t size_bytes() const noexcept override { return ring_->size_bytes(); }
    int descriptor() const noexcept override { return data_bell_.descriptor(); }
    void quiet_bell() noexcept override { data_bell_.quiet(); }
    void take_wish_back() noexcept override;
    bool peer_alive() noexcept override { return data_bell_.peer_alive(); }
    void hang_up() noexcept override { data_bell_.hang_up(); }
    std::uint64_t head() noexcept override;
    bool peer_ended() noexcept override;
    bool release(std::uint64_t tail, std::size_t n_free) noexcept override;
    void close() noexcept override;
    void ask_for_bell() noexcept override;

  private:
    SharedRing ring_;
    RingHeader& header_;
    Bell data_bell_;
    Descriptor space_bell_;
};

}  // namespace anello::stream
