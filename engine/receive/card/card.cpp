// SPDX-License-Identifier: Apache-2.0
#include "receive/card/card.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t datagrams_per_call = 256;
constexpr Nanoseconds show_every_ns = 100'000'000;  // showing takes one system call per port

}  // namespace

Card::Card(BackendConfig backend, ThreadConfig thread, const Clock& clock)
    : config_(std::move(backend)), thread_config_(std::move(thread)), clock_(clock), batch_(datagrams_per_call) {
    if (config_.datagram_length == nullptr) config_.datagram_length = wire::any_datagram_bytes;
    thread_config_.rest_below = 3;  // one or two datagrams, or a buffer that waits for its gathering time
}

Clop& Card::register_buffers(const ClopConfig& config) {
    if (backend_ != nullptr)
        throw ConfigError("port", "must be registered before the card is opened", std::to_string(config.port),
                          "Open another card for it.");
    refuse_shared(config.buffers.given);
    clops_.push_back(std::make_unique<Clop>(config, page_, clops_.size()));
    given_.push_back(config.buffers.given);
    config_.ports.push_back(config.port);
    return *clops_.back();
}

void Card::refuse_shared(std::span<const std::byte> given) const {
    const auto shares = [&](std::span<const std::byte> other) {
        return std::less()(given.data(), other.data() + other.size()) &&
               std::less()(other.data(), given.data() + given.size());
    };
    if (!given.empty() && std::any_of(given_.begin(), given_.end(), shares))
        throw ConfigError("memory", "must be the memory of one list only", std::to_string(given.size()) + " bytes",
                          "Another port's buffers use this memory.");
}

void Card::open() {
    if (backend_ != nullptr || stopped_) return;
    backend_ = make_backend(config_, clock_);
    for (std::uint16_t i = 0; i < clops_.size(); ++i) clops_[i]->set_port(backend_->port(i));
}

void Card::start() {
    open();
    if (thread_ != nullptr || stopped_) return;
    thread_ = std::make_unique<WorkerThread>(thread_config_, [this] { return do_work(); });
    thread_->start();
}

void Card::stop() noexcept {
    if (std::exchange(stopped_, true)) return;
    if (thread_ != nullptr) thread_->stop();
    if (backend_ != nullptr) show(0);
    for (; next_ < n_batch_; ++next_) clops_[batch_[next_].stream]->drop(batch_[next_]);
    for (const auto& clop : clops_) clop->finish();
}

// Hot path from here on: no allocation, no lock, no log, no throw.
std::size_t Card::do_work() noexcept {
    if (next_ == n_batch_) receive();
    const Nanoseconds now_ns = clock_.monotonic_ns();
    const std::size_t n_placed = place(now_ns);
    std::size_t n_open = 0;
    for (const auto& clop : clops_) n_open += clop->on_time(now_ns) ? 1 : 0;
    if (now_ns - shown_ns_ >= show_every_ns) show(now_ns);
    if (n_batch_ == 0 && backend_->finished())
        for (const auto& clop : clops_)
            if (!clop->is_finished()) clop->finish();
    return n_placed + n_open;
}

void Card::receive() noexcept {
    for (std::uint16_t i = 0; i < clops_.size(); ++i) backend_->set_wanted(i, clops_[i]->wants(batch_.size()));
    n_batch_ = backend_->receive(batch_);
    next_ = 0;
}

/// Datagrams that find no buffer stay in the batch.
std::size_t Card::place(Nanoseconds now_ns) noexcept {
    const std::size_t first = next_;
    while (next_ < n_batch_ && clops_[batch_[next_].stream]->try_add(batch_[next_], now_ns)) ++next_;
    return next_ - first;
}

void Card::show(Nanoseconds now_ns) noexcept {
    shown_ns_ = now_ns;
    for (std::uint16_t i = 0; i < clops_.size(); ++i)
        clops_[i]->show(backend_->kernel_dropped(i), backend_->n_super_packets(i));
}

}  // namespace anello::receive
