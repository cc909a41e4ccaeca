// SPDX-License-Identifier: Apache-2.0
#include "exchange/station/node_units.hpp"

#include <algorithm>

namespace anello::exchange {

NodeUnits::NodeUnits(const ExchangeConfig& config, memory::Kind memory, MfpRing* ring, MepSink* sink,
                     const Clock& clock, CounterPage& page, Counters<StationCounter> counters)
    : config_(config), memory_(memory), ring_(ring), sink_(sink), clock_(clock), page_(page), counters_(counters) {}

/// A message has room for the whole farm.
OutboxConfig NodeUnits::outbox_config_of(const ExchangeConfig& config) noexcept {
    OutboxConfig outbox{.self = config.self, .n_nodes = config.farm.n_nodes()};
    outbox.max_entries = std::max(outbox.max_entries, static_cast<std::uint32_t>(outbox.n_nodes));
    return outbox;
}

void NodeUnits::join(fabric::Fabric& fabric) {
    outbox_ = std::make_unique<Outbox>(outbox_config_of(config_), fabric, clock_, counters_);
    if (config_.is_readout()) readout_ = std::make_unique<ReadoutUnit>(config_, *ring_, fabric, page_);
    if (config_.is_builder())
        builder_ = std::make_unique<BuilderUnit>(config_, memory_, !fabric.reliable(), *sink_, *outbox_, clock_, page_);
    if (config_.is_manager() || config_.is_standby())
        manager_ = std::make_unique<EventManager>(config_, config_.is_manager(), *outbox_, clock_, page_);
}

void NodeUnits::on_link(Node node, NodeLinks::Link& link) noexcept {
    if (link.is_up) link.received_life = link.life;
    if (link.is_up && link.is_usable) link.sent_life = link.life;
    const std::uint16_t readout = config_.farm.readout_of[node], builder = config_.farm.builder_of[node];
    if (readout_ && builder != no_unit) readout_->on_builder(builder, link.is_usable && link.is_up, link.listed.live);
    if (readout == no_unit) return;
    if (readout_) readout_->on_readout(readout, link.is_usable && link.is_up);
    if (!builder_) return;
    builder_->on_connection(readout, link.is_up);
    builder_->on_readout(readout, link.is_usable, link.listed.first_mep);
}

void NodeUnits::on_done(Node to, std::uint64_t token, fabric::Status status) noexcept {
    if ((token & Outbox::token_bit) != 0) return outbox_->on_done(token);
    const std::uint16_t builder = config_.farm.builder_of[to];
    if (readout_ && builder != no_unit) readout_->on_done(builder, token, status);
}

void NodeUnits::on_credit(Node from, std::span<const std::byte> entries) noexcept {
    const std::uint16_t builder = config_.farm.builder_of[from];
    if (builder == no_unit) return counters_.add(StationCounter::malformed);
    for_each_entry<Credit>(entries, [&](const Credit& credit) { manager_->on_credit(builder, credit); });
}

void NodeUnits::on_request(Node from, std::span<const std::byte> entries) noexcept {
    const std::uint16_t builder = config_.farm.builder_of[from];
    if (builder == no_unit || !readout_) return counters_.add(StationCounter::malformed);
    for_each_entry<Assignment>(entries, [&](const Assignment& entry) {
        if (entry.builder == builder) return readout_->on_assigned(entry);
        counters_.add(StationCounter::malformed);
    });
}

void NodeUnits::on_assign(std::span<const std::byte> entries) noexcept {
    if (readout_ && config_.protocol == Protocol::shift) readout_->on_round(entries);
    const std::uint16_t self = config_.farm.builder_of[config_.self];
    for_each_entry<Assignment>(entries, [&](const Assignment& entry) {
        if (readout_ && config_.protocol == Protocol::push) readout_->on_assigned(entry);
        if (builder_ && entry.builder == self) builder_->on_assigned(entry);
        if (is_standing_by()) manager_->follow_assignment(entry);
    });
}

void NodeUnits::on_again(std::span<const std::byte> entries) noexcept {
    const std::uint16_t self = config_.farm.builder_of[config_.self];
    for (; entries.size() >= entry_bytes; entries = entries.subspan(entry_bytes)) {
        if (readout_) readout_->on_again(entries.first(entry_bytes));
        Assignment entry;
        read(entries.data(), entry);
        if (builder_ && entry.builder == self) builder_->on_assigned(entry);
    }
}

void NodeUnits::on_cancel(std::span<const std::byte> entries) noexcept {
    if (!readout_) return;
    for_each_entry<Assignment>(entries, [this](const Assignment& entry) { readout_->on_cancelled(entry); });
}

void NodeUnits::begin_run(std::uint64_t first_mep) noexcept {
    if (readout_) readout_->begin_at(first_mep);
    if (builder_) builder_->offer_all();
}

bool NodeUnits::is_empty() const noexcept {
    return (!builder_ || builder_->is_empty()) && (!readout_ || readout_->is_empty());
}

void NodeUnits::finish() noexcept {
    if (readout_) readout_->finish();
}

void NodeUnits::settle() noexcept {
    if (readout_) readout_->settle();
    if (builder_) builder_->settle();
    if (manager_) manager_->settle();
}

}  // namespace anello::exchange
