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
    std::vector<std::uint16_t> ports;     ///< one stream each; 0 lets the system choose
    bool gro = true;                      ///< take super-packets where the system can make them
    std::uint32_t slots_per_stream = 64;  ///< messages of a stream that are out of the kernel at a time; a power of 2
    std::size_t receive_buffer_bytes = std::size_t{64} << 20;
    std::size_t max_datagram_bytes = 65536;  ///< longer ones are delivered cut; with GRO always 65536
};

/// UDP sockets, one per stream, each read by one standing request (io_uring, multishot recvmsg) that fills the
/// stream's own slots. The kernel is asked only when it says that something is there. A stream that is not wanted
/// keeps its slots, so its request runs dry and datagrams stay in the socket. The first call of receive() decides
/// which thread may call it.
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
    /// Requests that ended with an error other than "no slot free"; each was made again.
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
    std::size_t slot_bytes_;   ///< of the datagram itself
    std::size_t slot_stride_;  ///< with what the kernel writes before it
    msghdr shape_{};           ///< tells the kernel how long the control messages may be
    Descriptor event_;         ///< signalled when a request has something to tell
    std::unique_ptr<Ring> ring_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::size_t first_turn_ = 0;
    std::vector<std::uint64_t> n_super_packets_;  ///< by stream
    std::uint64_t n_errors_ = 0;
};

}  // namespace anello::receive
