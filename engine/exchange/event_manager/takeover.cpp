// SPDX-License-Identifier: Apache-2.0
#include "exchange/event_manager/takeover.hpp"

#include <algorithm>
#include <limits>

namespace anello::exchange {

Takeover::Takeover(const ExchangeConfig& config)
    : config_(config),
      nodes_(config.farm.n_nodes()),
      slots_(config.farm.builders.size() * config.n_credits),
      n_built_(config.n_credits + config.n_unheard()),
      built_(config.farm.builders.size() * n_built_) {}

bool Takeover::on_follow(Node node, const MessageHeader& header, const Totals& totals,
                         std::span<const std::byte> assignments) noexcept {
    const std::uint16_t builder = config_.farm.builder_of[node];
    Told& told = nodes_[node];
    told.asked_end = header.mep;
    told.known_end = std::max(told.known_end, header.mep);
    told.totals = totals;
    told.is_ended = (header.slot & FollowFlag::ended) != 0;
    told.has_begun = (header.slot & FollowFlag::begun) != 0;
    for (; assignments.size() >= entry_bytes; assignments = assignments.subspan(entry_bytes)) {
        Assignment entry;
        read(assignments.data(), entry);
        if (builder == no_unit || entry.builder != builder) return false;
        if (entry.slot == built_lately && told.n_built < n_built_) {
            built_[builder * n_built_ + told.n_built++] = entry.mep;
            told.known_end = std::max(told.known_end, entry.mep + 1);
            continue;
        }
        if (entry.slot >= config_.n_credits) return false;
        slots_[std::size_t{builder} * config_.n_credits + entry.slot] = {true, entry.use, entry.mep};
        if (entry.mep != free_slot) told.known_end = std::max(told.known_end, entry.mep + 1);
    }
    told.has_followed = (header.slot & FollowFlag::last) != 0;
    if (told.has_followed && builder != no_unit)
        std::ranges::sort(std::span(built_).subspan(builder * n_built_, told.n_built));
    return true;
}

void Takeover::forget(Node node) noexcept {
    nodes_[node] = {};
    const std::uint16_t builder = config_.farm.builder_of[node];
    if (builder == no_unit) return;
    const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(std::size_t{builder} * config_.n_credits);
    std::fill_n(first, config_.n_credits, Slot{});
}

std::uint64_t Takeover::known_end() const noexcept {
    std::uint64_t end = 0;
    for (const Told& told : nodes_)
        if (told.has_followed) end = std::max(end, told.known_end);
    return end;
}

bool Takeover::is_ended() const noexcept {
    return std::ranges::any_of(nodes_, [](const Told& told) { return told.has_followed && told.is_ended; });
}

std::uint64_t Takeover::known_to_all() const noexcept {
    std::uint64_t known = std::numeric_limits<std::uint64_t>::max();
    for (const Node node : config_.farm.readouts)
        if (nodes_[node].has_followed && nodes_[node].has_begun) known = std::min(known, nodes_[node].asked_end);
    return known;
}

}  // namespace anello::exchange
