// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_handle.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/errors.hpp"

namespace anello {
namespace {

constexpr Nanoseconds ns_per_s = 1'000'000'000;

Descriptor checked(int number, const char* what) {
    if (number < 0)
        throw SystemError(std::string("cannot open ") + what, errno, "Raise the limit of open files: `ulimit -n`.");
    return Descriptor(number);
}

void set(const Descriptor& timer, Nanoseconds after_ns) noexcept {
    itimerspec time{};
    time.it_value.tv_sec = after_ns / ns_per_s;
    time.it_value.tv_nsec = after_ns % ns_per_s;
    timerfd_settime(timer.number(), 0, &time, nullptr);
}

}  // namespace

Descriptor::~Descriptor() {
    if (number_ >= 0) close(number_);
}

Descriptor make_event_descriptor() {
    return checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "an event descriptor");
}

void signal_event(const Descriptor& event) noexcept {
    const std::uint64_t one = 1;
    // If the counter is full, the write fails, but the descriptor is readable, which is all that is needed.
    [[maybe_unused]] const auto written = write(event.number(), &one, sizeof one);
}

bool take_event(const Descriptor& event) noexcept {
    std::uint64_t count = 0;
    return read(event.number(), &count, sizeof count) == sizeof count;
}

Descriptor make_timer_descriptor() {
    return checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "a timer");
}

void set_timer(const Descriptor& timer, Nanoseconds after_ns) noexcept {
    set(timer, std::max<Nanoseconds>(after_ns, 1));  // the kernel takes 0 for "stop"
}

void stop_timer(const Descriptor& timer) noexcept {
    set(timer, 0);
}

Descriptor make_epoll() {
    return checked(epoll_create1(EPOLL_CLOEXEC), "an epoll descriptor");
}

void watch(const Descriptor& epoll, int descriptor, std::uint64_t data, std::uint32_t events) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = data;
    if (epoll_ctl(epoll.number(), EPOLL_CTL_ADD, descriptor, &event) != 0)
        epoll_ctl(epoll.number(), EPOLL_CTL_MOD, descriptor, &event);
}

}  // namespace anello
