// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/generator.hpp"
#include "exchange/messages/own_messages.hpp"
#include "exchange/station/station.hpp"
#include "unit/exchange/fake_fabric.hpp"
#include "wire/crc32c.hpp"
#include "wire/payload_pattern.hpp"

namespace anello::exchange::test {

/// Keeps each packet for a while, and checks that it does not change meanwhile.
class KeepingSink final : public MepSink {
  public:
    struct Kept {
        std::uint64_t mep;
        std::uint32_t slot, n_missing, checksum;
        std::vector<std::span<const std::byte>> mfps;
    };
    explicit KeepingSink(Dice& dice) : dice_(dice) {}

    bool try_take(const MepView& mep) noexcept override {
        if (dice_.one_in(4)) return false;
        kept_.push_back({mep.mep, mep.slot, mep.n_missing, 0, {mep.mfps.begin(), mep.mfps.end()}});
        kept_.back().checksum = checksum_of(kept_.back());
        missing_of[mep.mep] = mep.n_missing;
        n_false += static_cast<std::uint32_t>(
                       std::ranges::count_if(mep.mfps, [](const auto& mfp) { return mfp.empty(); })) != mep.n_missing;
        ++n_taken;
        return true;
    }
    bool try_give_back(std::uint32_t& slot) noexcept override {
        if (kept_.empty() || dice_.one_in(3)) return false;
        const auto kept = kept_.begin() + dice_.below(static_cast<std::uint32_t>(kept_.size()));
        n_changed += checksum_of(*kept) != kept->checksum || !belongs_together(*kept);
        slot = kept->slot;
        kept_.erase(kept);
        return true;
    }

    std::map<std::uint64_t, std::uint32_t> missing_of;  ///< by MEP: sources that it lacks
    std::size_t n_taken = 0;
    std::size_t n_false = 0;    ///< MEPs that lack more or fewer sources of the run than they say
    std::size_t n_changed = 0;  ///< MEPs that changed while they were here, or held what is not theirs

  private:
    /// All MFPs are of this MEP's events.
    static bool belongs_together(const Kept& kept) {
        wire::mfp::PacketView view;
        for (const auto& mfp : kept.mfps)
            if (!mfp.empty() && (wire::mfp::parse(mfp, view) != wire::Verdict::ok ||
                                 view.header.first_event != kept.mep * view.header.n_fragments))
                return false;
        return true;
    }
    static std::uint32_t checksum_of(const Kept& kept) {
        std::uint32_t crc = 0;
        for (const auto& mfp : kept.mfps) crc = wire::crc32c(mfp, crc);
        return crc;
    }
    Dice& dice_;
    std::deque<Kept> kept_;
};

struct RigConfig {
    std::vector<std::string> roles{"all"};
    std::size_t n_nodes = 2;
    Protocol protocol = Protocol::push;
    std::uint64_t n_meps = 20;
    std::uint32_t n_credits = 3, n_buffers = 8, packing = 4;
    double verify_share = 1;
    double rate_hz = 0;
    WhenFull when_full = WhenFull::wait;
    PayloadMode payload = PayloadMode::fresh;
    Nanoseconds step_ns = 100'000, timeout_ns = 200'000'000;
    bool reliable = true;  ///< the network
    bool waits_for_data = false;
};

/// A farm in one thread: stations on a fake network, stepped in the order that the dice say, with a clock by hand.
class FarmRig {
  public:
    struct Member {
        CounterPage* page = nullptr;
        std::size_t first_sample = 0, end_sample = 0;  ///< its blocks of the page
        std::unique_ptr<MfpRing> ring;
        std::unique_ptr<Generator> generator;
        std::unique_ptr<KeepingSink> sink;
        std::unique_ptr<Station> station;
        std::unique_ptr<OwnMessages> messages;
        FakeFabric* fabric = nullptr;  ///< within
    };

    FarmRig(const RigConfig& config, std::uint32_t seed) : config_(config), dice(seed), network(dice) {
        network.reliable = config.reliable;
        network.fabrics.resize(config.n_nodes);
        members.resize(config.n_nodes);
        lives.resize(config.n_nodes, true);
        for (Peer node = 0; node < config.n_nodes; ++node) make(node);
        for (Peer node = 0; node < config.n_nodes; ++node) connect(node);
    }

