// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/network_interface.hpp"
#include "receive/datagrams/udp_socket.hpp"

namespace anello::receive {

struct PacketRingBackendConfig {
    std::string interface = "lo";
    std::string address = "0.0.0.0";  ///< datagrams to this address only; 0.0.0.0: to any
    GroupConfig group = {};
    std::vector<std::uint16_t> ports;                          ///< one stream each; 0 lets the system choose
    bool gro = true;                                           ///< let the system make super-packets where it can
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;  ///< of each port's ring
};

/// TPACKET_V3: the kernel copies each datagram to our ports into a ring of blocks that it shares with us, one ring per
/// port, and hands a block over when it is full or some milliseconds old; datagrams are lent from there. So a ring of n
/// blocks of 256 kB also bounds how long reading may pause: n times those milliseconds. The stack gets
/// the same packets: a guard holds the port, so that nobody is answered "port unreachable" and nothing is queued. Each
/// packet passes the filters of all ports. A stream that is not wanted keeps its blocks. Whole datagrams only:
/// of a fragmented one, the first fragment is taken and counted as dropped. The UDP checksum is not looked at.
class PacketRingBackend final : public Backend {
  public:
    explicit PacketRingBackend(const PacketRingBackendConfig& config);  ///< Throws ConfigError, SystemError.
    ~PacketRingBackend() override;

    std::size_t n_streams() const noexcept override { return rings_.size(); }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override;
    bool is_read(std::uint16_t stream) const noexcept override;
    Nanoseconds held_back_ns() const noexcept override;
    /// Datagrams without room in the ring, fragmented ones, and those with contradictory lengths.
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override;
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override;
    bool has_more_coming() const noexcept override;
    int descriptor() const noexcept override { return epoll_.number(); }
    std::string describe() const override;

    std::uint16_t port(std::uint16_t stream) const noexcept override;

  private:
    class Ring;

    PacketRingBackendConfig config_;
    NetworkInterface interface_;
    Descriptor epoll_;
    std::vector<std::unique_ptr<Ring>> rings_;
    std::size_t first_turn_ = 0;
};

}  // namespace anello::receive
