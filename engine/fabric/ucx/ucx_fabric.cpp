// SPDX-License-Identifier: Apache-2.0
#include "fabric/ucx/ucx_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/errors.hpp"
#include "fabric/peer_address.hpp"
#include "fabric/region_table.hpp"
#include "fabric/ucx/ucx_link.hpp"
#include "fabric/ucx/ucx_log.hpp"
#include "fabric/ucx/ucx_regions.hpp"
#include "fabric/ucx/ucx_wire.hpp"
#include "fabric/ucx/ucx_worker.hpp"

namespace anello::fabric {
namespace {

/// Keeps objects that UCX still uses and that therefore must not be destroyed.
struct Remains {
    std::unique_ptr<UcxWorker> worker;
    std::unique_ptr<UcxRegions> regions;
    std::unique_ptr<UcxRemotes> remotes;
};
void keep_for_ever(Remains remains) {
    static std::mutex mutex;
    static auto* const all = new std::vector<Remains>;
    const std::lock_guard lock(mutex);
    all->push_back(std::move(remains));
}

constexpr Nanoseconds patience_at_end_ns = 100'000'000;

/// Messages are UCX's active messages: UCX copies small ones, and fetches large ones straight to the place that place()
/// returned. Addresses, order, acknowledgements and heartbeats are our own (ucx_wire.hpp).
class UcxFabric final : public Fabric {
  public:
    UcxFabric(const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters)
        : config_((check(config), config)),
          clock_(clock),
          worker_(std::make_unique<UcxWorker>(config)),
          regions_(std::make_unique<UcxRegions>(worker_->context())),
          remotes_(std::make_unique<UcxRemotes>()),
          shared_{config_, clock, listener, counters, *worker_, make_incarnation()},
          states_(config.n_peers, PeerState::absent),
          links_(config.n_peers),
          waiting_(config.n_peers),
          greetings_(config.n_peers) {
        shared_.now_ns = last_progress_ns_ = clock.monotonic_ns();
        worker_->on_message(&UcxFabric::on_message, this);
        address_ =
            encode(UcxAddress{shared_.incarnation, host_number(), worker_->listening(), worker_->address()}, config_);
    }
    ~UcxFabric() override;

    std::vector<std::byte> address() const override { return address_; }
    void connect(Peer peer, std::span<const std::byte> address) override;
    void disconnect(Peer peer) noexcept override;
    Region register_memory(std::span<std::byte> memory) override { return regions_->add(memory); }
    void deregister(Region region) noexcept override { regions_->remove(region); }
    std::vector<std::byte> key(Region region) const override;
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override;

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override;
    Status tell(Peer to, std::span<const std::byte> header) noexcept override;
    Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept override;
    Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept override;
    std::size_t progress() noexcept override;

    int descriptor() const noexcept override { return worker_->descriptor(); }
    bool arm() noexcept override;
    void wake() noexcept override { worker_->wake(); }

    PeerState state(Peer peer) const noexcept override;
    std::size_t max_message_bytes() const noexcept override { return config_.max_message_bytes; }
    bool reliable() const noexcept override { return true; }
    std::string describe() const override;

  private:
    static ucs_status_t on_message(void* fabric, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t n_bytes, const ucp_am_recv_param_t* params);
    ucs_status_t receive(std::span<const std::byte> bytes, void* data, std::size_t n_bytes, bool rendezvous) noexcept;
    void on_hello(const UcxHeader& header, std::span<const std::byte> body) noexcept;

    void open(Peer peer, const UcxAddress& address);
    void open_waiting(Peer peer) noexcept;
    bool leaves(Peer peer) const noexcept;
    UcxLink* link_to(Peer peer) const noexcept { return peer < links_.size() ? links_[peer].get() : nullptr; }
    void look_at_clock() noexcept;
    void forgive_own_pause() noexcept;
    void tick() noexcept;
    void tell_ready() noexcept;
    void report_done() noexcept;
    void settle() noexcept;
    void settle_leaving() noexcept;
    void settle_failed(Peer peer) noexcept;
    void put_away(std::unique_ptr<UcxLink> link) noexcept;
    template <typename Until>
    void finish_up(Until&& until) noexcept;

