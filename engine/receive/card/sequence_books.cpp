// SPDX-License-Identifier: Apache-2.0
#include "receive/card/sequence_books.hpp"

#include <bit>
#include <string>

#include "core/errors.hpp"

namespace anello::receive {
namespace {

constexpr std::size_t most_sources = 4096;

constexpr CardCounter counter_of(Arrival arrival) noexcept {
    switch (arrival) {
        case Arrival::late:
            return CardCounter::late;
        case Arrival::duplicate:
            return CardCounter::duplicates;
        case Arrival::stray:
            return CardCounter::strays;
        case Arrival::restarted:
            return CardCounter::restarts;
        case Arrival::in_order:
        case Arrival::conflicting:  // contents are not compared here
            break;
    }
    return CardCounter::in_order;
}

std::size_t hash_of(SourceAddress address, std::uint32_t source_id) noexcept {
    const std::uint64_t mixed = (address.value() ^ std::uint64_t{source_id} << 40) * 0x9e37'79b9'7f4a'7c15;
    return static_cast<std::size_t>((mixed ^ source_id) * 0x9e37'79b9'7f4a'7c15 >> 40);
}

}  // namespace

SequenceBooks::SequenceBooks(std::size_t max_sources, Counters<CardCounter> counters)
    : max_sources_(max_sources), counters_(counters), places_(std::bit_ceil(2 * max_sources), none) {
    if (max_sources == 0 || max_sources > most_sources)
        throw ConfigError("max_sources", "must be 1 to " + std::to_string(most_sources), std::to_string(max_sources),
                          "The default is 64.");
    followed_.reserve(max_sources);
    public_.reserve(max_sources);
}

// Hot path from here on: no allocation (all is reserved), no lock, no log, no throw.
void SequenceBooks::take(const wire::Summary& packet, SourceAddress address) noexcept {
    const bool is_numbered = packet.has_sequence && packet.n_numbers > 0;
    if (!is_numbered && !packet.says_next) return;
    const std::size_t index = index_of(address, packet.source_id);
    if (is_numbered) counters_.add(CardCounter::numbered);
    if (index == none) {
        if (is_numbered) counters_.add(CardCounter::untracked);
        return;
    }
    Followed& source = followed_[index];
    if (!source.tracker.started()) {
        source.tracker.join(packet.sequence);
        source.series = packet.series;
    }
    if (is_numbered)
        count(public_[index], follow(source, packet));
    else
        source.tracker.announce_next(packet.sequence);
    show_lost(index);
}

/// Entries are never freed, and there are twice as many as sources, so each search ends.
std::size_t SequenceBooks::index_of(SourceAddress address, std::uint32_t source_id) noexcept {
    std::size_t place = hash_of(address, source_id) % places_.size();
    for (; places_[place] != none; place = (place + 1) % places_.size()) {
        const SequencedSource& source = public_[places_[place]];
        if (source.address == address && source.source_id == source_id) return places_[place];
    }
    if (public_.size() == max_sources_) return none;
    places_[place] = static_cast<std::uint16_t>(public_.size());
    public_.push_back({.address = address, .source_id = source_id});
    followed_.emplace_back();
    counters_.set(CardCounter::sources, public_.size());
    return places_[place];
}

/// A newer series begins at 0. Packets of an older series are late, unless several come in a row.
bool SequenceBooks::is_of_series(Followed& source, std::uint32_t series) noexcept {
    if (series == source.series) {
        source.n_of_older_series = 0;
        return true;
    }
    const bool is_newer = static_cast<std::int32_t>(series - source.series) > 0;
    if (!is_newer && ++source.n_of_older_series < confirm_series) return false;
    source.tracker.restart();
    source.series = series;
    source.n_of_older_series = 0;
    return true;
}

Arrival SequenceBooks::follow(Followed& source, const wire::Summary& packet) noexcept {
    if (!is_of_series(source, packet.series)) return Arrival::stray;
    return source.tracker.accept(packet.sequence, packet.n_numbers);
}

void SequenceBooks::count(SequencedSource& source, Arrival arrival) noexcept {
    counters_.add(counter_of(arrival));
    ++source.n_packets;
    source.n_late += arrival == Arrival::late ? 1 : 0;
    source.n_duplicates += arrival == Arrival::duplicate ? 1 : 0;
    source.n_strays += arrival == Arrival::stray ? 1 : 0;
    source.n_restarts += arrival == Arrival::restarted ? 1 : 0;
}

/// Updates the number of lost packets, which a late packet reduces.
void SequenceBooks::show_lost(std::size_t index) noexcept {
    const std::uint64_t before = public_[index].n_lost, now = followed_[index].tracker.n_lost();
    if (now == before) return;
    public_[index].n_lost = now;
    counters_.set(CardCounter::lost, counters_[CardCounter::lost] + now - before);
}

}  // namespace anello::receive
