// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "conformance/fabric/fabric_conformance.hpp"
#include "simulate/simulated_fabric.hpp"

namespace anello::fabric::conformance {
namespace {

/// The network of the farm that a clock belongs to; it lives as long as one of its fabrics.
struct Net {
    simulate::World world;
    std::unique_ptr<simulate::Network> network;
};

/// Virtual time follows the farm's clock.
class Stepped final : public Fabric {
  public:
    Stepped(const FabricConfig& config, Listener& listener, const Clock& clock, Counters<FabricCounter> counters,
            std::shared_ptr<Net> net)
        : clock_(clock), net_(std::move(net)), inner_(config, listener, *net_->network, counters, [] {}) {}

    std::vector<std::byte> address() const override { return inner_.address(); }
    void connect(Peer peer, std::span<const std::byte> address) override { inner_.connect(peer, address); }
    void disconnect(Peer peer) noexcept override { inner_.disconnect(peer); }
    Region register_memory(std::span<std::byte> memory) override { return inner_.register_memory(memory); }
    void deregister(Region region) noexcept override { inner_.deregister(region); }
    std::vector<std::byte> key(Region region) const override { return inner_.key(region); }
    RemoteRegion attach(Peer peer, std::span<const std::byte> key) override { return inner_.attach(peer, key); }
    Status send(Peer to, std::span<const std::byte> header, std::span<const std::byte> payload,
                std::uint64_t token) noexcept override {
        return inner_.send(to, header, payload, token);
    }
    Status put(RemoteRegion to, std::size_t offset, std::span<const std::byte> from, std::uint64_t signal,
               std::uint64_t token) noexcept override {
        return inner_.put(to, offset, from, signal, token);
    }
    Status get(RemoteRegion from, std::size_t offset, std::span<std::byte> to, std::uint64_t token) noexcept override {
        return inner_.get(from, offset, to, token);
    }
    std::size_t progress() noexcept override {
        net_->world.run_until(clock_.monotonic_ns());
        return inner_.progress();
    }
    int descriptor() const noexcept override { return inner_.descriptor(); }
    bool arm() noexcept override { return inner_.arm(); }
    void wake() noexcept override { inner_.wake(); }
    PeerState state(Peer peer) const noexcept override { return inner_.state(peer); }
    std::size_t max_message_bytes() const noexcept override { return inner_.max_message_bytes(); }
    bool reliable() const noexcept override { return inner_.reliable(); }
    std::string describe() const override { return inner_.describe(); }

  private:
    const Clock& clock_;
    std::shared_ptr<Net> net_;
    simulate::SimulatedFabric inner_;
};

template <simulate::DoneWhen done_when, bool is_reliable>
struct Simulated {
    static FabricConfig config() {
        FabricConfig config;
        config.max_message_bytes = 200'000;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        static std::map<const Clock*, std::weak_ptr<Net>> nets;
        std::shared_ptr<Net> net = nets[&clock].lock();
        if (!net) {
            nets[&clock] = net = std::make_shared<Net>();
            const simulate::NetworkConfig links{
                .n_nodes = config.n_peers, .done_when = done_when, .reliable = is_reliable};
            net->network = std::make_unique<simulate::Network>(links, net->world);
        }
        return std::make_unique<Stepped>(config, listener, clock, counters, std::move(net));
    }
};
using Copied = Simulated<simulate::DoneWhen::copied, true>;
using Arrived = Simulated<simulate::DoneWhen::arrived, true>;
using Lossy = Simulated<simulate::DoneWhen::copied, false>;
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FabricWaiting);  // it has no descriptor
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedCopied, FabricConformance, Copied);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedCopied, FabricLiveness, Copied);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedArrived, FabricConformance, Arrived);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedArrived, FabricLiveness, Arrived);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedLossy, FabricConformance, Lossy);
INSTANTIATE_TYPED_TEST_SUITE_P(SimulatedLossy, FabricLiveness, Lossy);

}  // namespace
}  // namespace anello::fabric::conformance