    const FabricConfig config_;
    const Clock& clock_;
    std::unique_ptr<UcxWorker> worker_;
    std::unique_ptr<UcxRegions> regions_;
    std::unique_ptr<UcxRemotes> remotes_;
    UcxShared shared_;
    std::vector<std::byte> address_;
    std::vector<PeerState> states_;  ///< of peers without a link
    std::vector<std::unique_ptr<UcxLink>> links_;
    std::vector<std::optional<UcxAddress>> waiting_;  ///< new addresses, opened when the old link has closed
    std::vector<std::optional<std::pair<UcxHeader, UcxHello>>> greetings_;  ///< received before connect()
    std::vector<std::unique_ptr<UcxLink>> leaving_;  ///< replaced or disconnected, until UCX has finished with them
    /// UCX never finishes with them: the peer died, and UCX does not watch it
    std::vector<std::unique_ptr<UcxLink>> abandoned_;
    Nanoseconds next_tick_ns_ = 0, next_look_at_door_ns_ = 0, last_progress_ns_ = 0;
    bool ending_ = false;
};

// --- Set-up -------------------------------------------------------------------------------------------------------
/// A new connection to a peer begins only when the earlier one is closed, so that UCX cannot confuse them.
void UcxFabric::connect(Peer peer, std::span<const std::byte> address) {
    UcxAddress decoded = decode_ucx_address(address, peer, config_);
    disconnect(peer);
    shared_.now_ns = clock_.monotonic_ns();
    if (leaves(peer))
        waiting_[peer] = std::move(decoded);
    else
        open(peer, decoded);
}

void UcxFabric::open(Peer peer, const UcxAddress& address) {
    links_[peer] = std::make_unique<UcxLink>(shared_, peer, address);
    try {
        links_[peer]->begin();
    } catch (...) {
        links_[peer].reset();
        throw;
    }
    if (const auto greeting = std::exchange(greetings_[peer], std::nullopt))
        links_[peer]->on_hello(greeting->first, greeting->second);
}

bool UcxFabric::leaves(Peer peer) const noexcept {
    return std::any_of(leaving_.begin(), leaving_.end(), [peer](const auto& link) { return link->peer() == peer; });
}

void UcxFabric::disconnect(Peer peer) noexcept {
    if (peer >= links_.size()) return;
    states_[peer] = PeerState::absent;
    waiting_[peer].reset();
    if (links_[peer] == nullptr) return;
    links_[peer]->fail();
    leaving_.push_back(std::move(links_[peer]));
}

std::vector<std::byte> UcxFabric::key(Region region) const {
    UcxKey key = regions_->key(region);
    key.farm_id = config_.farm_id;
    key.incarnation = shared_.incarnation;
    return encode(key);
}

RemoteRegion UcxFabric::attach(Peer peer, std::span<const std::byte> bytes) {
    const UcxKey key = decode_ucx_key(bytes, config_.farm_id);
    UcxLink* const link = link_to(peer);
    if (link == nullptr || link->failed() || link->incarnation() != key.incarnation)
        throw ConfigError("key", fmt::format("must be of peer {} as it is connected now", peer), "another key",
                          "Connect first; ask a restarted peer for its new key");
    const UcxRemote remote{peer, link->number(), key.address, key.size_bytes, link->unpack(key.remote_key)};
    return {peer, remotes_->add(remote), key.size_bytes};
}

/// The last messages still leave, as far as peers accept them within a moment. Then every connection is closed, and the
/// links are destroyed only when UCX has released everything of theirs.
UcxFabric::~UcxFabric() {
    const QuietUcx quiet;
    ending_ = true;
    for (auto& link : links_)
        if (link != nullptr) leaving_.push_back(std::move(link));
    ucp_request_param_t params{};
    void* const flush = ucp_worker_flush_nbx(worker_->handle(), &params);
    // This includes connections that UCX made by itself: their first bytes may still wait for a peer that died.
    const auto is_flushed = [flush] {
        return !UCS_PTR_IS_PTR(flush) || ucp_request_check_status(flush) != UCS_INPROGRESS;
    };
    finish_up(is_flushed);
    for (const auto& link : leaving_) link->fail();
    const auto closed = [](const auto& link) { return link->try_close() && !link->in_ucx(); };
    // calls closed() for each of them
    const auto n_closed = [&] { return std::count_if(leaving_.begin(), leaving_.end(), closed); };
    finish_up([&] { return n_closed() == std::ssize(leaving_) && is_flushed(); });
    const auto in_ucx = [](const auto& link) { return link->in_ucx(); };
    const bool is_clear = is_flushed() && std::none_of(leaving_.begin(), leaving_.end(), in_ucx) &&
                          std::none_of(abandoned_.begin(), abandoned_.end(), in_ucx);
    if (UCS_PTR_IS_PTR(flush)) ucp_request_free(flush);
    for (const auto& link : leaving_) link->abandon();
    if (!is_clear) {  // UCX still waits for a dead peer: to destroy its worker would end the process
        worker_->leave_alone();
        keep_for_ever({std::move(worker_), std::move(regions_), std::move(remotes_)});
        return;
    }
    remotes_.reset();
    regions_.reset();
    worker_.reset();
}

template <typename Until>
void UcxFabric::finish_up(Until&& until) noexcept {
    const Clock& clock = SystemClock::instance();
    for (const Nanoseconds begin_ns = clock.monotonic_ns();
         !until() && clock.monotonic_ns() - begin_ns < patience_at_end_ns;)
        ucp_worker_progress(worker_->handle());
}

std::string UcxFabric::describe() const {
    std::map<std::string, std::vector<Peer>> ways;
    for (const auto& link : links_)
        if (link != nullptr)
            ways[link->lanes() + (link->sees_death() ? "" : " (a dead peer is found by heartbeats only)")].push_back(
                link->peer());
    std::string text = worker_->describe();
    for (const auto& [way, peers] : ways) text += fmt::format("; to peer {}: {}", fmt::join(peers, ","), way);
    return text;
}

PeerState UcxFabric::state(Peer peer) const noexcept {
    if (peer >= links_.size()) return PeerState::absent;
    if (waiting_[peer].has_value()) return PeerState::connecting;
    if (links_[peer] == nullptr) return states_[peer];
    return links_[peer]->told_up() ? PeerState::up : PeerState::connecting;
}

// --- Hot path from here on: no allocation, no lock, no log, no throw -----------------------------------------------
Status UcxFabric::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                       std::uint64_t token) noexcept {
    if (header.size() > max_header_bytes || payload.size() > config_.max_message_bytes) return Status::refused;
    UcxLink* const link = link_to(to);
    return link == nullptr ? Status::peer_down : link->send(header, payload, token);
}

Status UcxFabric::tell(Peer to, std::span<const std::byte> header) noexcept {
    if (header.size() > max_header_bytes) return Status::refused;
    UcxLink* const link = link_to(to);
    return link == nullptr ? Status::peer_down : link->tell(header);
}

Status UcxFabric::put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                      std::uint64_t token) noexcept {
    UcxLink* const link = link_to(to.peer);
    if (link == nullptr || !link->up()) return Status::peer_down;
    const UcxRemote* const remote = remotes_->find(to, link->number());
    if (remote == nullptr || !lies_in({to.peer, to.index, remote->size_bytes}, offset, from.size()))
        return Status::refused;
    return link->put(remote->key, remote->address + offset, from, signal, token);
}

