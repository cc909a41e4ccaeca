// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "core/clock.hpp"

namespace anello {

/// A descriptor that closes itself.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) noexcept : number_(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        Descriptor moved(std::move(other));
        std::swap(number_, moved.number_);
        return *this;
    }

    int number() const noexcept { return number_; }
    bool open() const noexcept { return number_ >= 0; }

  private:
    int number_;
};

/// An event descriptor (eventfd) that wakes a thread. Throws SystemError.
Descriptor make_event_descriptor();
void signal_event(const Descriptor& event) noexcept;  ///< Any thread.
bool take_event(const Descriptor& event) noexcept;    ///< True if it was signalled since the last take_event().

/// A timer descriptor (timerfd), readable once its time has come. Throws SystemError.
Descriptor make_timer_descriptor();
/// The timer becomes readable after after_ns, immediately if that is 0 or less. A timer that was already readable is
/// reset.
void set_timer(const Descriptor& timer, Nanoseconds after_ns) noexcept;
void stop_timer(const Descriptor& timer) noexcept;  ///< The timer is not readable afterwards.

Descriptor make_epoll();  ///< Throws SystemError.
/// Makes `epoll` report `events` of `descriptor` with `data`: EPOLL_CTL_ADD, or EPOLL_CTL_MOD if it is already watched.
void watch(const Descriptor& epoll, int descriptor, std::uint64_t data, std::uint32_t events) noexcept;

}  // namespace anello
