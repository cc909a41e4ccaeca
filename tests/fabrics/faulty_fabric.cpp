// SPDX-License-Identifier: Apache-2.0
#include "fabrics/faulty_fabric.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/errors.hpp"

namespace anello::fabric {
namespace {

constexpr Nanoseconds never_ns = std::numeric_limits<Nanoseconds>::max();

}  // namespace

void check(const FaultConfig& config) {
    const auto require_share = [](double share, const char* field) {
        if (!(share >= 0 && share <= 1))
            throw ConfigError(field, "must be 0 to 1", fmt::format("{}", share), "0.001 is one in a thousand");
    };
    require_share(config.loss, "loss");
    require_share(config.duplicate, "duplicate");
    if (config.delay_ns < 0)
        throw ConfigError("delay_ns", "must not be negative", fmt::format("{} ns", config.delay_ns), "0: no delay");
}

FaultyFabric::FaultyFabric(const FaultConfig& faults, std::shared_ptr<FaultCounts> counts, const MakeFabric& make_inner,
                           const FabricConfig& config, Listener& listener, const Clock& clock,
                           Counters<FabricCounter> counters)
    : faults_((check(faults), check(config), faults)),
      listener_(listener),
      clock_(clock),
      counts_(std::move(counts)),
      counters_(counters),
      random_(faults.seed),
      fate_(draw()),
      slots_(std::size_t{config.n_peers} * config.max_in_flight),
      finished_(slots_.size()),
      in_flight_(config.n_peers),
      waits_(config.n_peers),
      lost_peers_(config.n_peers),
      max_in_flight_(config.max_in_flight),
      inner_(make_inner(config, *this, clock, counters)),
      timer_(make_timer_descriptor()),
      epoll_(make_epoll()) {
    if (inner_->reliable() && (faults.loss > 0 || faults.duplicate > 0) && !faults.break_promises)
        throw ConfigError("loss", "must be 0, and duplicate too, with a reliable transport",
                          fmt::format("{} and {}", faults.loss, faults.duplicate),
                          "Choose udp, or say that promises shall be broken");
    free_.reserve(slots_.size());
    held_.reserve(slots_.size());
    for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(static_cast<std::uint32_t>(i - 1));
    watch(epoll_, inner_->descriptor(), 0, EPOLLIN);
    watch(epoll_, timer_.number(), 0, EPOLLIN);
}

void FaultyFabric::connect(Peer peer, std::span<const std::byte> address) {
    inner_->connect(peer, address);
    give_up(peer);
    lost_peers_[peer] = false;
}

void FaultyFabric::disconnect(Peer peer) noexcept {
    if (peer >= lost_peers_.size()) return;
    inner_->disconnect(peer);
    give_up(peer);
    lost_peers_[peer] = false;
}

FaultyFabric::Fate FaultyFabric::draw() noexcept {
    const auto share = [this] { return static_cast<double>(random_() >> 11) * 0x1p-53; };
    Fate fate;
    fate.lost = share() < faults_.loss;
    fate.doubled = share() < faults_.duplicate;
    fate.delay_ns = static_cast<Nanoseconds>(share() * static_cast<double>(faults_.delay_ns));
    return fate;
}

std::optional<std::uint32_t> FaultyFabric::take_slot(Peer to, std::uint64_t token) noexcept {
    if (in_flight_[to] == max_in_flight_) {
        counters_.add(FabricCounter::busy);
        return {};
    }
    ++in_flight_[to];
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slots_[index] = Slot();
    slots_[index].to = to;
    slots_[index].token = token;
    return index;
}

void FaultyFabric::give_slot(std::uint32_t index) noexcept {
    --in_flight_[slots_[index].to];
    free_.push_back(index);
}

Status FaultyFabric::send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                          std::uint64_t token) noexcept {
    if (header.size() > max_header_bytes || payload.size() > inner_->max_message_bytes()) return Status::refused;
    if (state(to) != PeerState::up) return Status::peer_down;
    const std::optional<std::uint32_t> taken = take_slot(to, token);
    if (!taken) return Status::busy;
    Slot& slot = slots_[*taken];
    slot.header_bytes = static_cast<std::uint8_t>(header.size());
    if (!header.empty()) std::memcpy(slot.header, header.data(), header.size());
    slot.payload = payload;
    slot.n_to_send = fate_.lost ? 0 : fate_.doubled ? 2 : 1;
    slot.due_ns = clock_.monotonic_ns() + fate_.delay_ns;
    if (fate_.lost) {
        ++counts_->lost;
        finished_.try_push(*taken);
    } else {
        if (fate_.doubled) ++counts_->duplicated;
        if (fate_.delay_ns > 0) ++counts_->delayed;
        held_.push_back(*taken);
        has_untried_ = true;
    }
    fate_ = draw();
    if (++n_taken_ == faults_.disconnect_after) to_lose_ = to;
    return Status::ok;
}

Status FaultyFabric::put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
                         std::uint64_t token) noexcept {
    return transfer(to.peer, token, [&](std::uint64_t slot) { return inner_->put(to, offset, from, signal, slot); });
}

Status FaultyFabric::get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept {
    return transfer(from.peer, token, [&](std::uint64_t slot) { return inner_->get(from, offset, to, slot); });
}

