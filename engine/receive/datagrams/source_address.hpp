// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace anello::receive {

/// An IPv6 address in the order of the wire.
using Ip6Bytes = std::array<std::byte, 16>;

/// The sender's address in a datagram: IP address and UDP port in one number, for fast comparison. 0 in either part
/// means unknown, or in a configuration any.
///
/// An IPv4 address is stored unchanged, an IPv6 address as a digest of 47 bits with a key of this process, so that
/// nobody can find two addresses with the same digest, by chance or on purpose.
class SourceAddress {
  public:
    constexpr SourceAddress() noexcept = default;
    /// IPv4; address and port in the host's byte order.
    constexpr SourceAddress(std::uint32_t host, std::uint16_t port) noexcept
        : value_(std::uint64_t{host} << 16 | port) {}
    /// An IPv4 address inside an IPv6 one (::ffff:a.b.c.d) becomes IPv4. Hot path: no allocation, no lock, no throw.
    static SourceAddress of_ip6(const Ip6Bytes& host, std::uint16_t port) noexcept;
    static constexpr SourceAddress of_value(std::uint64_t value) noexcept {
        SourceAddress address;
        address.value_ = value;
        return address;
    }

    constexpr std::uint64_t value() const noexcept { return value_; }
    constexpr bool is_ip6() const noexcept { return value_ >> 63 != 0; }
    constexpr bool has_host() const noexcept { return value_ >> 16 != 0; }
    constexpr bool is_same_host(SourceAddress other) const noexcept { return value_ >> 16 == other.value_ >> 16; }
    /// The IPv4 address; 0: unknown, or IPv6.
    constexpr std::uint32_t host() const noexcept { return is_ip6() ? 0 : static_cast<std::uint32_t>(value_ >> 16); }
    constexpr std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(value_); }
    constexpr bool operator==(const SourceAddress&) const noexcept = default;

  private:
    std::uint64_t value_ = 0;
};

/// "10.0.0.5:4711", "[2001:db8::5]:4711". Of IPv6 addresses, only the first thousand that this process has met can be
/// shown.
std::string to_text(SourceAddress address);
/// "10.0.0.5:4711", "[2001:db8::5]:4711", "10.0.0.5" or "2001:db8::5" (any port), "" (any source). Throws ConfigError
/// that names receive.sources.
SourceAddress parse_source(const std::string& text);

}  // namespace anello::receive
