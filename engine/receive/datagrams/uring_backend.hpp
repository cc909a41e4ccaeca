// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/kernel_handle.hpp"
#include "receive/datagrams/backend.hpp"
#include "receive/datagrams/message.hpp"
#include "receive/datagrams/udp_socket.hpp"

namespace anello::receive {

struct UringBackendConfig {
    std::string address = "0.0.0.0";
    GroupConfig group = {};
    std::vector<std::uint16_t> ports;     ///< one for each stream; 0: the system chooses
    bool gro = true;                      ///< use super-packets if the system can make them
    std::uint32_t slots_per_stream = 64;  ///< most messages of a stream outside of the kernel; a power of 2
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
    std::size_t max_datagram_bytes = 65536;  ///< longer ones are cut; with GRO always 65536
};

/// UDP sockets, one per stream. For each, one standing request (io_uring, multishot recvmsg) fills the stream's own
/// slots. The backend calls the kernel only when a flag shows that there is work. A stream that is not wanted keeps its
/// slots, so its request ends and datagrams stay in the socket. The thread of the first receive() must make all later
/// calls.
class UringBackend final : public Backend {
  public:
    explicit UringBackend(const UringBackendConfig& config);  ///< Throws ConfigError, SystemError.
    ~UringBackend() override;

    std::size_t n_streams() const noexcept override { return config_.ports.size(); }
    std::size_t receive(std::span<Datagram> batch) noexcept override;
    void set_wanted(std::uint16_t stream, bool wanted) noexcept override;
    bool is_read(std::uint16_t stream) const noexcept override;
    std::uint64_t kernel_dropped(std::uint16_t stream) const noexcept override;
    std::uint64_t n_super_packets(std::uint16_t stream) const noexcept override { return n_super_packets_[stream]; }
    int descriptor() const noexcept override { return event_.number(); }
    std::string describe() const override;

    std::uint16_t port(std::uint16_t stream) const noexcept override;
    /// Requests that ended with an error other than "no slot free"; each was repeated.
    std::uint64_t n_errors() const noexcept { return n_errors_; }

  private:
    struct Ring;
    struct Stream;

    std::size_t look(std::span<Datagram> batch) noexcept;
    void give_back_slots() noexcept;
    void make_requests() noexcept;
    void collect() noexcept;
    void on_completion(std::uint16_t stream, std::int32_t result, std::uint32_t flags) noexcept;
    std::size_t lend_from(Stream& stream, std::span<Datagram> batch) noexcept;
    bool open_next(Stream& stream) noexcept;

    UringBackendConfig config_;
    std::size_t slot_bytes_;   ///< of the datagram alone
    std::size_t slot_stride_;  ///< including the kernel's header before it
    msghdr shape_{};           ///< limits the length of control messages
    Descriptor event_;         ///< signalled when a request has a result
    std::unique_ptr<Ring> ring_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::size_t first_turn_ = 0;
    std::vector<std::uint64_t> n_super_packets_;  ///< of each stream
    std::uint64_t n_errors_ = 0;
};

}  // namespace anello::receive
