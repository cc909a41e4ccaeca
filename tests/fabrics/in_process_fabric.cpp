// SPDX-License-Identifier: Apache-2.0
#include "fabrics/in_process_fabric.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "fabric/peer_address.hpp"

namespace anello::fabric {

using Lock = std::unique_lock<std::recursive_mutex>;

std::shared_ptr<InProcessHub> InProcessHub::of_farm(std::uint64_t farm_id) {
    static std::mutex mutex;
    static std::map<std::uint64_t, std::weak_ptr<InProcessHub>> hubs;
    const std::lock_guard lock(mutex);
    std::erase_if(hubs, [](const auto& hub) { return hub.second.expired(); });
    std::shared_ptr<InProcessHub> hub = hubs[farm_id].lock();
    if (!hub) hubs[farm_id] = hub = std::make_shared<InProcessHub>();
    return hub;
}

void InProcessHub::kill(Peer peer) noexcept {
    const Lock lock(mutex_);
    for (const auto& [incarnation, member] : members_)
        if (member->config_.self == peer) member->die();
    notify_all();
}

void InProcessHub::join(InProcessFabric& fabric) {
    const Lock lock(mutex_);
    fabric.incarnation_ = ++last_incarnation_;
    members_[fabric.incarnation_] = &fabric;
}

void InProcessHub::leave(InProcessFabric& fabric) noexcept {
    const Lock lock(mutex_);
    fabric.die();
    members_.erase(fabric.incarnation_);
    notify_all();
}

InProcessFabric* InProcessHub::find(std::uint64_t incarnation) noexcept {
    const auto found = members_.find(incarnation);
    return found == members_.end() || found->second->dead_ ? nullptr : found->second;
}

void InProcessHub::notify_all() noexcept {
    for (const auto& [incarnation, member] : members_) member->notify();
}

InProcessFabric::InProcessFabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                 Counters<FabricCounter> counters, std::shared_ptr<InProcessHub> hub)
    : config_((check(config), config)),
      listener_(listener),
      clock_(clock),
      counters_(counters),
      hub_(std::move(hub)),
      wake_(make_event_descriptor()),
      links_(config.n_peers),
      inbox_(config.n_peers * config.max_in_flight),
      done_(config.n_peers * config.max_in_flight) {
    hub_->join(*this);
}

InProcessFabric::~InProcessFabric() {
    hub_->leave(*this);
}

std::vector<std::byte> InProcessFabric::address() const {
    return encode(make_address(config_, incarnation_));
}

void InProcessFabric::connect(Peer peer, std::span<const std::byte> address) {
    const PeerAddress decoded = decode_address(address, peer, config_);
    const Lock lock(hub_->mutex_);
    if (dead_) return;
    part(peer);
    links_[peer].state = PeerState::connecting;
    links_[peer].incarnation = decoded.incarnation;
    links_[peer].since_ns = clock_.monotonic_ns();
    hub_->notify_all();
}

void InProcessFabric::disconnect(Peer peer) noexcept {
    if (peer >= config_.n_peers) return;
    const Lock lock(hub_->mutex_);
    part(peer);
    links_[peer].state = PeerState::absent;
}

Region InProcessFabric::register_memory(std::span<std::byte> memory) {
    const Lock lock(hub_->mutex_);
    return regions_.add(memory);
}

void InProcessFabric::deregister(Region region) noexcept {
    const Lock lock(hub_->mutex_);
    regions_.remove(region);
}

std::vector<std::byte> InProcessFabric::key(Region region) const {
    return regions_.key(region);
}

RemoteRegion InProcessFabric::attach(Peer peer, std::span<const std::byte> key) {
    return decode_key(peer, key);
}

void InProcessFabric::die() noexcept {
    for (std::size_t peer = 0; peer < links_.size(); ++peer) part(static_cast<Peer>(peer));
    dead_ = true;
}

/// Both sides lose each other: nothing that is under way between them arrives.
void InProcessFabric::part(Peer peer) noexcept {
    InProcessFabric* const partner = std::exchange(links_[peer].partner, nullptr);
    if (partner == nullptr) return;
    give_back(peer);
    partner->give_back(config_.self);
    partner->links_[config_.self].partner = nullptr;
    partner->notify();
    notify();
}

