// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "fabric/fabric.hpp"

namespace anello::exchange::test {

using fabric::Peer;
using fabric::PeerState;
using fabric::Status;

/// Chance by one number, which rapidcheck prints and shrinks.
class Dice {
  public:
    explicit Dice(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(engine_); }
    bool one_in(std::uint32_t n) { return n > 0 && below(n) == 0; }

  private:
    std::mt19937 engine_;
};

class FakeFabric;

/// Connects fabrics that deliver when and as the dice say: late, in parts, and, where it is unreliable, not at all,
/// twice or out of order. Bytes are the sender's until they are delivered.
struct FakeNetwork {
    explicit FakeNetwork(Dice& chance) : dice(chance) {}

    Dice& dice;
    bool reliable = true;
    std::uint32_t one_in_lost = 0, one_in_doubled = 0;  ///< unreliable only
    std::vector<FakeFabric*> fabrics;
};

class FakeFabric final : public fabric::Fabric {
  public:
    FakeFabric(FakeNetwork& network, Peer self, fabric::Listener& listener)
        : network_(network), self_(self), listener_(listener), states_(network.fabrics.size(), PeerState::absent) {
        network_.fabrics[self] = this;
    }
    ~FakeFabric() override { kill(); }

    /// Acts as if the process died: the others find out when they make progress.
    void kill() {
        if (network_.fabrics[self_] != this) return;
        network_.fabrics[self_] = nullptr;
        for (FakeFabric* other : network_.fabrics)
            if (other != nullptr && other->states_[self_] == PeerState::up) other->lost_.insert(self_);
    }
    /// The connection breaks, and both sides find out when they make progress.
    void cut(Peer peer) {
        lost_.insert(peer);
        if (network_.fabrics[peer] != nullptr) network_.fabrics[peer]->lost_.insert(self_);
    }

    bool keeps_all = false;  ///< what it took it neither delivers nor reports, as long as the connection is there
    std::function<void(Peer, std::span<const std::byte>)> on_send;  ///< called for each message taken

    std::vector<std::byte> address() const override { return {}; }
    void connect(Peer peer, std::span<const std::byte>) override {
        lost_.erase(peer);
        states_[peer] = PeerState::connecting;
    }
    void disconnect(Peer peer) noexcept override {
        drop_all(peer);
        states_[peer] = PeerState::absent;
        if (peer != self_ && network_.fabrics[peer] != nullptr) network_.fabrics[peer]->lost_.insert(self_);
    }
    fabric::Region register_memory(std::span<std::byte>) override { return {}; }
    void deregister(fabric::Region) noexcept override {}
    std::vector<std::byte> key(fabric::Region) const override { return {}; }
    fabric::RemoteRegion attach(Peer, std::span<const std::byte>) override { return {}; }

    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override {
        if (states_[to] != PeerState::up || lost_.contains(to)) return Status::peer_down;
        if (outgoing(to) >= 6 || network_.dice.one_in(8)) return Status::busy;
        out_.push_back({to, {header.begin(), header.end()}, payload, token});
        if (on_send) on_send(to, header);
        return Status::ok;
    }
    Status put(fabric::RemoteRegion, std::size_t, std::span<const std::byte>, std::uint64_t,
               std::uint64_t) noexcept override {
        return Status::refused;
    }
    Status get(fabric::RemoteRegion, std::size_t, std::span<std::byte>, std::uint64_t) noexcept override {
        return Status::refused;
    }

    std::size_t progress() noexcept override {
        for (const Peer peer : std::exchange(lost_, {})) {
            if (states_[peer] != PeerState::up) continue;
            drop_all(peer);
            states_[peer] = PeerState::down;
            listener_.on_peer(peer, PeerState::down);
        }
        follow_connections();
        std::size_t n_done = complete_some();
        repeat_some();
        for (std::uint32_t n = network_.dice.below(6); n > 0; --n) n_done += take_one();
        return n_done;
    }

    int descriptor() const noexcept override { return -1; }
    bool arm() noexcept override { return false; }
    void wake() noexcept override {}
    PeerState state(Peer peer) const noexcept override {
        return lost_.contains(peer) ? PeerState::down : states_[peer];
    }
    std::size_t max_message_bytes() const noexcept override { return 1 << 20; }
    bool reliable() const noexcept override { return network_.reliable; }
    std::string describe() const override { return "fake"; }

