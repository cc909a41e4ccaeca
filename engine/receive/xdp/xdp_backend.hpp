// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "memory/persistent_buffers.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/network_interface.hpp"
#include "receive/datagrams/port_guard.hpp"
#include "receive/frames/ethernet_frame.hpp"
#include "receive/xdp/xdp_program.hpp"
#include "receive/xdp/xdp_socket.hpp"

namespace anello::receive {

enum class XdpMode : std::uint8_t {
    zero_copy,  ///< the interface writes to our memory
    native,     ///< the driver copies, before the kernel's stack
    generic,    ///< the kernel's stack copies; works with any interface
};

const char* name_of(XdpMode mode) noexcept;

struct XdpBackendConfig {
    std::string interface;
    std::string address = "0.0.0.0";  ///< datagrams to this address only; 0.0.0.0: to any
    GroupConfig group = {};
    std::vector<std::uint16_t> ports;        ///< one for each stream; 0: the system chooses
    XdpMode best_mode = XdpMode::zero_copy;  ///< if a mode does not work, the next one is tried
    std::size_t slots_per_queue = 32768;     ///< a power of 2, of 4096 bytes each; halved until the system grants them
    std::size_t memory_bytes = std::size_t{1} << 30;  ///< limit for all queues together; reduces the slots
    std::uint32_t busy_poll_us = 0;  ///< calls that look for datagrams poll the queues for this time; 0: never
};

/// AF_XDP: an XDP program on the interface redirects the datagrams of our ports, from every receive queue, before the
/// kernel's stack sees them. They are lent from where the interface or the kernel put them; only frames longer than a
/// slot are copied. All other frames, and fragments of IP packets, go to the stack as usual, where the ports are
/// guarded. The stack's checks are bypassed: the UDP checksum is not verified. There are no receive stamps.
///
/// kernel_dropped of a port: what the program redirected, minus what was lent, minus what may still be in flight, plus
/// what reached the stack. So it is never too high, and exact if nothing is in flight. Datagrams that the interface
/// dropped for lack of slots in zero-copy mode never reached the program: the interface counts them.
class XdpBackend final : public Backend {
  public:
    explicit XdpBackend(const XdpBackendConfig& config);  ///< Throws ConfigError, SystemError.

    /// Throws if the backend cannot work, without affecting the interface's other traffic.
    static void try_without_attaching(const std::string& interface);

    std::size_t n_streams() const noexcept override { return guards_.size(); }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { streams_[stream].wanted = wanted; }
    bool is_read(std::uint16_t stream) const noexcept override {
        return streams_[stream].wanted && n_empty_ == sockets_.size() && streams_[stream].first_waiting == none;
    }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override;
    int descriptor() const noexcept override { return epoll_.number(); }
    std::string describe() const override;

    std::uint16_t port(std::uint16_t stream) const noexcept override { return guards_[stream].port(); }
    XdpMode mode() const noexcept { return mode_; }
    bool takes_pieces() const noexcept { return pieces_; }
    /// Redirected frames without a complete datagram (contradicting lengths).
    std::uint64_t n_malformed() const noexcept { return n_malformed_; }

  private:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// A slot with a piece of a frame. Slot numbers continue from queue to queue.
    struct Slot {
        const std::byte* begin;
        std::uint32_t n_bytes, n_frame_bytes;
        std::uint32_t next_piece, next_frame;
        std::span<const std::byte> payload;  ///< if the frame is in one piece
        SourceAddress source;                ///< if the frame is in one piece
    };
    struct Stream {
        std::uint32_t first_waiting = none, last_waiting = none;  ///< frames that were not wanted on arrival
        std::uint64_t n_lent = 0;
        bool wanted = true;
    };

    enum class Lending : std::uint8_t { lent, no_room, malformed };

    std::string busy_poll_words() const;
    void open_best();
    void open(XdpMode mode, bool pieces);
    void close() noexcept;
    std::span<std::byte> memory_of(std::uint32_t queue) noexcept;

    void give_back_lent() noexcept;
    std::size_t lend_waiting(Stream& stream, std::span<Datagram> batch) noexcept;
    std::size_t take_from(std::uint32_t queue, std::span<Datagram> batch) noexcept;
    bool take_frame(std::uint32_t first_slot, Datagram& datagram) noexcept;
    std::uint32_t remember(std::uint32_t queue, std::uint32_t position, std::uint32_t n_ready) noexcept;
    void wait(Stream& stream, std::uint32_t first_slot) noexcept;
    Lending lend(Stream& stream, std::uint32_t first_slot, Datagram& datagram) noexcept;
    std::span<const std::byte> put_together(std::uint32_t first_slot) noexcept;
    std::int32_t stream_of(std::uint32_t first_slot) noexcept;
    void done_with(std::uint32_t first_slot) noexcept;

    XdpBackendConfig config_;
    NetworkInterface interface_;
    std::vector<PortGuard> guards_;
    std::vector<std::int32_t> stream_of_port_;
    std::vector<Stream> streams_;
    std::uint32_t slots_per_queue_;
    std::unique_ptr<memory::PersistentBuffers> memory_;  ///< one buffer per slot, queue after queue
    std::vector<std::unique_ptr<XdpSocket>> sockets_;    ///< one for each queue
    std::unique_ptr<XdpProgram> program_;
    Descriptor epoll_;
    std::string why_not_better_;
    XdpMode mode_ = XdpMode::generic;
    bool pieces_ = false;

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> lent_;      ///< slots to give back at the next call
    std::unique_ptr<std::byte[]> joined_;  ///< lent frames that came in pieces
    std::size_t joined_bytes_ = 0;
    std::uint32_t first_queue_ = 0;
    std::size_t n_empty_ = 0;          ///< queues that the last call read to the end
    std::uint32_t first_slot_ = none;  ///< of the current frame
    std::uint64_t n_malformed_ = 0;
    mutable std::vector<std::uint64_t> dropped_reported_;  ///< of each stream; a count never decreases
};

}  // namespace anello::receive
