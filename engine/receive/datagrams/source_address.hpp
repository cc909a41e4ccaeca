// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace anello::receive {

/// An IPv6 address in the order of the wire.
using Ip6Bytes = std::array<std::byte, 16>;

/// The source that a datagram states: IP address and UDP port, in one number for fast comparison. 0 in either part
/// means that it is not known, or, in a configuration, any.
///
/// An IPv4 address stands there itself, an IPv6 address as a digest of 47 bits by a key of this process: two addresses
/// that have the same can be found neither by chance nor by who looks for them.
class SourceAddress {
  public:
    constexpr SourceAddress() noexcept = default;
    /// IPv4, both in the host's byte order.
    constexpr SourceAddress(std::uint32_t host, std::uint16_t port) noexcept
        : value_(std::uint64_t{host} << 16 | port) {}
    /// An IPv4 address that stands in one of IPv6 (::ffff:a.b.c.d) is IPv4. Hot path: no allocation, no lock, no throw.
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
    /// Of IPv4; 0: not known, or IPv6.
    constexpr std::uint32_t host() const noexcept { return is_ip6() ? 0 : static_cast<std::uint32_t>(value_ >> 16); }
    constexpr std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(value_); }
    constexpr bool operator==(const SourceAddress&) const noexcept = default;

  private:
    std::uint64_t value_ = 0;
};

/// "10.0.0.5:4711", "[2001:db8::5]:4711". Of the IPv6 addresses that this process has met the first thousand have their
/// names.
std::string to_text(SourceAddress address);
/// "10.0.0.5:4711", "[2001:db8::5]:4711", "10.0.0.5" or "2001:db8::5" (any port), "" (any source). Throws ConfigError
/// that names receive.sources.
SourceAddress parse_source(const std::string& text);

}  // namespace anello::receive