/// Messages that `from` sent and we have not taken are its own again.
void InProcessFabric::give_back(Peer from) noexcept {
    InProcessFabric* const sender = hub_->find(links_[from].incarnation);
    for (std::size_t i = 0; i < inbox_.size(); ++i) {
        Item& item = inbox_[i];
        if (item.from != from || item.kind == Kind::given_back) continue;
        if (sender != nullptr) sender->done_.try_push({item.kind, config_.self, Status::peer_down, item.token});
        item.kind = Kind::given_back;
    }
}

void InProcessFabric::notify() noexcept {
    pending_ = true;
    if (std::exchange(armed_, false)) signal_event(wake_);
}

Status InProcessFabric::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                             std::uint64_t token) noexcept {
    if (header.size() > max_header_bytes || payload.size() > config_.max_message_bytes) return Status::refused;
    Item item{.kind = Kind::message,
              .from = config_.self,
              .header_bytes = static_cast<std::uint8_t>(header.size()),
              .payload = payload,
              .token = token};
    if (!header.empty()) std::memcpy(item.header, header.data(), header.size());
    const Status status = post(to, item);
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::messages_sent);
    counters_.add(FabricCounter::message_bytes_sent, payload.size());
    return Status::ok;
}

Status InProcessFabric::put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                            std::uint64_t token) noexcept {
    if (!lies_in(to, offset, from.size())) return Status::refused;
    const Status status = post(to.peer, {.kind = Kind::put,
                                         .from = config_.self,
                                         .payload = from,
                                         .region = to.index,
                                         .offset = offset,
                                         .signal = signal,
                                         .token = token});
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::puts);
    counters_.add(FabricCounter::put_bytes, from.size());
    return Status::ok;
}

Status InProcessFabric::get(RemoteRegion from, std::size_t offset, std::span<std::byte> to,
                            std::uint64_t token) noexcept {
    if (!lies_in(from, offset, to.size())) return Status::refused;
    const Status status = post(from.peer, {.kind = Kind::get,
                                           .from = config_.self,
                                           .destination = to,
                                           .region = from.index,
                                           .offset = offset,
                                           .token = token});
    if (status != Status::ok) return status;
    counters_.add(FabricCounter::gets);
    counters_.add(FabricCounter::get_bytes, to.size());
    return Status::ok;
}

Status InProcessFabric::post(Peer to, const Item& item) noexcept {
    if (to >= config_.n_peers) return Status::peer_down;
    const Lock lock(hub_->mutex_);
    Link& link = links_[to];
    if (link.state != PeerState::up || link.partner == nullptr) return Status::peer_down;
    if (link.in_flight == config_.max_in_flight || !link.partner->inbox_.try_push(item)) {
        counters_.add(FabricCounter::busy);
        return Status::busy;
    }
    ++link.in_flight;
    link.partner->notify();
    return Status::ok;
}

std::size_t InProcessFabric::progress() noexcept {
    std::size_t n_things = follow_links();
    n_things += report_done();
    return n_things + take_in();
}

std::size_t InProcessFabric::follow_links() noexcept {
    const Lock lock(hub_->mutex_);
    pending_ = false;
    if (dead_) return 0;
    std::size_t n_changes = 0;
    for (std::size_t peer = 0; peer < links_.size(); ++peer) n_changes += follow(static_cast<Peer>(peer));
    return n_changes;
}

std::size_t InProcessFabric::follow(Peer peer) noexcept {
    Link& link = links_[peer];
    if (link.state == PeerState::connecting) {
        try_pair(link);
        if (link.partner != nullptr) {
            link.state = PeerState::up;
            counters_.add(FabricCounter::peers_up);
        } else if (clock_.monotonic_ns() - link.since_ns >= config_.connect_timeout_ns) {
            link.state = PeerState::down;
        } else {
            return 0;
        }
    } else if (link.state == PeerState::up && link.partner == nullptr) {
        link.state = PeerState::down;
    } else {
        return 0;
    }
    if (link.state == PeerState::down) {
        counters_.add(FabricCounter::peers_down);
        report_done();
    }
    listener_.on_peer(peer, link.state);
    return 1;
}

/// When both sides have asked for each other, they are connected.
void InProcessFabric::try_pair(Link& link) noexcept {
    InProcessFabric* const partner = hub_->find(link.incarnation);
    if (link.partner != nullptr || partner == nullptr) return;
    Link& back = partner->links_[config_.self];
    if (back.state != PeerState::connecting || back.incarnation != incarnation_) return;
    link.partner = partner;
    back.partner = this;
    partner->notify();
}

