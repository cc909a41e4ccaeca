// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "rich/emit/primitive_checker.hpp"

namespace anello::rich {

struct ListenerConfig {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0: the system chooses, see PrimitiveListener::port()
    std::uint8_t source_id = 0x1C;
    std::uint16_t n_sub_sources = 1;
};

/// Receives and checks primitives at the far end. One thread calls do_work().
class PrimitiveListener {
  public:
    /// Throws ConfigError, SystemError. Counters are added as `block_name` and `block_name`.verdicts.
    PrimitiveListener(const ListenerConfig& config, CounterPage& page, const std::string& block_name = "listen",
                      PrimitiveObserver* observer = nullptr);
    ~PrimitiveListener();
    PrimitiveListener(const PrimitiveListener&) = delete;
    PrimitiveListener& operator=(const PrimitiveListener&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    int descriptor() const noexcept { return descriptor_; }  ///< readable when datagrams have arrived
    /// Hot path: no allocation, no lock, no log, no throw. Returns the number of datagrams checked.
    std::size_t do_work() noexcept;
    const PrimitiveChecker& checker() const noexcept { return checker_; }

  private:
    static constexpr std::size_t n_messages = 32;
    static constexpr std::size_t message_bytes = 65536;  ///< UDP_GRO joins datagrams of one length
    static constexpr std::size_t control_bytes = 64;

    std::size_t check_message(std::size_t index) noexcept;

    PrimitiveChecker checker_;
    int descriptor_ = -1;
    std::uint16_t port_ = 0;
    struct alignas(cmsghdr) Control {
        std::array<char, control_bytes> bytes;
    };
    std::unique_ptr<std::byte[]> bytes_;
    std::array<iovec, n_messages> parts_;
    std::array<Control, n_messages> controls_;
    std::array<mmsghdr, n_messages> messages_;
};

}  // namespace anello::rich