Status UcxFabric::get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept {
    UcxLink* const link = link_to(from.peer);
    if (link == nullptr || !link->up()) return Status::peer_down;
    const UcxRemote* const remote = remotes_->find(from, link->number());
    if (remote == nullptr || !lies_in({from.peer, from.index, remote->size_bytes}, offset, to.size()))
        return Status::refused;
    return link->get(remote->key, remote->address + offset, to, token);
}

std::size_t UcxFabric::progress() noexcept {
    const QuietUcx quiet;
    shared_.n_things = 0;
    worker_->take_tick();
    look_at_clock();
    forgive_own_pause();
    shared_.may_tell = true;
    const unsigned n_polled = ucp_worker_progress(worker_->handle());
    if (shared_.has_ready) tell_ready();
    if (!shared_.done.empty()) report_done();
    shared_.may_tell = false;
    tick();
    if (shared_.has_failed) settle();
    return shared_.n_things + n_polled;
}

void UcxFabric::look_at_clock() noexcept {
    shared_.now_ns = clock_.monotonic_ns();
}

/// After a long pause of this process, peers may have given it up and reused the memory from which it would fetch. So
/// it gives them up first, before it reads anything that they sent. After a shorter pause the peers' time-outs are
/// extended by the pause, as what they sent in the meantime is not read yet.
void UcxFabric::forgive_own_pause() noexcept {
    const Nanoseconds last_ns = std::exchange(last_progress_ns_, shared_.now_ns);
    const Nanoseconds pause_ns = shared_.now_ns - last_ns;
    if (pause_ns < config_.heartbeat_ns) return;
    const bool too_long = pause_ns >= shared_.longest_pause_ns();
    for (const auto& link : links_) {
        if (link == nullptr || link->since_ns() > last_ns) continue;
        if (too_long)
            link->fail();
        else
            link->grant(pause_ns);
    }
}

void UcxFabric::tick() noexcept {
    if (shared_.now_ns < next_tick_ns_) return;
    next_tick_ns_ = shared_.now_ns + config_.heartbeat_ns / 4;
    for (const auto& link : links_)
        if (link != nullptr) link->tick();
    if (shared_.now_ns < next_look_at_door_ns_) return;
    next_look_at_door_ns_ = shared_.now_ns + config_.heartbeat_ns;
    shared_.counters.add(FabricCounter::strangers_refused, worker_->close_strangers(shared_.now_ns));
}

void UcxFabric::tell_ready() noexcept {
    shared_.has_ready = false;
    for (const auto& link : links_) {
        if (link == nullptr) continue;
        link->open_if_asked();
        link->tell_ready();
    }
}