std::size_t InProcessFabric::report_done() noexcept {
    Lock lock(hub_->mutex_);
    const std::size_t n_done = dead_ ? 0 : done_.size();
    for (std::size_t i = 0; i < n_done && !done_.empty(); ++i) {
        const Done done = done_.take();
        --links_[done.to].in_flight;
        lock.unlock();
        report(done);
        lock.lock();
    }
    return n_done;
}

void InProcessFabric::report(const Done& done) noexcept {
    if (done.status != Status::ok)
        counters_.add(done.kind == Kind::message ? FabricCounter::messages_failed : FabricCounter::transfers_failed);
    listener_.on_done(done.to, done.token, done.status);
}

std::size_t InProcessFabric::take_in() noexcept {
    std::size_t n_at_most = 0, n_taken = 0;
    {
        const Lock lock(hub_->mutex_);
        n_at_most = dead_ ? 0 : inbox_.size();
    }
    while (n_taken < n_at_most && try_take_one()) ++n_taken;
    return n_taken;
}

bool InProcessFabric::try_take_one() noexcept {
    Lock lock(hub_->mutex_);
    if (inbox_.empty()) return false;
    const Item item = inbox_.front();
    // One that connected meanwhile: the listener hears first that it is up.
    if (item.kind != Kind::given_back && links_[item.from].state != PeerState::up) return false;
    inbox_.pop();
    if (item.kind != Kind::given_back) receive(item, lock);
    return true;
}

/// The sender's bytes and queue are accessed under the lock; the listener is called without it.
void InProcessFabric::receive(const Item& item, Lock& lock) noexcept {
    const std::span header(item.header, item.header_bytes);
    std::span<std::byte> place;
    if (item.kind == Kind::message && !item.payload.empty())
        place = listener_.place(item.from, header, item.payload.size());
    const bool fits = item.payload.size() <= place.size();
    Status status = Status::ok;
    if (item.kind != Kind::message)
        status = move_bytes(item);
    else if (fits && !item.payload.empty())
        std::memcpy(place.data(), item.payload.data(), item.payload.size());
    links_[item.from].partner->done_.try_push({item.kind, config_.self, status, item.token});
    links_[item.from].partner->notify();
    lock.unlock();
    if (item.kind == Kind::put && status == Status::ok) {
        counters_.add(FabricCounter::signals_received);
        listener_.on_signal(item.from, item.signal);
    } else if (item.kind == Kind::message && fits) {
        counters_.add(FabricCounter::messages_received);
        counters_.add(FabricCounter::message_bytes_received, item.payload.size());
        listener_.on_message(item.from, header, place.first(item.payload.size()));
    } else if (item.kind == Kind::message) {
        counters_.add(FabricCounter::messages_discarded);
    }
}

Status InProcessFabric::move_bytes(const Item& item) noexcept {
    const std::size_t n_bytes = item.kind == Kind::put ? item.payload.size() : item.destination.size();
    std::byte* const ours = regions_.find(item.region, item.offset, n_bytes);
    if (ours == nullptr) return Status::refused;
    if (item.kind == Kind::put && n_bytes > 0) std::memcpy(ours, item.payload.data(), n_bytes);
    if (item.kind == Kind::get && n_bytes > 0) std::memcpy(item.destination.data(), ours, n_bytes);
    return Status::ok;
}

bool InProcessFabric::arm() noexcept {
    const Lock lock(hub_->mutex_);
    if (take_event(wake_) || pending_ || !inbox_.empty() || !done_.empty()) return false;
    armed_ = true;
    return true;
}

void InProcessFabric::wake() noexcept {
    signal_event(wake_);
}

PeerState InProcessFabric::state(Peer peer) const noexcept {
    return peer < config_.n_peers ? links_[peer].state : PeerState::absent;
}

std::string InProcessFabric::describe() const {
    return fmt::format("in_process: peer {} of {}, messages up to {} bytes, one copy", config_.self, config_.n_peers,
                       config_.max_message_bytes);
}

std::unique_ptr<Fabric> make_in_process_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                               Counters<FabricCounter> counters) {
    return std::make_unique<InProcessFabric>(config, listener, clock, counters, InProcessHub::of_farm(config.farm_id));
}

}  // namespace anello::fabric
