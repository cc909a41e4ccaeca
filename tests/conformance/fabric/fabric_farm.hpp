// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/counters/counters.hpp"
#include "fabric/fabric_config.hpp"
#include "patience.hpp"

/// A farm of fabrics in one thread, stepped in turn, for the conformance suite and other tests of transports.
namespace anello::fabric::conformance {

using Bytes = std::vector<std::byte>;

/// Bytes that follow from the message's number and their place in it.
inline Bytes pattern(std::uint64_t seed, std::size_t n_bytes) {
    Bytes bytes(n_bytes);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
    for (std::byte& byte : bytes) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<std::byte>(state >> 56);
    }
    return bytes;
}

/// Records what the fabric reports to it, and fails the test where this should not have happened.
class Recorder final : public Listener {
  public:
    struct Message {
        Peer from;
        Bytes header, payload;
        bool operator==(const Message&) const = default;
    };
    struct Done {
        Peer to;
        std::uint64_t token;
        Status status;
    };
    struct Change {
        Peer peer;
        PeerState state;
        bool operator==(const Change&) const = default;
    };

    std::span<std::byte> place(Peer from, std::span<const std::byte> header,
                               std::size_t payload_bytes) noexcept override {
        expect_up(from, "place");
        EXPECT_GT(payload_bytes, 0U) << "asked for a place for nothing";
        if (choose_place) return choose_place(from, header, payload_bytes);
        return places.emplace_back(payload_bytes);
    }
    void on_message(Peer from, std::span<const std::byte> header, std::span<std::byte> payload) noexcept override {
        expect_up(from, "on_message");
        messages.push_back({from, Bytes(header.begin(), header.end()), Bytes(payload.begin(), payload.end())});
        if (at_message) at_message(from, header, payload);
    }
    void on_signal(Peer from, std::uint64_t signal) noexcept override {
        expect_up(from, "on_signal");
        signals.emplace_back(from, signal);
        if (at_signal) at_signal(from, signal);
    }
    void on_done(Peer to, std::uint64_t token, Status status) noexcept override {
        EXPECT_NE(state_of(to), PeerState::down) << "on_done() behind on_peer(down)";
        done.push_back({to, token, status});
    }
    void on_peer(Peer peer, PeerState state) noexcept override {
        EXPECT_TRUE(state == PeerState::up || state == PeerState::down);
        EXPECT_NE(state_of(peer), state) << "reported twice";
        changes.push_back({peer, state});
        states_[peer] = state;
    }

    /// The test disconnected or connects anew, which the fabric does not report to its listener.
    void forget(Peer peer) { states_[peer] = PeerState::absent; }
    PeerState state_of(Peer peer) const {
        const auto found = states_.find(peer);
        return found == states_.end() ? PeerState::absent : found->second;
    }
    std::vector<Message> messages_from(Peer peer) const {
        std::vector<Message> found;
        std::copy_if(messages.begin(), messages.end(), std::back_inserter(found),
                     [peer](const Message& message) { return message.from == peer; });
        return found;
    }
    std::size_t n_done(Status status) const {
        return static_cast<std::size_t>(
            std::count_if(done.begin(), done.end(), [status](const Done& one) { return one.status == status; }));
    }
    std::size_t n_changes(Peer peer, PeerState state) const {
        return static_cast<std::size_t>(std::count(changes.begin(), changes.end(), Change{peer, state}));
    }
    void expect_each_token_once(std::uint64_t n_tokens) const {
        std::map<std::uint64_t, int> times;
        for (const Done& one : done) ++times[one.token];
        EXPECT_EQ(times.size(), n_tokens);
        for (const auto& [token, n] : times) EXPECT_EQ(n, 1) << "token " << token;
    }

    std::vector<Message> messages;
    std::vector<std::pair<Peer, std::uint64_t>> signals;
    std::vector<Done> done;
    std::vector<Change> changes;
    std::list<Bytes> places;
    std::function<std::span<std::byte>(Peer, std::span<const std::byte>, std::size_t)> choose_place;
    std::function<void(Peer, std::span<const std::byte>, std::span<std::byte>)> at_message;
    std::function<void(Peer, std::uint64_t)> at_signal;

  private:
    void expect_up(Peer peer, const char* what) const {
        EXPECT_EQ(state_of(peer), PeerState::up) << what << "() of peer " << peer << ", which is not up";
    }

    std::map<Peer, PeerState> states_;
};

