// SPDX-License-Identifier: Apache-2.0
#include "km3net/slice_intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pipeline/intake.hpp"

namespace anello::km3net {
namespace {

constexpr Nanoseconds show_every_ns = 100'000'000;  // a system call per port

}  // namespace

SliceIntake::SliceIntake(std::unique_ptr<receive::Backend> backend, SliceBuilder& builder,
                         std::uint32_t batch_datagrams, const Clock& clock, CounterPage& page)
    : backend_(std::move(backend)),
      builder_(builder),
      clock_(clock),
      batch_(batch_datagrams),
      dropped_(backend_->n_streams()),
      seen_(builder.n_doms()) {
    for (std::size_t i = 0; i < backend_->n_streams(); ++i)
        ports_.push_back(page.add_block<receive::PortCounter>(fmt::format("receive.port{}", i)));
}

pipeline::Stage SliceIntake::stage() {
    return {.name = "receive",
            .do_work = [this](std::uint32_t) { return work(); },
            .rest_below = pipeline::rest_below_datagrams,
            .wake_descriptor = [this](std::uint32_t) { return backend_->descriptor(); },
            .drain = [this] { phase_.store(Phase::draining, std::memory_order_release); },  // pairs with work()
            .is_drained = [this] { return phase_.load(std::memory_order_acquire) == Phase::drained; },
            .add_notices = [this](pipeline::Notices& notices) { add_notices(notices); },
            .add_states = [this](pipeline::States& states) { add_states(states); }};
}

// Hot path: no allocation, no lock, no log, no throw.
std::size_t SliceIntake::work() noexcept {
    const Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::drained) return 0;
    const bool has_room = builder_.has_room();
    const std::size_t n_datagrams = has_room ? backend_->receive(batch_) : 0;
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        ports_[batch_[i].stream].add(receive::PortCounter::datagrams);
        ports_[batch_[i].stream].add(receive::PortCounter::bytes, batch_[i].bytes.size());
        builder_.place(batch_[i]);
    }
    const bool all_read = has_room && n_datagrams == 0;
    const std::size_t n_slices = builder_.pass_on(all_read);
    show_backend();
    if (all_read && phase == Phase::draining && !backend_->has_more_coming()) {
        shown_ns_ = 0;
        show_backend();
        builder_.finish();
        phase_.store(Phase::drained, std::memory_order_release);  // pairs with is_drained
    }
    return n_datagrams + n_slices;
}

void SliceIntake::show_backend() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    if (shown_ns_ != 0 && now_ns - shown_ns_ < show_every_ns) return;
    shown_ns_ = now_ns;
    for (std::uint16_t i = 0; i < ports_.size(); ++i) {
        ports_[i].set(receive::PortCounter::kernel_dropped, backend_->kernel_dropped(i));
        ports_[i].set(receive::PortCounter::super_packets, backend_->n_super_packets(i));
    }
}

std::vector<std::uint16_t> SliceIntake::ports() const {
    std::vector<std::uint16_t> ports(backend_->n_streams());
    for (std::uint16_t i = 0; i < ports.size(); ++i) ports[i] = backend_->port(i);
    return ports;
}

void SliceIntake::add_notices(pipeline::Notices& notices) {
    for (std::uint32_t dom = 0; dom < seen_.size(); ++dom) {
        const auto& counters = builder_.dom_counters(dom);
        const std::uint64_t n_silences = counters[DomCounter::silences];
        seen_[dom].silence.look(dom, n_silences > 0 && builder_.is_silent(dom), n_silences,
                                builder_.config().max_lag_slices * slice_ns, notices);
        if (const auto n = counters[DomCounter::strangers]; seen_[dom].strangers.is_due(n))
            notices.push_back(receive::stranger_words(dom, n, builder_.stranger(dom), builder_.source(dom)));
        if (const auto n = counters[DomCounter::ahead]; seen_[dom].ahead.is_due(n))
            notices.push_back(pipeline::ahead_words(dom, n));
        if (const auto n = counters[DomCounter::other_run]; seen_[dom].other_run.is_due(n))
            notices.push_back(
                fmt::format("board {}: {} datagrams so far of another run are not used; reset it", dom, n));
    }
    for (std::size_t port = 0; port < ports_.size(); ++port)
        if (const auto n = dropped_[port].added(ports_[port][receive::PortCounter::kernel_dropped]); n > 0)
            notices.push_back(fmt::format(
                "port {}: the kernel dropped {} datagrams; raise receive.socket_buffer_bytes, or lower the rate", port,
                n));
}

void SliceIntake::add_states(pipeline::States& states) const {
    for (std::uint32_t dom = 0; dom < seen_.size(); ++dom)
        states[fmt::format("board{}", dom)] = builder_.is_silent(dom) ? "silent" : "live";
    states["receive"] = backend_->describe();
    states["memory"] = pipeline::memory_words(builder_.store().buffers());
}

}  // namespace anello::km3net