  private:
    struct Sent {
        Peer to;
        std::vector<std::byte> header;
        std::span<const std::byte> payload;
        std::uint64_t token;
    };
    struct Arriving {  ///< placed, not yet reported
        Peer from;
        std::vector<std::byte> header;
        std::span<std::byte> place;
        std::vector<std::byte> payload;
    };

    std::size_t outgoing(Peer to) const {
        std::size_t n = 0;
        for (const Sent& sent : out_) n += sent.to == to;
        return n;
    }

    void follow_connections() {
        for (Peer peer = 0; peer < states_.size(); ++peer) {
            FakeFabric* other = network_.fabrics[peer];
            if (states_[peer] != PeerState::connecting || other == nullptr) continue;
            if (other->states_[self_] != PeerState::connecting && other->states_[self_] != PeerState::up) continue;
            if (other->lost_.contains(self_)) continue;
            states_[peer] = PeerState::up;
            listener_.on_peer(peer, PeerState::up);
        }
    }

    void drop_all(Peer peer) {
        for (std::deque<Arriving>* from_peer : {&arriving_, &again_})
            std::erase_if(*from_peer, [=](const Arriving& arriving) { return arriving.from == peer; });
        std::deque<Sent> kept, gone;
        for (Sent& sent : out_) (sent.to == peer ? gone : kept).push_back(std::move(sent));
        out_ = std::move(kept);
        for (const Sent& sent : gone) listener_.on_done(peer, sent.token, Status::peer_down);
    }

    /// Parts that lay in their place for a while are whole; their bytes come only now.
    std::size_t complete_some() {
        std::size_t n_done = 0;
        for (; !arriving_.empty() && network_.dice.one_in(2); ++n_done) {
            const Arriving done = std::move(arriving_.front());
            arriving_.pop_front();
            if (!network_.reliable && !done.place.empty() && network_.dice.one_in(network_.one_in_lost)) {
                listener_.on_lost(done.from, done.header);
                continue;
            }
            std::copy(done.payload.begin(), done.payload.end(), done.place.begin());
            listener_.on_message(done.from, done.header, done.place);
        }
        return n_done;
    }

    /// One message of a peer that sent to us.
    bool take_one() {
        const auto from = static_cast<Peer>(network_.dice.below(static_cast<std::uint32_t>(states_.size())));
        FakeFabric* sender = network_.fabrics[from];
        if (sender == nullptr || states_[from] != PeerState::up || sender->states_[self_] != PeerState::up)
            return false;
        if (sender->lost_.contains(self_) || lost_.contains(from) || sender->keeps_all) return false;
        auto found = std::find_if(sender->out_.begin(), sender->out_.end(),
                                  [this](const Sent& sent) { return sent.to == self_; });
        if (found == sender->out_.end()) return false;
        if (!network_.reliable && network_.dice.one_in(3)) {  // the next one overtakes it
            const auto next =
                std::find_if(found + 1, sender->out_.end(), [this](const Sent& sent) { return sent.to == self_; });
            if (next != sender->out_.end()) found = next;
        }
        const Sent sent = *found;
        sender->out_.erase(found);
        const bool is_lost = !network_.reliable && network_.dice.one_in(network_.one_in_lost);
        if (!is_lost) receive(from, sent.header, sent.payload);
        if (!network_.reliable && network_.dice.one_in(network_.one_in_doubled))
            again_.push_back({from, sent.header, {}, {sent.payload.begin(), sent.payload.end()}});
        sender->listener_.on_done(self_, sent.token, Status::ok);
        return true;
    }

    void receive(Peer from, const std::vector<std::byte>& header, std::span<const std::byte> payload) {
        if (payload.empty() && arriving_.empty()) return listener_.on_message(from, header, {});
        std::span<std::byte> place;
        if (!payload.empty()) {
            place = listener_.place(from, header, payload.size());
            if (place.size() < payload.size()) return;
        }
        arriving_.push_back({from, header, place, {payload.begin(), payload.end()}});
    }

    /// A message that came once comes a second time.
    void repeat_some() {
        if (again_.empty() || !network_.dice.one_in(3)) return;
        const Arriving message = std::move(again_.front());
        again_.pop_front();
        receive(message.from, message.header, message.payload);
    }

    FakeNetwork& network_;
    const Peer self_;
    fabric::Listener& listener_;
    std::vector<PeerState> states_;
    std::deque<Sent> out_;
    std::deque<Arriving> arriving_, again_;
    std::set<Peer> lost_;
};

}  // namespace anello::exchange::test