/// One process of the farm, with all objects of its own. Without a fabric it is dead.
struct Member {
    CounterPage page;
    Counters<FabricCounter> counters = page.add_block<FabricCounter>("fabric");
    Recorder listener;
    std::unique_ptr<Fabric> fabric;
};

/// Traits say how a transport is made, and what it can:
///   struct Traits {
///     static FabricConfig config();                        // of this transport; self, n_peers, farm_id are set here
///     static std::unique_ptr<Fabric> make(const FabricConfig&, Listener&, const Clock&, Counters<FabricCounter>);
///     static std::string reason_to_skip();                 // optional: empty where it works
///   };
template <typename Traits>
class Farm {
  public:
    static constexpr std::uint64_t farm_id = 0x51a7e;

    explicit Farm(std::uint16_t n_peers, const std::function<void(FabricConfig&)>& change = {})
        : config_(Traits::config()) {
        config_.n_peers = n_peers;
        config_.farm_id = farm_id;
        if (change) change(config_);
        for (Peer peer = 0; peer < n_peers; ++peer) start(peer);
    }
    /// stop() is like a process that dies or was never there, start() like one that is started anew.
    void stop(Peer peer) { members_.at(peer)->fabric.reset(); }
    void start(Peer peer) {
        if (members_.size() <= peer) members_.resize(peer + 1U);
        members_[peer] = std::make_unique<Member>();
        FabricConfig own = config_;
        own.self = peer;
        Member& member = *members_[peer];
        member.fabric = Traits::make(own, member.listener, clock_, member.counters);
    }
    void connect(Peer from, Peer to) {
        listener(from).forget(to);
        fabric(from).connect(to, fabric(to).address());
    }
    void disconnect(Peer from, Peer to) {
        listener(from).forget(to);
        fabric(from).disconnect(to);
    }
    /// Connects each member to each, itself included.
    void connect_all() {
        for (Peer from = 0; from < size(); ++from)
            for (Peer to = 0; to < size(); ++to) connect(from, to);
        ASSERT_TRUE(until([this] { return all_up(); })) << "not all came up";
    }
    bool all_up() const {
        for (const auto& member : members_)
            for (Peer peer = 0; peer < size(); ++peer)
                if (member->listener.state_of(peer) != PeerState::up) return false;
        return true;
    }

    std::size_t step() {
        std::size_t n_things = 0;
        for (const auto& member : members_)
            if (member->fabric) n_things += member->fabric->progress();
        clock_.advance(1'000);
        return n_things;
    }
    /// Steps until `holds` is true, or gives up after a long time.
    bool until(const std::function<bool()>& holds) {
        return anello::test::comes_true(holds, [this] {
            if (step() == 0) std::this_thread::yield();
        });
    }
    void step(int n_times) {
        for (int i = 0; i < n_times; ++i) step();
    }
    /// Lets `time_ns` pass while all that live make progress.
    void pass(Nanoseconds time_ns) {
        const Nanoseconds end = clock_.monotonic_ns() + time_ns;
        pass_until([&] { return clock_.monotonic_ns() >= end; });
    }
    /// Lets time pass until `holds` is true, or for 10 connect timeouts. Sockets, and the thread that UCX has of its
    /// own, live in real time: each quarter of a heartbeat leaves them a moment, or live peers would not be heard in
    /// time on a busy machine.
    bool pass_until(const std::function<bool()>& holds) {
        const Nanoseconds end = clock_.monotonic_ns() + 10 * config_.connect_timeout_ns;
        while (!holds()) {
            if (clock_.monotonic_ns() >= end) return false;
            clock_.advance(config_.heartbeat_ns / 4);
            step(100);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
    /// Sends, making progress while there is no room.
    Status send(Peer from, Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) {
        Status status = Status::busy;
        until([&] { return (status = fabric(from).send(to, header, payload, token)) != Status::busy; });
        return status;
    }

    std::uint16_t size() const { return config_.n_peers; }
    Fabric& fabric(Peer peer) { return *members_.at(peer)->fabric; }
    Recorder& listener(Peer peer) { return members_.at(peer)->listener; }
    std::uint64_t count(Peer peer, FabricCounter counter) const { return members_.at(peer)->counters[counter]; }
    std::uint64_t count(FabricCounter counter) const {
        std::uint64_t sum = 0;
        for (Peer peer = 0; peer < size(); ++peer) sum += count(peer, counter);
        return sum;
    }
    const FabricConfig& config() const { return config_; }
    ManualClock& clock() { return clock_; }

  private:
    FabricConfig config_;
    ManualClock clock_{1'000'000'000};
    std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace anello::fabric::conformance