    void make(Peer node) {
        Member& member = members[node];
        member = {};
        ExchangeConfig config;
        config.farm = parse_roles(config_.roles, config_.n_nodes);
        config.self = node;
        config.protocol = config_.protocol;
        config.packing = config_.packing;
        config.n_meps = config_.n_meps;
        config.n_credits = config_.n_credits;
        config.verify_share = config_.verify_share;
        config.timeout_ns = config_.timeout_ns;
        config.waits_for_data = config_.waits_for_data;
        GeneratorConfig source{.rate_hz = config_.rate_hz,
                               .fragment_mean_bytes = 20,
                               .fragment_sigma_bytes = 5,
                               .fragment_min_bytes = 1,
                               .fragment_max_bytes = 40,
                               .payload = config_.payload,
                               .when_full = config_.when_full,
                               .seed = 7,
                               .source_id = config.farm.readout_of[node],
                               .packing = config_.packing};
        config.max_mfp_bytes = source.max_mfp_bytes();
        constexpr std::size_t members_of_a_page = 8;  // a page has room for the latency of so many builders
        if (n_made_++ % members_of_a_page == 0) pages_.push_back(std::make_unique<CounterPage>());
        CounterPage& page = *pages_.back();
        member.page = &page;
        member.first_sample = page.read().size();
        if (config.is_readout()) {
            member.ring = std::make_unique<MfpRing>(
                memory::BuffersConfig{.n_buffers = config_.n_buffers, .buffer_bytes = config.max_mfp_bytes});
            member.generator = std::make_unique<Generator>(source, *member.ring, clock, page);
        }
        if (config.is_builder()) member.sink = std::make_unique<KeepingSink>(dice);
        member.station =
            std::make_unique<Station>(config, memory::Kind::host, member.ring.get(), member.sink.get(), clock, page);
        auto transport = std::make_unique<FakeFabric>(network, node, member.station->listener());
        member.fabric = transport.get();
        member.messages = std::make_unique<OwnMessages>(std::move(transport), node, 6, member.station->listener());
        member.station->join(*member.messages);
        member.end_sample = page.read().size();
    }
    void connect(Peer node) {
        for (Peer other = 0; other < config_.n_nodes; ++other)
            if (members[other].station) members[node].station->connect(other, members[other].station->life(), {});
    }

    void kill(Peer node) {
        lives[node] = false;
        members[node].fabric->kill();
    }
    /// The node's process stops working, and its connections stay.
    void stall(Peer node) { lives[node] = false; }
    void go_on(Peer node) { lives[node] = true; }
    /// A new process in the place of one that was killed; the control plane gives its address to the others.
    void restart(Peer node) {
        graveyard.push_back(std::move(members[node]));
        make(node);
        lives[node] = true;
        connect(node);
        for (Peer other = 0; other < config_.n_nodes; ++other)
            if (lives[other] && other != node) members[other].station->connect(node, members[node].station->life(), {});
    }

    void step() {
        const auto node = dice.below(static_cast<std::uint32_t>(members.size()));
        clock.advance(config_.step_ns);
        if (!lives[node]) return;
        if (members[node].generator) members[node].generator->do_work();
        members[node].station->do_work();
    }
    void step(std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) step();
    }
    /// False when the farm does not come to its end.
    bool run(std::size_t max_steps = 200'000) {
        for (std::size_t i = 0; i < max_steps; ++i) {
            step();
            if (is_over()) return true;
        }
        return false;
    }
    /// The whole machine stands still: all processes at once, and nobody's clock.
    void stand_still(Nanoseconds pause_ns) { clock.advance(pause_ns); }
    /// Settles the accounts after the end, as when threads are joined.
    void settle() {
        for (auto* all : {&members, &graveyard})
            for (Member& member : *all) member.station->settle();
    }
    bool is_over() const {
        for (std::size_t node = 0; node < members.size(); ++node)
            if (lives[node] && !members[node].station->finished() && !members[node].station->failed()) return false;
        return true;
    }

    std::uint64_t count(Peer node, const std::string& block, const std::string& name) const {
        const auto samples = members[node].page->read();
        for (std::size_t i = members[node].first_sample; i < members[node].end_sample; ++i)
            if (samples[i].block == block && samples[i].name == name) return samples[i].value;
        return 0;
    }
    /// Sum over all nodes that live.
    std::uint64_t sum(const std::string& block, std::initializer_list<const char*> names) const {
        std::uint64_t total = 0;
        for (Peer node = 0; node < members.size(); ++node)
            for (const char* name : names)
                if (lives[node]) total += count(node, block, name);
        return total;
    }

  private:
    RigConfig config_;
    std::vector<std::unique_ptr<CounterPage>> pages_;  ///< of several members each: taking one is what costs
    std::size_t n_made_ = 0;

  public:
    Dice dice;
    ManualClock clock{1'000'000'000};
    FakeNetwork network;
    std::vector<Member> members;
    std::vector<Member> graveyard;  ///< those in whose place another came
    std::vector<bool> lives;
};

}  // namespace anello::exchange::test
