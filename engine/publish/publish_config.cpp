// SPDX-License-Identifier: Apache-2.0
#include "publish/publish_config.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/errors.hpp"

namespace anello::publish {
namespace {

constexpr std::array<const char*, 4> to_names{"nothing", "stream", "zmq_push", "zmq_pub"};
constexpr std::array<const char*, 2> when_full_names{"wait", "drop"};

template <typename Enum, std::size_t n>
Enum parse(const std::array<const char*, n>& names, const std::string& text, const char* field, const char* rule) {
    const auto* const found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) throw ConfigError(field, rule, text, "Choose one of these.");
    return static_cast<Enum>(found - names.begin());
}

bool is_endpoint(std::string_view address) {
    return (address.starts_with("tcp://") || address.starts_with("ipc://")) && address.size() > 6;
}

}  // namespace

PublishTo parse_publish_to(const std::string& text) {
    return parse<PublishTo>(to_names, text, "publish.to", "must be nothing, stream, zmq_push or zmq_pub");
}

const char* name_of(PublishTo to) noexcept {
    return to_names.at(static_cast<std::size_t>(to));
}

WhenFull parse_when_full(const std::string& text) {
    return parse<WhenFull>(when_full_names, text, "publish.when_full", "must be wait or drop");
}

void PublishConfig::validate() const {
    if (!is_on()) return;
    const bool is_stream = to == PublishTo::stream;
    if (is_stream ? address.size() < 2 || is_endpoint(address) : !is_endpoint(address))
        throw ConfigError(
            "publish.address",
            is_stream ? "must be a path, or @ and a name, for a stream"
                      : "must be tcp://INTERFACE:PORT or ipc://PATH for ZeroMQ",
            address, is_stream ? "For example @anello or /run/anello.stream." : "For example tcp://127.0.0.1:5556.");
    if (max_subscribers == 0 || max_subscribers > 64)
        throw ConfigError("publish.max_subscribers", "must be 1 to 64", std::to_string(max_subscribers),
                          "The default is 8.");
    if (n_buffers < 2 || n_buffers > 65'536)
        throw ConfigError("publish.n_buffers", "must be 2 to 65536", std::to_string(n_buffers), "The default is 64.");
}

}  // namespace anello::publish
