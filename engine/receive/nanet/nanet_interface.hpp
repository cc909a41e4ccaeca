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
    std::string address = "0.0.0.0";   ///< address of the guards of the ports
    std::vector<std::uint16_t> ports;  ///< one for each stream; 0: the system chooses
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
};

/// The original frames of a network interface, from a packet socket. The card has the interface's MAC address. Changes
/// by the system are undone if possible: it computes a UDP checksum that a sender on this machine left to its network
/// card. Frames that the system has joined (segmentation offload) exist on no wire; they are skipped and counted.
/// Guards hold the ports in the stack, which gets the same frames.
///
/// The kernel counts drops for the whole socket, so the share of each stream is not known.
class InterfaceNanetFrames final : public NanetFrames {
  public:
    explicit InterfaceNanetFrames(const InterfaceNanetConfig& config);  ///< Throws ConfigError, SystemError.
    ~InterfaceNanetFrames() override;

    std::size_t n_streams() const noexcept override { return guards_.size(); }
    std::uint16_t port(std::uint16_t stream) const noexcept override { return guards_[stream].port(); }
    MacAddress mac() const noexcept override { return mac_; }
    /// Returns none while a stream is not wanted, because the order of the interface must be kept.
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
    std::vector<std::uint8_t> wanted_;  ///< of each stream
    bool is_empty_ = false;             ///< the last look reached its end
    std::uint64_t n_joined_ = 0;
    mutable std::uint64_t n_dropped_ = 0;  ///< needed since reading clears the system's count
};

}  // namespace anello::receive
