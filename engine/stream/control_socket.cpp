// SPDX-License-Identifier: Apache-2.0
#include "stream/control_socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include "core/errors.hpp"

namespace anello::stream {
namespace {

constexpr int backlog = 64;
constexpr std::size_t most_descriptors = 8;
constexpr auto retry_after = std::chrono::milliseconds(5);

struct SocketName {
    sockaddr_un name{};
    socklen_t n_bytes = 0;
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }
};

SocketName name_of(const std::string& address) {
    SocketName socket;
    if (address.size() < 2 || address.size() >= sizeof socket.name.sun_path || address.find('\0') != address.npos)
        throw ConfigError(
            "address",
            fmt::format("must be a path, or @ and a name, of 2 to {} characters", sizeof socket.name.sun_path - 1),
            address, "Choose a shorter path, such as /run/anello.stream");
    socket.name.sun_family = AF_UNIX;
    std::memcpy(socket.name.sun_path, address.data(), address.size());
    const bool is_abstract = address.front() == '@';
    if (is_abstract) socket.name.sun_path[0] = '\0';
    socket.n_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() + (is_abstract ? 0 : 1));
    return socket;
}

Descriptor make_unix_socket() {
    Descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.open()) throw SystemError("cannot make a unix socket", errno, "Raise the limit of open files: ulimit -n");
    return made;
}

Nanoseconds now_ns() noexcept {
    return SystemClock::instance().monotonic_ns();
}

bool wait_readable(int descriptor, Nanoseconds deadline_ns) noexcept {
    pollfd watched{descriptor, POLLIN, 0};
    for (;;) {
        const Nanoseconds left_ns = std::max<Nanoseconds>(deadline_ns - now_ns(), 0);
        const Nanoseconds left_ms = left_ns / 1'000'000 + (left_ns % 1'000'000 != 0 ? 1 : 0);
        const int n_found = poll(&watched, 1, static_cast<int>(std::min<Nanoseconds>(left_ms, 1'000'000'000)));
        if (n_found >= 0 || errno != EINTR) return n_found > 0;
    }
}

bool somebody_listens(const SocketName& name) {
    const Descriptor probe = make_unix_socket();
    return connect(probe.number(), name.get(), name.n_bytes) == 0 || errno == EAGAIN;
}

/// True if the socket file may be replaced: it is a socket on which no process listens.
bool is_left_over(const std::string& address, const SocketName& name) {
    struct stat found {};
    return address.front() != '@' && lstat(address.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) &&
           !somebody_listens(name);
}

/// From now on the kernel adds the sender's identity to each packet.
void ask_for_credentials(const Descriptor& socket) noexcept {
    const int yes = 1;
    setsockopt(socket.number(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
}

void take_attached(msghdr& message, Attached& attached) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS) {
            ucred sender{};
            std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
            attached.process = sender.pid;
            attached.user = sender.uid;
        }
        if (part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t n_found = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < n_found; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
            attached.descriptors.emplace_back(number);
        }
    }
}

}  // namespace

Descriptor listen_at(const std::string& address) {
    const SocketName name = name_of(address);
    Descriptor listening = make_unix_socket();
    int error = bind(listening.number(), name.get(), name.n_bytes) == 0 ? 0 : errno;
    if (error == EADDRINUSE && is_left_over(address, name)) {
        unlink(address.c_str());
        error = bind(listening.number(), name.get(), name.n_bytes) == 0 ? 0 : errno;
    }
    if (error == 0 && listen(listening.number(), backlog) != 0) error = errno;
    if (error != 0)
        throw SystemError(fmt::format("cannot listen at {}", address), error,
                          "Choose another address, or stop the program that listens there");
    return listening;
}

void let_users_knock(const std::string& address) {
    constexpr mode_t everybody = 0666;
    if (address.front() != '@' && chmod(address.c_str(), everybody) != 0)
        throw SystemError(fmt::format("cannot open {} to other users", address), errno, "Choose a path of your own");
}

Descriptor connect_to(const std::string& address, Nanoseconds deadline_ns) {
    const SocketName name = name_of(address);
    for (;;) {
        Descriptor made = make_unix_socket();
        if (connect(made.number(), name.get(), name.n_bytes) == 0) {
            ask_for_credentials(made);
            return made;
        }
        const int error = errno;
        const bool may_come = error == ENOENT || error == ECONNREFUSED || error == EAGAIN;
        if (!may_come || now_ns() >= deadline_ns)
            throw SystemError(fmt::format("cannot connect to {}", address), error,
                              "Start the side that listens there, or check its address");
        std::this_thread::sleep_for(retry_after);
    }
}

Descriptor accept_one(const Descriptor& listening, Nanoseconds deadline_ns) {
    do {
        const int found = accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (found >= 0) {
            Descriptor stranger(found);
            ask_for_credentials(stranger);
            return stranger;
        }
        const bool is_passing = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
        if (!is_passing) throw SystemError("cannot accept a stream", errno, "Raise the limit of open files: ulimit -n");
    } while (wait_readable(listening.number(), deadline_ns));
    return Descriptor();
}

bool is_known_user(uid_t user, std::span<const uid_t> allowed) noexcept {
    return user == geteuid() || user == 0 || std::find(allowed.begin(), allowed.end(), user) != allowed.end();
}

bool of_known_user(const Descriptor& socket, std::span<const uid_t> allowed) noexcept {
    ucred peer{};
    socklen_t n_bytes = sizeof peer;
    return getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &n_bytes) == 0 &&
           is_known_user(peer.uid, allowed);
}

Descriptor open_process(pid_t process) noexcept {
    if (process <= 0 || process == getpid()) return Descriptor();
    return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

void unlink_address(const std::string& address) noexcept {
    if (address.front() != '@') unlink(address.c_str());
}

bool send_packet(const Descriptor& socket, std::span<const std::byte> packet,
                 std::span<const int> descriptors) noexcept {
    iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(most_descriptors * sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen =
        CMSG_SPACE(sizeof(ucred)) + (descriptors.empty() ? 0 : CMSG_SPACE(descriptors.size_bytes()));
    const ucred self{getpid(), geteuid(), getegid()};
    cmsghdr* attached = CMSG_FIRSTHDR(&message);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_CREDENTIALS;
    attached->cmsg_len = CMSG_LEN(sizeof self);
    std::memcpy(CMSG_DATA(attached), &self, sizeof self);
    if (!descriptors.empty()) {
        attached = CMSG_NXTHDR(&message, attached);
        attached->cmsg_level = SOL_SOCKET;
        attached->cmsg_type = SCM_RIGHTS;
        attached->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(attached), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(packet.size());
}

PacketStatus receive_packet(const Descriptor& socket, std::span<std::byte> packet, Attached& attached,
                            Nanoseconds deadline_ns) {
    iovec part{packet.data(), packet.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(most_descriptors * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (!wait_readable(socket.number(), deadline_ns)) return PacketStatus::silent;
    const ssize_t n_bytes = recvmsg(socket.number(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n_bytes <= 0) return PacketStatus::gone;
    take_attached(message, attached);
    const bool is_whole =
        static_cast<std::size_t>(n_bytes) == packet.size() && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    return is_whole ? PacketStatus::ok : PacketStatus::malformed;
}

}  // namespace anello::stream
