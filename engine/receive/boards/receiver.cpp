// SPDX-License-Identifier: Apache-2.0
#include "receive/boards/receiver.hpp"

#include <algorithm>
#include <utility>

#include "core/assert.hpp"
#include "core/errors.hpp"
#include "core/thread.hpp"

namespace anello::receive {
namespace {

constexpr Nanoseconds backend_counts_every_ns = 100'000'000;  // counting takes one system call per stream

}  // namespace

Receiver::Receiver(std::unique_ptr<Backend> backend, std::vector<std::unique_ptr<StreamReceiver>> streams,
                   const Clock& clock, std::size_t max_datagrams_per_call)
    : backend_(std::move(backend)),
      streams_(std::move(streams)),
      clock_(clock),
      batch_(max_datagrams_per_call),
      times_(*backend_, clock),
      backend_counts_shown_ns_(clock.monotonic_ns()) {
    if (backend_->n_streams() != streams_.size())
        throw ConfigError("streams", "as many streams as the backend has ports",
                          std::to_string(streams_.size()) + " for " + std::to_string(backend_->n_streams()),
                          "Configure one stream per port.");
    if (batch_.empty()) throw ConfigError("max_batch", "at least 1 datagram per call", "0", "Leave it at its default.");
}

std::size_t Receiver::do_work() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    times_.begin(now_ns);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
        streams_[i]->on_time(now_ns);
        backend_->set_wanted(static_cast<std::uint16_t>(i), streams_[i]->wants_data());
    }
    const std::size_t n_datagrams = backend_->receive(batch_);
    for (std::size_t i = 0; i < n_datagrams; ++i) {
        ANELLO_ASSERT(batch_[i].stream < streams_.size());
        streams_[batch_[i].stream]->on_datagram(batch_[i]);
    }
    times_.see(std::span(batch_).first(n_datagrams));
    times_.end();
    for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i]->on_read(times_.until_ns(i));
    if (now_ns - backend_counts_shown_ns_ >= backend_counts_every_ns) {
        backend_counts_shown_ns_ = now_ns;
        show_backend_counts();
    }
    return n_datagrams;
}

bool Receiver::gathers() const noexcept {
    return std::ranges::any_of(streams_, [](const auto& stream) { return stream->gathers(); });
}

Nanoseconds Receiver::longest_wait_ns() const noexcept {
    if (is_waiting()) return usual_wait_ns;  // the next stage may return a buffer at any time
    const Nanoseconds now_ns = clock_.monotonic_ns();
    Nanoseconds wait_ns = StreamReceiver::longest_wait_ns;
    for (const auto& stream : streams_) wait_ns = std::min(wait_ns, stream->until_due_ns(now_ns));
    return wait_ns;
}

bool Receiver::is_waiting() const noexcept {
    return std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) { return !stream->wants_data(); });
}

bool Receiver::finish() noexcept {
    show_backend_counts();
    bool all = true;
    for (const auto& stream : streams_) all &= stream->finish();
    return all;
}

void Receiver::show_backend_counts() noexcept {
    for (std::uint16_t i = 0; i < streams_.size(); ++i) {
        streams_[i]->set_kernel_dropped(backend_->kernel_dropped(i));
        streams_[i]->set_super_packets(backend_->n_super_packets(i));
    }
}

}  // namespace anello::receive