template <typename Start>
Status FaultyFabric::transfer(Peer peer, std::uint64_t token, const Start& start) noexcept {
    if (state(peer) != PeerState::up) return Status::peer_down;
    const std::optional<std::uint32_t> taken = take_slot(peer, token);
    if (!taken) return Status::busy;
    slots_[*taken].n_under_way = 1;
    const Status status = start(*taken);
    if (status != Status::ok) give_slot(*taken);
    return status;
}

std::size_t FaultyFabric::progress() noexcept {
    std::size_t n_things = report_finished();
    n_things += inner_->progress();
    n_things += send_due();
    if (to_lose_) lose_peer(*std::exchange(to_lose_, {}));
    return n_things + report_finished();
}

/// If order is promised, no message of a peer overtakes another: all wait for the delayed one.
std::size_t FaultyFabric::send_due() noexcept {
    const Nanoseconds now_ns = clock_.monotonic_ns();
    looked_ns_ = now_ns;
    has_untried_ = false;
    std::fill(waits_.begin(), waits_.end(), false);
    std::size_t n_kept = 0;
    const std::size_t n_held = held_.size();
    for (std::size_t i = 0; i < n_held; ++i) {
        const std::uint32_t index = held_[i];
        Slot& slot = slots_[index];
        const Peer to = slot.to;  // the slot may have another use once it is sent
        if (waits_[to] || slot.due_ns > now_ns || !try_send(slot, index)) {
            waits_[to] = waits_[to] || inner_->reliable();
            held_[n_kept++] = index;
        }
    }
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(n_kept),
                held_.begin() + static_cast<std::ptrdiff_t>(n_held));
    return n_held - n_kept;
}

/// True if all parts of the slot left.
bool FaultyFabric::try_send(Slot& slot, std::uint32_t index) noexcept {
    for (; slot.n_to_send > 0; --slot.n_to_send) {
        ++slot.n_under_way;
        const Status status =
            inner_->send(slot.to, std::span(slot.header).first(slot.header_bytes), slot.payload, index);
        if (status == Status::ok) continue;
        --slot.n_under_way;
        return false;  // no room yet; if the peer is down, on_peer() gives it up
    }
    if (slot.n_under_way == 0) finish(index);  // inner_->send() called on_done() already
    return true;
}

void FaultyFabric::on_done(Peer, std::uint64_t slot, Status status) noexcept {
    const auto index = static_cast<std::uint32_t>(slot);
    if (slots_[index].status == Status::ok) slots_[index].status = status;
    if (--slots_[index].n_under_way == 0 && slots_[index].n_to_send == 0) finish(index);
}

void FaultyFabric::finish(std::uint32_t index) noexcept {
    const Slot slot = slots_[index];
    give_slot(index);
    listener_.on_done(slot.to, slot.token, slot.status);
}

std::size_t FaultyFabric::report_finished() noexcept {
    const std::size_t n_finished = finished_.size();
    for (std::size_t i = 0; i < n_finished; ++i) finish(finished_.take());
    return n_finished;
}

/// Messages that are held back for the peer will not leave.
void FaultyFabric::give_up(Peer peer) noexcept {
    const auto of_peer = [&](std::uint32_t index) {
        Slot& slot = slots_[index];
        if (slot.to != peer) return false;
        ++counts_->given_up;
        slot.status = Status::peer_down;
        slot.n_to_send = 0;
        if (slot.n_under_way == 0) finished_.try_push(index);
        return true;
    };
    held_.erase(std::remove_if(held_.begin(), held_.end(), of_peer), held_.end());
}

void FaultyFabric::on_peer(Peer peer, PeerState state) noexcept {
    if (state == PeerState::down) {
        give_up(peer);
        report_finished();
    }
    listener_.on_peer(peer, state);
}

void FaultyFabric::lose_peer(Peer peer) noexcept {
    if (inner_->state(peer) != PeerState::up) return;
    ++counts_->disconnected;
    inner_->disconnect(peer);
    lost_peers_[peer] = true;
    give_up(peer);
    inner_->progress();  // which reports the messages under way to it
    report_finished();
    listener_.on_peer(peer, PeerState::down);
}

bool FaultyFabric::arm() noexcept {
    if (has_untried_ || !finished_.empty() || to_lose_) return false;
    set_timer_to_next_due();
    return inner_->arm();
}

/// Messages due when send_due() last looked wait for room in the inner fabric, which reports it, or for
/// an earlier message.
void FaultyFabric::set_timer_to_next_due() noexcept {
    Nanoseconds due_ns = never_ns;
    for (const std::uint32_t index : held_)
        if (slots_[index].due_ns > looked_ns_) due_ns = std::min(due_ns, slots_[index].due_ns);
    if (due_ns != never_ns)
        set_timer(timer_, due_ns - clock_.monotonic_ns());
    else if (timer_runs_)
        stop_timer(timer_);
    timer_runs_ = due_ns != never_ns;
}

PeerState FaultyFabric::state(Peer peer) const noexcept {
    return peer < lost_peers_.size() && lost_peers_[peer] ? PeerState::down : inner_->state(peer);
}

std::string FaultyFabric::describe() const {
    return fmt::format("{}; with faults: loss {}, duplicates {}, delay up to {} us, seed {}", inner_->describe(),
                       faults_.loss, faults_.duplicate, faults_.delay_ns / 1000, faults_.seed);
}

MakeFabric with_faults(const FaultConfig& faults, const MakeFabric& make_inner, std::shared_ptr<FaultCounts> counts) {
    return [=](const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters) {
        return std::make_unique<FaultyFabric>(faults, counts, make_inner, config, listener, clock, counters);
    };
}

}  // namespace anello::fabric
