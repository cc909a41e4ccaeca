// SPDX-License-Identifier: Apache-2.0
#include "pipeline/datagram_intake.hpp"

#include <fmt/format.h>

#include <utility>

#include "pipeline/intake.hpp"

namespace anello::pipeline {
namespace {

constexpr Nanoseconds show_every_ns = 100'000'000;  // showing takes a system call per port

}  // namespace

DatagramIntake::DatagramIntake(std::unique_ptr<receive::Backend> backend, DatagramUser& user,
                               std::uint32_t batch_datagrams, const Clock& clock, CounterPage& page)
    : backend_(std::move(backend)),
      user_(user),
      clock_(clock),
      batch_(batch_datagrams),
      times_(*backend_, clock),
      dropped_(backend_->n_streams()) {
    for (std::size_t i = 0; i < backend_->n_streams(); ++i)
        ports_.push_back(page.add_block<receive::PortCounter>(fmt::format("receive.port{}", i)));
}

Stage DatagramIntake::stage() {
    return {
        .name = "receive",
        .do_work = [this](std::uint32_t) { return reading_work(*backend_, work()); },
        .rest_below = rest_below_datagrams,
        .wake_descriptor = [this](std::uint32_t) { return backend_->descriptor(); },
        .longest_wait_ns = [this](std::uint32_t) { return user_.has_room() ? user_.longest_wait_ns() : usual_wait_ns; },
        .drain = [this] { phase_.store(Phase::draining, std::memory_order_release); },  // pairs with work()
        .is_drained = [this] { return phase_.load(std::memory_order_acquire) == Phase::drained; }};
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t DatagramIntake::work() noexcept {
    const Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::drained) return 0;
    const bool has_room = user_.has_room();
    const std::size_t n_datagrams = has_room ? receive_batch() : 0;
    const bool all_read = has_room && n_datagrams == 0;
    const std::size_t n_done = user_.end_batch(times_.until_ns());
    const bool is_end = all_read && phase == Phase::draining && !backend_->has_more_coming();
    show_backend(is_end);
    if (is_end) {
        user_.finish();
        phase_.store(Phase::drained, std::memory_order_release);  // pairs with is_drained
    }
    return n_datagrams + n_done;
}

std::size_t DatagramIntake::receive_batch() noexcept {
    times_.begin(clock_.monotonic_ns());
    const std::size_t n_datagrams = backend_->receive(batch_);
    if (n_datagrams > 0) {
        const Nanoseconds now_ns = clock_.monotonic_ns();
        last_came_ns_.store(now_ns, std::memory_order_relaxed);
        user_.begin_batch(now_ns);
    }
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        ports_[batch_[i].stream].add(receive::PortCounter::datagrams);
        ports_[batch_[i].stream].add(receive::PortCounter::bytes, batch_[i].bytes.size());
        user_.use(batch_[i]);
    }
    times_.see(std::span(batch_).first(n_datagrams));
    times_.end();
    return n_datagrams;
}

void DatagramIntake::show_backend(bool now) noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (!now && shown_ns_ != 0 && now_ns - shown_ns_ < show_every_ns) return;
    shown_ns_ = now_ns;
    for (std::uint16_t i = 0; i < ports_.size(); ++i) {
        ports_[i].set(receive::PortCounter::kernel_dropped, backend_->kernel_dropped(i));
        ports_[i].set(receive::PortCounter::super_packets, backend_->n_super_packets(i));
    }
}

std::vector<std::uint16_t> DatagramIntake::ports() const {
    std::vector<std::uint16_t> ports(backend_->n_streams());
    for (std::uint16_t i = 0; i < ports.size(); ++i) ports[i] = backend_->port(i);
    return ports;
}

void DatagramIntake::add_notices(Notices& notices) {
    for (std::size_t port = 0; port < ports_.size(); ++port)
        if (const auto n = dropped_[port].added(ports_[port][receive::PortCounter::kernel_dropped]); n > 0)
            notices.push_back(fmt::format(
                "port {}: the kernel dropped {} datagrams; raise receive.socket_buffer_bytes, or lower the rate", port,
                n));
    trouble_.look(backend_->trouble(), notices);
}

void DatagramIntake::add_states(States& states) const {
    states["receive"] = backend_->describe();
}

}  // namespace anello::pipeline
