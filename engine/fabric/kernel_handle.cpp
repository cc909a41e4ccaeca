// SPDX-License-Identifier: Apache-2.0
#include "fabric/kernel_handle.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "core/errors.hpp"

namespace anello::fabric {

Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

Descriptor make_event_descriptor() {
    Descriptor event(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!event.open())
        throw SystemError("cannot open an event descriptor", errno, "Raise the limit of open files: `ulimit -n`.");
    return event;
}

void signal_event(const Descriptor& event) noexcept {
    const std::uint64_t one = 1;
    // A full counter is readable already, which is all that is wanted.
    [[maybe_unused]] const auto written = write(event.number(), &one, sizeof one);
}

bool take_event(const Descriptor& event) noexcept {
    std::uint64_t count = 0;
    return read(event.number(), &count, sizeof count) == sizeof count;
}

Descriptor make_epoll() {
    Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.open())
        throw SystemError("cannot open an epoll descriptor", errno, "Raise the limit of open files: `ulimit -n`.");
    return epoll;
}

void watch(const Descriptor& epoll, int descriptor, std::uint64_t data, std::uint32_t events) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    if (epoll_ctl(epoll.number(), EPOLL_CTL_ADD, descriptor, &event) != 0)
        epoll_ctl(epoll.number(), EPOLL_CTL_MOD, descriptor, &event);
}

}  // namespace anello::fabric
