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

/// An event descriptor, for waking a thread. Throws SystemError.
Descriptor make_event_descriptor();
void signal_event(const Descriptor& event) noexcept;  ///< Any thread.
bool take_event(const Descriptor& event) noexcept;    ///< Whether it was signalled since it was last taken.

/// A descriptor that is readable once a time has come. Throws SystemError.
Descriptor make_timer_descriptor();
/// Readable after after_ns, at once if that is not above 0; not readable before, even if it was.
void set_timer(const Descriptor& timer, Nanoseconds after_ns) noexcept;
void stop_timer(const Descriptor& timer) noexcept;  ///< Not readable any more.

Descriptor make_epoll();  ///< Throws SystemError.
/// Tells `events` of `descriptor`, as EPOLL_CTL_ADD and EPOLL_CTL_MOD do, with `data`.
void watch(const Descriptor& epoll, int descriptor, std::uint64_t data, std::uint32_t events) noexcept;

}  // namespace anello
