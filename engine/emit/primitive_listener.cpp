// SPDX-License-Identifier: Apache-2.0
#include "emit/primitive_listener.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.hpp"

namespace anello::emit {
namespace {

/// A bound socket; closes it again when anything fails.
int bind_socket(const ListenerConfig& config, std::uint16_t& port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(config.port);
    if (inet_pton(AF_INET, config.address.c_str(), &address.sin_addr) != 1)
        throw ConfigError("listen.address", "must be an IPv4 address", config.address, "Use 127.0.0.1 or 0.0.0.0.");
    const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        throw SystemError("cannot open a socket to listen for primitives", errno, "Raise the limit of open files.");
    const int buffer_bytes = 16 << 20;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof buffer_bytes) != 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
    socklen_t length = sizeof address;
    if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        const int error = errno;
        close(descriptor);
        throw SystemError("cannot listen for primitives on " + config.address + ":" + std::to_string(config.port),
                          error, "Choose another port, or 0 to let the system choose.");
    }
    port = ntohs(address.sin_port);
    return descriptor;
}

}  // namespace

PrimitiveListener::PrimitiveListener(const ListenerConfig& config, CounterPage& page, const std::string& block_name,
                                     PrimitiveObserver* observer)
    : checker_(wire::KnownSources(config.source_id, config.n_sub_sources), page, block_name, observer),
      bytes_(std::make_unique<std::byte[]>(n_datagrams * datagram_bytes)),
      parts_{},
      messages_{} {
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        parts_[i] = {bytes_.get() + i * datagram_bytes, datagram_bytes};
        messages_[i].msg_hdr.msg_iov = &parts_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
    }
    descriptor_ = bind_socket(config, port_);
}

PrimitiveListener::~PrimitiveListener() {
    close(descriptor_);
}

std::size_t PrimitiveListener::do_work() noexcept {
    const int n = recvmmsg(descriptor_, messages_.data(), n_datagrams, MSG_DONTWAIT, nullptr);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) checker_.count_receive_error();
        return 0;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        checker_.check({bytes_.get() + i * datagram_bytes, messages_[i].msg_len});
    return static_cast<std::size_t>(n);
}

}  // namespace anello::emit
