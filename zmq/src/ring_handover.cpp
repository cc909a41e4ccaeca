// SPDX-License-Identifier: Apache-2.0
#include "ring_handover.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cstring>
#include <exception>
#include <utility>

#include "core/kernel_handle.hpp"
#include "settings.hpp"
#include "stream/stream_config.hpp"

namespace anello::zeromq {
namespace {

using stream::RingMemory;

bool only_sends(int socket_type) noexcept {
    return socket_type == ZMQ_PUSH || socket_type == ZMQ_PUB || socket_type == ZMQ_XPUB;
}
bool only_receives(int socket_type) noexcept {
    return socket_type == ZMQ_PULL || socket_type == ZMQ_SUB || socket_type == ZMQ_XSUB;
}

/// Size in bytes of the ring that a descriptor refers to; 0: it is no ring.
std::size_t ring_bytes_of(const Descriptor& memory) noexcept {
    const auto page_bytes = static_cast<off_t>(sysconf(_SC_PAGESIZE));
    struct stat found {};
    if (!memory.open() || fstat(memory.number(), &found) != 0 || found.st_size <= page_bytes) return 0;
    return static_cast<std::size_t>(found.st_size - page_bytes);
}

std::unique_ptr<RingPair> try_attach(Descriptors memory) noexcept {
    const std::size_t n_receive = ring_bytes_of(memory[0]), n_send = ring_bytes_of(memory[1]);
    if (n_receive == 0 || n_send == 0 || n_receive > stream::largest_ring_bytes || n_send > stream::largest_ring_bytes)
        return {};
    auto share = RingShare::try_take(n_receive + n_send);
    if (!share) return {};
    try {
        RingMemory receive = RingMemory::attach(std::move(memory[0]), n_receive);
        RingMemory send = RingMemory::attach(std::move(memory[1]), n_send);
        return std::make_unique<RingPair>(RingPair{std::move(*share), std::move(send), std::move(receive)});
    } catch (const std::exception&) {
        return {};  // ConfigError or SystemError: the answer is `no` for either
    }
}

/// Takes ownership of all received descriptors at once, so that none leaks.
void take_descriptors(msghdr& message, Descriptors& taken) noexcept {
    std::size_t n_taken = 0;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t n_here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < n_here; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
            Descriptor descriptor(number);
            if (n_taken < taken.size()) taken[n_taken++] = std::move(descriptor);
        }
    }
}

}  // namespace

std::unique_ptr<RingPair> try_create_rings(int socket_type) noexcept {
    const std::size_t n_send = only_receives(socket_type) ? stream::smallest_ring_bytes : settings().ring_bytes;
    const std::size_t n_receive = only_sends(socket_type) ? stream::smallest_ring_bytes : settings().ring_bytes;
    auto share = RingShare::try_take(n_send + n_receive);
    if (!share) return {};
    try {
        RingMemory send = RingMemory::create(n_send);
        RingMemory receive = RingMemory::create(n_receive);
        return std::make_unique<RingPair>(RingPair{std::move(*share), std::move(send), std::move(receive)});
    } catch (const std::exception&) {
        return {};  // the connection works without rings, too
    }
}

ssize_t send_with(int socket, std::span<const char> bytes, std::span<const int> descriptors) noexcept {
    iovec text{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_descriptors)> control{};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t receive_with(int socket, std::span<char> bytes, Descriptors& descriptors) noexcept {
    iovec text{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_descriptors)> control;
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n_received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n_received > 0) take_descriptors(message, descriptors);
    return n_received;
}

bool try_send_rings(int socket, const RingPair& rings) noexcept {
    constexpr char word = static_cast<char>(Word::rings);
    const std::array<int, max_descriptors> descriptors{rings.send.descriptor(), rings.receive.descriptor()};
    return send_with(socket, {&word, 1}, descriptors) == 1;
}

bool try_send(int socket, Word word) noexcept {
    return send(socket, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int receive_word(int socket, Word& word, std::unique_ptr<RingPair>& rings) noexcept {
    char received = 0;
    Descriptors memory;
    const ssize_t n_received = receive_with(socket, {&received, 1}, memory);
    word = static_cast<Word>(received);
    if (n_received > 0 && word == Word::rings) rings = try_attach(std::move(memory));
    return static_cast<int>(n_received);
}

}  // namespace anello::zeromq
