// SPDX-License-Identifier: Apache-2.0
#include "ring_share.hpp"

#include <atomic>
#include <utility>

#include "settings.hpp"

namespace anello::zeromq {
namespace {

std::atomic<std::size_t> taken_bytes{0};

}  // namespace

std::optional<RingShare> RingShare::try_take(std::size_t n_bytes) noexcept {
    RingShare share(n_bytes);
    const std::size_t before = taken_bytes.fetch_add(n_bytes, std::memory_order_relaxed);
    if (before + n_bytes > settings().all_rings_bytes) return {};
    return share;
}

RingShare::RingShare(RingShare&& other) noexcept : n_bytes_(std::exchange(other.n_bytes_, 0)) {}

RingShare::~RingShare() {
    taken_bytes.fetch_sub(n_bytes_, std::memory_order_relaxed);
}

}  // namespace anello::zeromq
