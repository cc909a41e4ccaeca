// SPDX-License-Identifier: Apache-2.0
#include "receive/source_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

[[noreturn]] void refuse(const std::string& text) {
    throw ConfigError("receive.sources", "must be an IPv4 address, with or without a port, or empty", text,
                      "For example \"10.0.0.5\" or \"10.0.0.5:4711\".");
}

std::uint16_t parse_port(const std::string& digits, const std::string& text) {
    std::uint16_t port = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (error != std::errc{} || stop != end || port == 0) refuse(text);
    return port;
}

}  // namespace

std::string to_text(SourceAddress address) {
    const std::uint32_t host = address.host();
    return fmt::format("{}.{}.{}.{}:{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255, address.port());
}

SourceAddress parse_source(const std::string& text) {
    if (text.empty()) return {};
    const std::size_t colon = text.find(':');
    in_addr host{};
    if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &host) != 1 || host.s_addr == 0) refuse(text);
    const std::uint16_t port = colon == std::string::npos ? std::uint16_t{0} : parse_port(text.substr(colon + 1), text);
    return {ntohl(host.s_addr), port};
}

}  // namespace anello::receive
