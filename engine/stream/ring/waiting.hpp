// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "core/clock.hpp"
#include "stream/ring/ring_ends.hpp"
#include "stream/stream_config.hpp"
#include "stream/stream_status.hpp"

namespace anello::stream {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The time limit of one call, for all of its waits; reads the clock only if there is a wait.
class Patience {
  public:
    explicit Patience(Nanoseconds timeout_ns) noexcept : timeout_ns_(std::max<Nanoseconds>(timeout_ns, 0)) {}

    bool none() const noexcept { return timeout_ns_ == 0; }
    Nanoseconds left_ns() noexcept {
        if (none() || timeout_ns_ == no_deadline_ns) return timeout_ns_;
        const Nanoseconds now_ns = SystemClock::instance().monotonic_ns();
        if (begin_ns_ == 0) begin_ns_ = now_ns;
        // With the time used up, the result is a timeout and not would_block.
        return std::max<Nanoseconds>(timeout_ns_ - (now_ns - begin_ns_), 1);
    }

  private:
    Nanoseconds timeout_ns_, begin_ns_ = 0;
};

/// One wait of one side, according to its mode, until a deadline.
class Waiting {
  public:
    static constexpr Nanoseconds alive_check_ns = 1'000'000;
    static constexpr Nanoseconds interrupt_check_ns = 100'000'000;
    static constexpr int looks_per_clock = 32;

    Waiting(const StreamConfig& config, Nanoseconds timeout_ns, const Clock& clock = SystemClock::instance()) noexcept
        : clock_(clock), now_ns_(now()), interrupted_(config.interrupted) {
        last_check_ns_ = last_question_ns_ = now_ns_;
        deadline_ns_ = timeout_ns > no_deadline_ns - now_ns_ ? no_deadline_ns : now_ns_ + timeout_ns;
        const Nanoseconds spin_end_ns = now_ns_ + std::min(config.spin_ns, Nanoseconds{1} << 40);
        spin_until_ns_ = config.wait == WaitMode::spin              ? deadline_ns_
                         : config.wait == WaitMode::spin_then_sleep ? std::min(deadline_ns_, spin_end_ns)
                                                                    : now_ns_;
    }

    /// look() returns would_block while there is nothing; ask() requests the bell. Returns the result of look(), or
    /// timeout or peer_died. Adds to n_sleeps.
    template <typename Look, typename Ask>
    StreamStatus wait(RingEnd& end, std::uint64_t& n_sleeps, Look look, Ask ask) noexcept {
        const StreamStatus spun = spin(end, look);
        return spun != StreamStatus::would_block ? spun : sleep(end, n_sleeps, look, ask);
    }

  private:
    Nanoseconds now() const noexcept { return clock_.monotonic_ns(); }

    template <typename Look>
    StreamStatus spin(RingEnd& end, Look look) noexcept {
        while (now_ns_ < spin_until_ns_) {
            for (int i = 0; i < looks_per_clock; ++i) {
                if (const StreamStatus found = look(); found != StreamStatus::would_block) return found;
                pause_processor();
            }
            now_ns_ = now();
            if (now_ns_ - last_check_ns_ < alive_check_ns) continue;
            last_check_ns_ = now_ns_;
            if (!end.peer_alive()) return last_words(look);
            if (is_interrupted()) return StreamStatus::timeout;
        }
        return StreamStatus::would_block;
    }

    template <typename Look, typename Ask>
    StreamStatus sleep(RingEnd& end, std::uint64_t& n_sleeps, Look look, Ask ask) noexcept {
        for (;;) {
            end.quiet_bell();
            ask();
            StreamStatus found = look();
            if (found == StreamStatus::would_block && !end.peer_alive()) found = last_words(look);
            if (found == StreamStatus::would_block && (now() >= deadline_ns_ || is_interrupted()))
                found = StreamStatus::timeout;
            if (found != StreamStatus::would_block) {
                end.take_wish_back();
                return found;
            }
            ++n_sleeps;
            sleep_until_deadline(end.descriptor());
        }
    }

    /// Data that a peer published before it died is valid.
    template <typename Look>
    static StreamStatus last_words(Look look) noexcept {
        const StreamStatus found = look();
        return found == StreamStatus::would_block ? StreamStatus::peer_died : found;
    }

    void sleep_until_deadline(int descriptor) const noexcept {
        pollfd watched{descriptor, POLLIN, 0};
        const Nanoseconds longest_ns = interrupted_ == nullptr ? no_deadline_ns : interrupt_check_ns;
        const Nanoseconds left_ns = std::clamp<Nanoseconds>(deadline_ns_ - now(), 0, longest_ns);
        const timespec left{static_cast<time_t>(left_ns / 1'000'000'000), static_cast<long>(left_ns % 1'000'000'000)};
        ppoll(&watched, 1, &left, nullptr);
    }

    bool is_interrupted() noexcept {
        if (interrupted_ == nullptr || now() - last_question_ns_ < interrupt_check_ns) return false;
        last_question_ns_ = now();
        return interrupted_();
    }

    const Clock& clock_;
    Nanoseconds now_ns_, last_check_ns_, last_question_ns_, deadline_ns_, spin_until_ns_;
    bool (*interrupted_)() noexcept;
};

}  // namespace anello::stream
