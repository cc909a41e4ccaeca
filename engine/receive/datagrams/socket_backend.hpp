// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/message.hpp"
#include "receive/datagrams/udp_socket.hpp"

namespace anello::receive {

struct SocketBackendConfig {
    std::string address = "0.0.0.0";
    GroupConfig group = {};
    std::vector<std::uint16_t> ports;  ///< one for each stream; 0: the system chooses
    bool gro = true;                   ///< use super-packets if the system can make them
    std::uint32_t batch_messages = 64;
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
    std::size_t max_datagram_bytes = 65536;  ///< longer ones are cut; with GRO always 65536
    bool notes = true;                       ///< receive stamps; see UdpSocketConfig
    std::uint32_t busy_poll_us = 0;          ///< see UdpSocketConfig
};

/// UDP sockets, one per stream, read with recvmmsg. With several sockets, epoll reports those with datagrams; each of
/// them gets an equal share of the batch, in rotation, so that a flood on one port does not starve another.
class SocketBackend final : public Backend {
  public:
    explicit SocketBackend(const SocketBackendConfig& config);  ///< Throws ConfigError, SystemError.
    ~SocketBackend() override;

    std::size_t n_streams() const noexcept override { return sockets_.size(); }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    bool set_call_bytes(std::size_t n_bytes) noexcept override {
        call_bytes_ = n_bytes;
        return true;
    }
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override { wanted_[stream] = wanted ? 1 : 0; }
    bool is_read(std::uint16_t stream) const noexcept override {
        return wanted_[stream] != 0 && is_empty_[stream] != 0;
    }
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override;
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return n_super_packets_[stream]; }
    int descriptor() const noexcept override { return epoll_; }
    std::string describe() const override;

    /// Reception into memory of the caller, instead of receive(); single datagrams only (without GRO). Lists wanted
    /// streams with datagrams, at most as many as `streams` holds; a single stream is always listed.
    std::size_t find_ready(std::span<std::uint16_t> streams) noexcept;
    /// Datagram i of `batch` is received into places[i], cut if it is longer. Returns the number received.
    std::size_t receive_into(std::uint16_t stream, std::span<const iovec> places, std::span<Datagram> batch) noexcept;

    std::uint16_t port(std::uint16_t stream) const noexcept override { return sockets_[stream].port(); }
    const UdpSocket& socket(std::uint16_t stream) const noexcept { return sockets_[stream]; }

  private:
    void watch_all();
    void poll_queues() noexcept;
    std::string busy_poll_words() const;
    void take_messages() noexcept;
    std::size_t find_ready() noexcept;
    void choose_n_at_once() noexcept;
    void take_from(std::uint16_t stream, std::size_t n_at_most) noexcept;
    std::size_t take(std::uint16_t stream, std::span<mmsghdr> headers) noexcept;
    void prepare(std::span<mmsghdr> headers) noexcept;
    Message read(std::uint16_t stream, std::size_t slot) noexcept;

    SocketBackendConfig config_;
    std::size_t slot_bytes_;
    std::vector<UdpSocket> sockets_;
    int epoll_ = -1;
    bool epoll_polls_ = false;
    std::vector<epoll_event> ready_;
    std::size_t n_read_at_once_ = 1;  ///< sockets with datagrams that are read in one turn
    std::uint32_t n_looks_ = 0;
    std::vector<std::uint8_t> wanted_;    ///< of each stream; others are not read
    std::vector<std::uint8_t> is_empty_;  ///< of each stream: the last look reached its end, and all of it was lent
    std::unique_ptr<std::byte[]> slots_, controls_;
    std::vector<iovec> vectors_;
    std::vector<SocketAddress> sources_;           ///< of each header
    std::vector<mmsghdr> headers_, headers_into_;  ///< for the slots; for the caller's places
    std::vector<Message> messages_;
    std::size_t n_messages_ = 0, next_message_ = 0;
    std::size_t call_bytes_ = usual_call_bytes;
    std::size_t n_at_once_ = 0;                   ///< messages requested by one receive()
    std::vector<std::uint64_t> n_super_packets_;  ///< of each stream
};

}  // namespace anello::receive
