// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello::receive {

/// The source that a datagram states: IPv4 address and UDP port, in one number for fast comparison. 0 in either
/// part means that it is not known, or, in a configuration, any.
class SourceAddress {
  public:
    constexpr SourceAddress() noexcept = default;
    /// Both in the host's byte order.
    constexpr SourceAddress(std::uint32_t host, std::uint16_t port) noexcept
        : value_(std::uint64_t{host} << 16 | port) {}
    static constexpr SourceAddress of_value(std::uint64_t value) noexcept {
        SourceAddress address;
        address.value_ = value;
        return address;
    }

    constexpr std::uint64_t value() const noexcept { return value_; }
    constexpr std::uint32_t host() const noexcept { return static_cast<std::uint32_t>(value_ >> 16); }
    constexpr std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(value_); }
    constexpr bool operator==(const SourceAddress&) const noexcept = default;

  private:
    std::uint64_t value_ = 0;
};

std::string to_text(SourceAddress address);  ///< "10.0.0.5:4711"
/// "10.0.0.5:4711", "10.0.0.5" (any port), "" (any source). Throws ConfigError that names receive.sources.
SourceAddress parse_source(const std::string& text);

}  // namespace anello::receive
