// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/switches.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/errors.hpp"
#include "source/random.hpp"

namespace anello::simulate {
namespace {

constexpr std::int64_t no_limit = std::int64_t{1} << 60;

}  // namespace

std::size_t SwitchesConfig::least_buffer_bytes() const noexcept {
    const double flying_bytes = static_cast<double>(latency_ns) * std::max(card_gbps, uplink_gbps) / 8;
    return cell_bytes + (cell_bytes / packet_bytes + 1) * packet_overhead_bytes +
           static_cast<std::size_t>(flying_bytes);
}

void SwitchesConfig::validate() const {
    const auto require = [](bool holds, const char* key, const char* rule, std::size_t given) {
        if (!holds) throw ConfigError(key, rule, std::to_string(given), "Take another value.");
    };
    require(nodes_per_leaf >= 1, "nodes_per_leaf", "must be above 0", nodes_per_leaf);
    require(n_spines >= 1, "n_spines", "must be above 0", n_spines);
    require(packet_bytes >= 1, "packet_bytes", "must be above 0", packet_bytes);
    require(cell_bytes >= 64, "cell_bytes", "must be at least 64", cell_bytes);
    const std::size_t n_cables = std::size_t{n_leaves()} * n_spines;
    require(n_failed_cables == 0 || n_failed_cables < n_cables, "n_failed_cables", "must leave cables between switches",
            n_failed_cables);
    require(buffer_bytes >= least_buffer_bytes(), "buffer_bytes",
            "must hold a cell, and the bytes that arrive until its sender stops", buffer_bytes);
}

Switches::Switches(const SwitchesConfig& config, World& world, Exit& exit)
    : config_((config.validate(), config)),
      world_(world),
      exit_(exit),
      is_cut_(std::size_t{config.n_leaves()} * config.n_spines),
      sum_until_ns_(config.n_nodes),
      pairs_(std::size_t{config.n_nodes} * config.n_nodes) {
    cut_cables();
    make_links();
}

// --- Layout

void Switches::cut_cables() {
    source::Random random(config_.seed, 0x6361626c65);
    for (std::uint32_t n_cut = 0; n_cut < config_.n_failed_cables;) {
        const std::uint32_t cable = random.below(static_cast<std::uint32_t>(is_cut_.size()));
        if (!is_cut_[cable]) ++n_cut;
        is_cut_[cable] = true;
    }
    for (std::uint16_t from = 0; from < config_.n_leaves(); ++from)
        for (std::uint16_t to = 0; to < from; ++to) {
            bool is_joined = false;
            for (std::uint16_t spine = 0; spine < config_.n_spines; ++spine)
                is_joined = is_joined || (is_whole(from, spine) && is_whole(to, spine));
            if (!is_joined)
                throw ConfigError("n_failed_cables", "must leave a way between any two leaf switches",
                                  std::to_string(config_.n_failed_cables), "Cut fewer, or take another seed.");
        }
}

/// The queues of a link lie at its end; those of a card, one for each receiver, precede all of them.
void Switches::make_links() {
    const auto n = config_.n_nodes, n_leaves = config_.n_leaves(), n_spines = config_.n_spines;
    queues_.resize(std::size_t{n} * n);
    for (Index node = 0; node < n; ++node) add(LinkKind::out, config_.card_gbps, 0, node % config_.nodes_per_leaf);
    first_in_ = n;
    for (Index node = 0; node < n; ++node) add(LinkKind::in, config_.card_gbps, node % config_.nodes_per_leaf, 0);
    first_up_ = static_cast<Index>(links_.size());
    if (n_leaves < 2) return;
    const Index behind_nodes = config_.nodes_per_leaf;
    for (Index leaf = 0; leaf < n_leaves; ++leaf)
        for (Index spine = 0; spine < n_spines; ++spine)
            add(LinkKind::up, config_.uplink_gbps, behind_nodes + spine, leaf);
    first_down_ = static_cast<Index>(links_.size());
    for (Index spine = 0; spine < n_spines; ++spine)
        for (Index leaf = 0; leaf < n_leaves; ++leaf)
            add(LinkKind::down, config_.uplink_gbps, leaf, behind_nodes + spine);
}

/// A sender learns of free room at once, not a latency later. A smaller buffer compensates for that: smaller by the
/// bytes that are on the link in that time, but not below half, as the data that fill a small buffer arrive once in two
/// latencies.
void Switches::add(LinkKind kind, double gbps, Index position, Index end_position) {
    const Index at_leaf = config_.nodes_per_leaf + config_.n_spines, at_spine = config_.n_leaves();
    const auto flying_bytes = static_cast<std::int64_t>(static_cast<double>(config_.latency_ns) * gbps / 8);
    Link link;
    link.kind = link.load.kind = kind;
    link.position = position;
    link.end_position = end_position;
    link.load.gbps = gbps;
    link.ns_per_byte = 8 / gbps;
    const auto buffer_bytes = static_cast<std::int64_t>(config_.buffer_bytes);
    link.capacity = kind == LinkKind::in ? no_limit : std::max(buffer_bytes - flying_bytes, buffer_bytes / 2);
    link.room = link.capacity;
    if (kind != LinkKind::out) link.is_ready.resize(((kind == LinkKind::down ? at_spine : at_leaf) + 63) / 64);
    link.queues = static_cast<Index>(queues_.size());
    if (kind != LinkKind::in) queues_.resize(queues_.size() + (kind == LinkKind::up ? at_spine : at_leaf));
    links_.push_back(std::move(link));
}

/// The link that enters at a port of the switch where this one begins.
Switches::Index Switches::input_of(Index which, Index position) const noexcept {
    const Link& link = links_[which];
    if (link.kind == LinkKind::down) return up_link(position, (which - first_down_) / config_.n_leaves());
    const Index leaf = link.kind == LinkKind::in ? (which - first_in_) / config_.nodes_per_leaf
                                                 : (which - first_up_) / config_.n_spines;
    if (position < config_.nodes_per_leaf) return leaf * config_.nodes_per_leaf + position;
    return down_link(leaf, position - config_.nodes_per_leaf);
}

bool Switches::is_way(std::uint16_t spine, Node from, Node to) const noexcept {
    return is_whole(leaf_of(from), spine) && is_whole(leaf_of(to), spine);
}

std::uint16_t Switches::emptiest_spine(const Packet& packet) const noexcept {
    std::uint16_t best = 0;
    std::size_t least_bytes = ~std::size_t{0};
    for (std::uint16_t spine = 0; spine < config_.n_spines && config_.n_leaves() > 1; ++spine) {
        const std::size_t bytes = links_[up_link(leaf_of(packet.from), spine)].queued_bytes;
        if (bytes >= least_bytes || !is_way(spine, packet.from, packet.to)) continue;
        least_bytes = bytes;
        best = spine;
    }
    return best;
}

std::uint16_t Switches::spine_of(const Packet& packet) const noexcept {
    if (config_.routing == Routing::spread) return emptiest_spine(packet);
    const auto n_spines = config_.n_spines;
    std::uint16_t best = n_spines;
    const std::uint64_t pair = std::uint64_t{packet.from} << 16 | packet.to;
    const std::uint64_t wanted = config_.routing == Routing::destination ? packet.to % config_.nodes_per_leaf
                                                                         : source::mix64(config_.seed ^ pair << 8);
    for (std::uint64_t i = 0; best == n_spines; ++i) {
        const auto spine = static_cast<std::uint16_t>((wanted + i) % n_spines);
        if (is_way(spine, packet.from, packet.to)) best = spine;
    }
    return best;
}

Switches::Index Switches::next_link(const Cell& cell) const noexcept {
    const Packet& packet = *messages_[cell.message].packet;
    const LinkKind came_over = links_[cell.link].kind;
    if (came_over == LinkKind::up) return down_link(leaf_of(packet.to), (cell.link - first_up_) % config_.n_spines);
    if (came_over == LinkKind::down || leaf_of(packet.from) == leaf_of(packet.to)) return first_in_ + packet.to;
    return up_link(leaf_of(packet.from), spine_of(packet));
}

// --- Transport of cells

template <typename Thing>
Switches::Index Switches::new_one(std::vector<Thing>& all, std::vector<Index>& free) {
    if (free.empty()) {
        all.emplace_back();
        return static_cast<Index>(all.size() - 1);
    }
    const Index index = free.back();
    free.pop_back();
    all[index] = {};
    return index;
}

std::size_t Switches::on_wire(std::size_t n_bytes) const noexcept {
    const std::size_t n_packets = std::max<std::size_t>(1, (n_bytes + config_.packet_bytes - 1) / config_.packet_bytes);
    return n_bytes + n_packets * config_.packet_overhead_bytes;
}

/// A message of one packet leaves before the next cell of others, as cards take turns by packet.
void Switches::send(PacketPointer packet) {
    const Index index = new_one(messages_, free_messages_), link = packet->from;
    const Index queue = Index{packet->from} * config_.n_nodes + packet->to;
    Message& message = messages_[index];
    message.packet = std::move(packet);
    if (is_word(*message.packet)) return send_word(index);
    message.left_bytes = message.packet->header_bytes + message.packet->charged_bytes();
    Pair& pair = pair_of(*message.packet);
    (pair.first == none ? pair.first : messages_[pair.last].next_of_pair) = index;
    pair.last = index;
    Queue& own = queues_[queue];
    if (own.head != none) {
        messages_[own.tail].next = index;
        own.tail = index;
        return;
    }
    own.head = own.tail = index;
    Link& card = links_[link];
    if (message.left_bytes <= config_.packet_bytes && card.first_queue != none) {
        own.next = card.first_queue;
        card.first_queue = queue;
    } else {
        put_into(queue, link);
    }
    serve(link);
}

/// All words take the same time, so that none overtakes another.
bool Switches::is_word(const Packet& packet) const noexcept {
    using enum Packet::Kind;
    if (packet.header_bytes + packet.charged_bytes() > word_bytes) return false;
    const bool passes = packet.kind == taken || packet.kind == read || packet.kind == word;
    return passes || pairs_[std::size_t{packet.from} * config_.n_nodes + packet.to].first == none;
}

void Switches::send_word(Index index) noexcept {
    Packet& packet = *messages_[index].packet;
    packet.left_ns = world_.monotonic_ns();
    messages_[index].has_left = true;
    const bool is_near = leaf_of(packet.from) == leaf_of(packet.to);
    const double gbps = is_near ? config_.card_gbps : std::min(config_.card_gbps, config_.uplink_gbps);
    const double each_ns =
        static_cast<double>(config_.latency_ns) + static_cast<double>(on_wire(word_bytes)) * 8 / gbps;
    put_down(packet.left_ns + static_cast<Nanoseconds>(each_ns * (is_near ? 2 : 4)), What::word, index);
}

void Switches::on_word(Index index) noexcept {
    const PacketPointer packet = std::exchange(messages_[index].packet, nullptr);
    free_messages_.push_back(index);
    exit_.on_first_bytes(packet);
    exit_.on_last_byte(packet);
}

/// Appends the queue to those that this card serves in turn.
void Switches::put_into(Index queue, Index link) noexcept {
    Link& card = links_[link];
    queues_[queue].next = none;
    (card.first_queue == none ? card.first_queue : queues_[card.last_queue].next) = queue;
    card.last_queue = queue;
}

/// The port whose turn it is, among those with a cell for this link; none: there is no cell.
Switches::Index Switches::front_of(const Link& link) const noexcept {
    const auto n_words = static_cast<Index>(link.is_ready.size());
    Index word = link.turn / 64;
    std::uint64_t ready = link.is_ready[word] & ~std::uint64_t{0} << (link.turn % 64);
    for (Index i = 0; i <= n_words; ++i) {
        if (ready != 0) return word * 64 + static_cast<Index>(std::countr_zero(ready));
        word = word + 1 == n_words ? 0 : word + 1;
        ready = link.is_ready[word];
    }
    return none;
}

void Switches::serve(Index which) noexcept {
    Link& link = links_[which];
    if (link.is_busy) return;
    const bool is_card = link.kind == LinkKind::out;
    const Index front = is_card ? link.first_queue : front_of(link);
    if (front == none) return;
    const Index queue = is_card ? front : links_[input_of(which, front)].queues + link.position;
    const std::size_t bytes = is_card ? on_wire(std::min(config_.cell_bytes, messages_[queues_[queue].head].left_bytes))
                                      : cells_[queues_[queue].head].bytes;
    const Nanoseconds now_ns = world_.monotonic_ns();
    const auto may_drop_next = [&] {
        return may_drop(is_card ? queues_[queue].head : cells_[queues_[queue].head].message);
    };
    if (link.room < static_cast<std::int64_t>(bytes) && !may_drop_next()) {
        if (link.stalled_since_ns == 0) link.stalled_since_ns = now_ns;
        return;
    }
    if (link.stalled_since_ns > 0) link.load.stalled_ns += now_ns - std::exchange(link.stalled_since_ns, 0);
    begin_cell(which, is_card ? take_of_card(which) : take_of_port(which, queue, front));
}

Switches::Index Switches::take_of_card(Index which) noexcept {
    Link& link = links_[which];
    const Index first = link.first_queue, cell = cut_cell(first);
    link.first_queue = queues_[first].next;
    if (queues_[first].head != none) put_into(first, which);
    return cell;
}

Switches::Index Switches::take_of_port(Index which, Index from, Index position) noexcept {
    Link& link = links_[which];
    Queue& queue = queues_[from];
    const Index cell = queue.head;
    queue.head = cells_[cell].next;
    link.queued_bytes -= cells_[cell].bytes;
    link.turn = position + 1 == link.is_ready.size() * 64 ? 0 : position + 1;
    if (queue.head == none) link.is_ready[position / 64] &= ~(std::uint64_t{1} << (position % 64));
    return cell;
}

/// A cell leaves while it arrives: its tail leaves no earlier than it arrives.
void Switches::begin_cell(Index which, Index index) noexcept {
    Link& link = links_[which];
    Cell& cell = cells_[index];
    cell.is_dropped = link.room < static_cast<std::int64_t>(cell.bytes);
    if (!cell.is_dropped) link.room -= cell.bytes;
    link.load.most_bytes = std::max(link.load.most_bytes, static_cast<std::size_t>(link.capacity - link.room));
    link.load.n_bytes += cell.bytes;
    link.is_busy = true;
    link.flying_bytes = cell.bytes;
    link.flying_from = cell.link;
    link.flying_message = cell.message;
    link.flying_is_last = cell.is_last;
    const Nanoseconds now_ns = world_.monotonic_ns();
    const auto takes_ns = [&](std::size_t bytes) {
        return std::max<Nanoseconds>(
            1, static_cast<Nanoseconds>(link.ns_per_byte * link.slowness * static_cast<double>(bytes) + 0.5));
    };
    const Nanoseconds own_ns = now_ns + takes_ns(cell.bytes);
    const Nanoseconds tail_ns = std::max({own_ns, cell.tail_ns, take_of_sum(which, cell.bytes)});
    const Nanoseconds first_ns = now_ns + takes_ns(std::min<std::size_t>(cell.bytes, on_wire(config_.packet_bytes)));
    cell.link = which;
    cell.tail_ns = tail_ns + config_.latency_ns;
    put_down(tail_ns, What::tail, which);
    if (link.kind == LinkKind::in) return put_down(cell.tail_ns, What::last, index);
    put_down(std::min(first_ns, tail_ns) + config_.latency_ns, What::head, index);
}

/// When a card with a common limit for both directions has transferred these bytes.
Nanoseconds Switches::take_of_sum(Index which, std::size_t bytes) noexcept {
    const Link& link = links_[which];
    const bool is_of_card = link.kind == LinkKind::out || link.kind == LinkKind::in;
    if (config_.card_sum_gbps <= 0 || !is_of_card) return 0;
    double& until_ns = sum_until_ns_[link.kind == LinkKind::out ? which : which - first_in_];
    until_ns = std::max(until_ns, static_cast<double>(world_.monotonic_ns())) +
               static_cast<double>(bytes) * 8 / config_.card_sum_gbps;
    return static_cast<Nanoseconds>(until_ns);
}

void Switches::put_down(Nanoseconds when_ns, What what, Index index) noexcept {
    world_.at(when_ns, *this, std::uint64_t{index} << 2 | static_cast<std::uint64_t>(what));
}

Switches::Index Switches::cut_cell(Index queue) noexcept {
    const Index from = queues_[queue].head, index = new_one(cells_, free_cells_);
    Message& message = messages_[from];
    const std::size_t bytes = std::min(config_.cell_bytes, message.left_bytes);
    message.left_bytes -= bytes;
    ++message.n_cells;
    Cell& cell = cells_[index];
    cell.message = from;
    cell.bytes = static_cast<Index>(on_wire(bytes));
    cell.is_last = message.left_bytes == 0;
    if (cell.is_last) queues_[queue].head = message.next;
    return index;
}

void Switches::on_event(std::uint64_t what) noexcept {
    const auto index = static_cast<Index>(what >> 2);
    switch (static_cast<What>(what & 3)) {
        case What::tail:
            return on_tail(index);
        case What::head:
            return on_head(index);
        case What::last:
            return on_last(index);
        case What::word:
            return on_word(index);
    }
}

/// The link is free now, and so is the room of the cell in the buffer before it.
void Switches::on_tail(Index which) noexcept {
    Link& link = links_[which];
    link.is_busy = false;
    if (link.kind == LinkKind::out && link.flying_is_last) {
        Message& message = messages_[link.flying_message];
        message.has_left = true;
        message.packet->left_ns = world_.monotonic_ns();
    }
    if (link.flying_from != none) {
        links_[link.flying_from].room += link.flying_bytes;
        serve(link.flying_from);
    }
    serve(which);
}

/// The cell took its time on the link, and is dropped for lack of room. A message that lacks a cell is lost.
void Switches::drop(Index index) noexcept {
    const Index from = cells_[index].message;
    ++links_[cells_[index].link].load.n_dropped;
    free_cells_.push_back(index);
    --messages_[from].n_cells;
    messages_[from].has_lost = true;
    Pair& pair = pair_of(*messages_[from].packet);
    if (pair.first != none) come_out(pair);
}

void Switches::on_head(Index index) noexcept {
    if (cells_[index].is_dropped) return drop(index);
    Cell& cell = cells_[index];
    const Index next = next_link(cell);
    Queue& queue = queues_[links_[cell.link].queues + links_[next].position];
    cell.next = none;
    links_[next].queued_bytes += cell.bytes;
    (queue.head == none ? queue.head : cells_[queue.tail].next) = index;
    queue.tail = index;
    const Index position = links_[cell.link].end_position;
    links_[next].is_ready[position / 64] |= std::uint64_t{1} << (position % 64);
    serve(next);
}

void Switches::on_last(Index index) noexcept {
    Message& message = messages_[cells_[index].message];
    links_[cells_[index].link].room += cells_[index].bytes;
    free_cells_.push_back(index);
    --message.n_cells;
    message.has_begun = true;
    Pair& pair = pair_of(*message.packet);
    if (pair.first != none) come_out(pair);
}

/// Delivers the messages of a pair in order: cells on different paths may overtake each other.
void Switches::come_out(Pair& pair) noexcept {
    while (pair.first != none) {
        const Index first = pair.first;
        show(messages_[first]);
        if (!is_over(messages_[first])) return;
        const bool is_dead = messages_[first].is_dead, has_lost = messages_[first].has_lost;
        const PacketPointer packet = std::exchange(messages_[first].packet, nullptr);
        pair.first = messages_[first].next_of_pair;
        free_messages_.push_back(first);
        if (has_lost) packet->fate = packet->is_begun ? Packet::Fate::cut : Packet::Fate::lost;
        if (!is_dead) exit_.on_last_byte(packet);
    }
}

void Switches::show(Message& message) noexcept {
    if (!message.has_begun || message.is_dead || std::exchange(message.is_shown, true)) return;
    const PacketPointer packet = message.packet;  // a copy, as the receiver may send, which moves messages
    exit_.on_first_bytes(packet);
}

// --- Faults

void Switches::slow_down(Node node, double factor) noexcept {
    links_[node].slowness = links_[first_in_ + node].slowness = factor;
}

/// Messages still in the card are lost; their cells that have left it arrive, but do not complete a message.
void Switches::lose_power(Node node) noexcept {
    for (Index receiver = 0; receiver < config_.n_nodes; ++receiver)
        queues_[Index{node} * config_.n_nodes + receiver] = {};
    links_[node].first_queue = links_[node].last_queue = none;
    for (Index index = 0; index < messages_.size(); ++index) {
        Message& message = messages_[index];
        if (!message.packet || message.packet->from != node || message.has_left) continue;
        message.is_dead = true;
        message.left_bytes = 0;
    }
    for (Index receiver = 0; receiver < config_.n_nodes; ++receiver)
        come_out(pairs_[Index{node} * config_.n_nodes + receiver]);
}

std::vector<LinkLoad> Switches::loads() const {
    std::vector<LinkLoad> loads;
    for (const Link& link : links_) {
        loads.push_back(link.load);
        if (link.stalled_since_ns > 0) loads.back().stalled_ns += world_.monotonic_ns() - link.stalled_since_ns;
    }
    return loads;
}

}  // namespace anello::simulate
