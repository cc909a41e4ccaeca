// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/if_xdp.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/kernel_handle.hpp"
#include "receive/xdp/shared_mapping.hpp"

namespace anello::receive {

struct XdpSocketConfig {
    std::uint32_t interface_index;
    std::uint32_t queue;
    bool zero_copy;                  ///< the interface writes to our memory directly
    bool pieces;                     ///< frames longer than a slot come in pieces
    std::uint32_t busy_poll_us = 0;  ///< see poll_queue(); 0: off
};

/// One AF_XDP socket: the frames of one receive queue, in slots of memory shared with the kernel. The kernel owns a
/// slot in the fill ring; this process owns it from taking its piece to giving it back. One thread.
class XdpSocket {
  public:
    static constexpr std::size_t slot_bytes = 4096;         ///< the kernel's maximum
    static constexpr std::size_t usable_slot_bytes = 3840;  ///< without the kernel's headroom

    /// A whole frame, or a piece of it.
    struct Piece {
        std::uint64_t address;  ///< offset in the memory
        std::uint32_t n_bytes;
        bool continues;  ///< the next piece belongs to the same frame
    };

    /// `memory` must be a power of 2 of slots, page-aligned, and outlive this object. Throws SystemError.
    XdpSocket(const XdpSocketConfig& config, std::span<std::byte> memory);
    int descriptor() const noexcept { return socket_.number(); }

    // Hot path from here on: no allocation, no lock, no log, no throw.
    /// Pieces available and not taken; the pieces of one frame come together.
    std::uint32_t n_ready() const noexcept;
    Piece ready(std::uint32_t position) const noexcept;
    void take(std::uint32_t n_pieces) noexcept;
    void give_back(std::uint64_t address) noexcept;  ///< takes any address inside the slot
    void publish_given_back() noexcept;
    /// Lets the kernel look for frames of this queue now, on the calling thread. A system call.
    void poll_queue() noexcept;
    int busy_poll_error() const noexcept { return busy_poll_error_; }  ///< error of the kernel's refusal, 0: none

    /// Frames for which the socket had no room or no slot. A system call.
    std::uint64_t n_dropped() const noexcept;

  private:
    struct Ring {
        SharedMapping mapped;
        std::uint32_t *producer = nullptr, *consumer = nullptr, *flags = nullptr;
        void* entries = nullptr;
        std::uint32_t mask = 0;
    };

    void bind_to(const sockaddr_xdp& where);
    void map_rings(std::uint32_t n_entries);
    Ring map_ring(const xdp_ring_offset& offsets, std::uint64_t page_offset, std::uint32_t n_entries,
                  std::size_t entry_bytes);

    Descriptor socket_;
    Ring fill_, receive_;
    std::uint32_t n_filled_ = 0, n_taken_ = 0;
    bool polls_ = false;
    int busy_poll_error_ = 0;
};

}  // namespace anello::receive
