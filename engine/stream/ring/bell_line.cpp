// SPDX-License-Identifier: Apache-2.0
#include "stream/ring/bell_line.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "core/errors.hpp"

namespace anello::stream {
namespace {

Way other_than(Way way) noexcept {
    return way == Way::send ? Way::receive : Way::send;
}

void add_to(const Descriptor& epoll, const Descriptor& watched, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    if (epoll_ctl(epoll.number(), EPOLL_CTL_ADD, watched.number(), &event) != 0)
        throw SystemError("cannot watch a stream's bell", errno, "Raise the limit of open files: ulimit -n");
}

}  // namespace

BellLine::BellLine(Descriptor socket, Descriptor peer_process)
    : socket_(std::move(socket)), peer_process_(std::move(peer_process)), owner_(getpid()) {
    for (WakeTarget& each : targets_) each.event = make_event_descriptor();
}

BellLine::~BellLine() {
    hang_up();
}

bool BellLine::peer_alive() const noexcept {
    std::array<pollfd, 2> watched{{{socket_.number(), POLLRDHUP, 0}, {peer_process_.number(), POLLIN, 0}}};
    return poll(watched.data(), peer_process_.open() ? 2 : 1, 0) == 0;
}

/// Shuts the socket down, since closing it is not enough if a forked child still has it open.
void BellLine::hang_up() const noexcept {
    if (is_ours()) shutdown(socket_.number(), SHUT_RDWR);
}

bool BellLine::is_ours() const noexcept {
    return getpid() == owner_;
}

void BellLine::watch_with(const Descriptor& epoll, Way way) const {
    add_to(epoll, socket_, EPOLLIN | EPOLLRDHUP);
    add_to(epoll, targets_[static_cast<std::size_t>(way)].event, EPOLLIN);
    if (peer_process_.open()) add_to(epoll, peer_process_, EPOLLIN);
}

/// Called before the wish for a bell is stored (seq_cst), so that the thread that takes the bell's byte sees this.
void BellLine::listen(Way way, bool wants_bell) noexcept {
    target(way).is_armed.store(wants_bell, std::memory_order_release);  // pairs with take()
}

void BellLine::take(Way way) noexcept {
    std::byte bell{};
    if (recv(socket_.number(), &bell, sizeof bell, MSG_DONTWAIT) > 0) {
        WakeTarget& other = target(other_than(way));
        if (other.is_armed.load(std::memory_order_acquire)) {  // pairs with listen()
            signal_event(other.event);
            other.is_signalled.store(true,
                                     std::memory_order_release);  // pairs with the exchange below, after the event
        }
    }
    WakeTarget& own = target(way);
    if (own.is_signalled.load(std::memory_order_relaxed) && own.is_signalled.exchange(false, std::memory_order_acquire))
        take_event(own.event);
}

Bell::Bell(SharedLine line, Way way) : line_(std::move(line)), way_(way), both_(make_epoll()) {
    line_->watch_with(both_, way_);
}

}  // namespace anello::stream
