// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel_handle.hpp"
#include "receive/datagrams/network_interface.hpp"
#include "receive/datagrams/port_guard.hpp"
#include "receive/nanet/nanet_frames.hpp"

namespace anello::receive {

struct InterfaceNanetConfig {
    std::string interface;
    std::string address = "0.0.0.0";   ///< that the guards of the ports hold
    std::vector<std::uint16_t> ports;  ///< one stream each; 0 lets the system choose
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
};

/// The frames that come to a network interface, as they are, by a packet socket. The card has the interface's MAC
/// address. What the system has done to a frame on its way is undone where it can be: a UDP checksum that a sender on
/// this machine left to its network card is filled in. Frames that the system had joined (segmentation offload) are on
/// no wire: they are left out and counted. Guards hold the ports in the stack, which sees the same frames.
///
/// The kernel counts what it drops for the whole socket: no stream knows its share.
class InterfaceNanetFrames final : public NanetFrames {
  public:
    explicit InterfaceNanetFrames(const InterfaceNanetConfig& config);  ///< Throws ConfigError, SystemError.
    ~InterfaceNanetFrames() override;

    std::size_t n_streams() const noexcept override { return guards_.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return guards_[stream].port(); }
    MacAddress mac() const noexcept override { return mac_; }
    /// None while a stream is not wanted: an interface has one order.
    std::size_t take(std::span<NanetFrame> frames) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { wanted_[stream] = wanted ? 1 : 0; }
    bool is_read(std::uint16_t stream) const noexcept override { return wanted_[stream] != 0 && is_empty_; }
    std::uint64_t socket_dropped() const noexcept override;
    std::uint64_t n_joined() const noexcept override { return n_joined_; }
    int descriptor() const noexcept override { return socket_.number(); }
    std::string describe() const override;

  private:
    struct Batch;

    void open(const InterfaceNanetConfig& config);
    void learn_address();
    bool keep(std::size_t slot, NanetFrame& frame) noexcept;

    NetworkInterface interface_;
    std::vector<PortGuard> guards_;
    std::vector<std::int32_t> stream_of_port_;
    Descriptor socket_;
    MacAddress mac_{};
    std::unique_ptr<Batch> batch_;
    std::vector<std::uint8_t> wanted_;  ///< by stream
    bool is_empty_ = false;             ///< the last look found its end
    std::uint64_t n_joined_ = 0;
    mutable std::uint64_t n_dropped_ = 0;  ///< asking clears the system's count
};

}  // namespace anello::receive
