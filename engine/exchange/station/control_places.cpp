// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/control_places.hpp"

#include <algorithm>

namespace anello::exchange {

/// PERF NOTE: only the manager sends lists of all nodes; other nodes send at most one entry per slot of a builder. With
/// places of one size a farm of 500 nodes took 32 MB per node for them, now 1.4 MB.
ControlPlaces::ControlPlaces(const ExchangeConfig& config, std::uint32_t max_entries)
    : manager_(config.farm.manager),
      standby_(config.farm.standby),
      place_bytes_(std::min<std::size_t>(max_entries, config.n_credits + 1) * entry_bytes),
      manager_place_bytes_(max_entries * entry_bytes),
      placed_(config.farm.n_nodes()),
      memory_(n_places * (placed_.size() * place_bytes_ + (standby_ == no_node ? 1 : 2) * manager_place_bytes_)) {}

std::span<std::byte> ControlPlaces::give(Node from, std::uint32_t sequence, std::size_t n_bytes) noexcept {
    auto& placed = placed_[from];
    const auto free = std::find(placed.begin(), placed.end(), 0U);
    const bool is_on_its_way =
        std::find(placed.begin(), placed.end(), sequence) != placed.end();  // 0: not a control message
    const std::size_t place_bytes = sends_lists(from) ? manager_place_bytes_ : place_bytes_;
    if (n_bytes > place_bytes || free == placed.end() || is_on_its_way) return {};
    *free = sequence;
    std::size_t first = (sends_lists(from) ? placed_.size() : from) * n_places * place_bytes_;
    if (from == standby_) first += n_places * manager_place_bytes_;
    return std::span(memory_).subspan(first + static_cast<std::size_t>(free - placed.begin()) * place_bytes, n_bytes);
}

void ControlPlaces::free(Node from, std::uint32_t sequence) noexcept {
    for (std::uint32_t& placed : placed_[from])
        if (placed == sequence) placed = 0;
}

}  // namespace anello::exchange