void UcxFabric::report_done() noexcept {
    for (std::size_t n_left = shared_.done.size(); n_left > 0; --n_left) {
        UcxSlot& slot = *shared_.done.pop();
        const UcxSlot done = slot;
        slot.link->give_slot(slot);
        if (done.status != Status::ok)
            shared_.counters.add(done.is_message ? FabricCounter::messages_failed : FabricCounter::transfers_failed);
        shared_.tell([&](Listener& listener) { listener.on_done(done.link->peer(), done.token, done.status); });
    }
}

// --- Lost links -----------------------------------------------------------------------------------------------------
void UcxFabric::settle() noexcept {
    look_at_clock();
    shared_.has_failed = false;
    settle_leaving();
    for (Peer peer = 0; peer < links_.size(); ++peer)
        if (links_[peer] != nullptr && links_[peer]->failed()) settle_failed(peer);
}

void UcxFabric::settle_leaving() noexcept {
    for (std::size_t i = 0; i < leaving_.size();) {
        if (leaving_[i]->try_close()) {
            report_done();
            std::swap(leaving_[i], leaving_.back());
            const Peer peer = leaving_.back()->peer();
            put_away(std::move(leaving_.back()));
            leaving_.pop_back();
            if (waiting_[peer].has_value() && !leaves(peer)) open_waiting(peer);
        } else {
            shared_.has_failed = true;
            ++i;
        }
    }
}

void UcxFabric::open_waiting(Peer peer) noexcept {
    const UcxAddress address = *std::exchange(waiting_[peer], std::nullopt);
    try {
        open(peer, address);
    } catch (const ConfigError&) {  // no transport reaches that address
        states_[peer] = PeerState::down;
        shared_.counters.add(FabricCounter::peers_down);
        shared_.tell([&](Listener& listener) { listener.on_peer(peer, PeerState::down); });
    }
}

void UcxFabric::settle_failed(Peer peer) noexcept {
    if (!links_[peer]->try_close()) {
        shared_.has_failed = true;
        return;
    }
    report_done();
    std::unique_ptr<UcxLink> link = std::move(links_[peer]);
    put_away(std::move(link));
    states_[peer] = PeerState::down;
    shared_.counters.add(FabricCounter::peers_down);
    shared_.tell([&](Listener& listener) { listener.on_peer(peer, PeerState::down); });
}

void UcxFabric::put_away(std::unique_ptr<UcxLink> link) noexcept {
    if (!link->in_ucx())
        remotes_->forget(link->number());
    else
        abandoned_.push_back(std::move(link));
}

bool UcxFabric::arm() noexcept {
    return !shared_.has_ready && !shared_.has_failed && shared_.done.empty() && worker_->arm();
}

// --- Receiving ------------------------------------------------------------------------------------------------------
ucs_status_t UcxFabric::on_message(void* fabric, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t n_bytes, const ucp_am_recv_param_t* params) {
    return static_cast<UcxFabric*>(fabric)->receive({static_cast<const std::byte*>(header), header_bytes}, data,
                                                    n_bytes, (params->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
}

ucs_status_t UcxFabric::receive(std::span<const std::byte> bytes, void* data, std::size_t n_bytes,
                                bool rendezvous) noexcept {
    UcxHeader header;
    std::span<const std::byte> body;
    if (ending_) return UCS_OK;
    if (!parse(bytes, header, body)) {
        shared_.counters.add(FabricCounter::malformed);
        return UCS_OK;
    }
    if (header.farm_id != config_.farm_id || header.sender >= config_.n_peers) {
        shared_.counters.add(FabricCounter::strangers_refused);
        return UCS_OK;
    }
    if (header.kind == UcxKind::hello) {
        on_hello(header, body);
        return UCS_OK;
    }
    UcxLink* const link = link_to(header.sender);
    const bool sequenced = header.kind == UcxKind::message || header.kind == UcxKind::signal;
    if (link != nullptr && link->is_theirs(header.link)) {
        if (sequenced) return link->on_sequenced(header, body, data, n_bytes, rendezvous);
        if (header.kind == UcxKind::word)
            link->on_word(body);
        else
            link->on_control(header);
    } else if (header.kind == UcxKind::message) {  // from a connection that was given up
        shared_.counters.add(FabricCounter::messages_discarded);
    }
    return UCS_OK;
}

void UcxFabric::on_hello(const UcxHeader& header, std::span<const std::byte> body) noexcept {
    UcxHello hello;
    std::memcpy(&hello, body.data(), sizeof hello);
    if (hello.receiver_incarnation != shared_.incarnation)
        shared_.counters.add(FabricCounter::strangers_refused);
    else if (links_[header.sender] != nullptr && !links_[header.sender]->failed())
        links_[header.sender]->on_hello(header, hello);
    else
        greetings_[header.sender] = {header, hello};
}

}  // namespace

std::unique_ptr<Fabric> make_ucx_fabric(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
    return std::make_unique<UcxFabric>(config, listener, clock, counters);
}

}  // namespace anello::fabric
