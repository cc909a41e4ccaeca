// SPDX-License-Identifier: Apache-2.0
#include "fabrics/faulty_fabric.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "conformance/fabric/fabric_farm.hpp"
#include "core/errors.hpp"
#include "fabrics/in_process_fabric.hpp"

namespace anello::fabric {
namespace {

using conformance::Bytes;
using conformance::Farm;
using conformance::pattern;

/// The faults of the farm that is being made, and those that all its members have done.
struct Faulty {
    static inline FaultConfig faults;
    static inline std::optional<Transport> transport;  ///< none: within this process
    static inline std::shared_ptr<FaultCounts> counts;

    static FabricConfig config() {
        FabricConfig config;
        if (transport) config.transport = *transport;
        return config;
    }
    static std::unique_ptr<Fabric> make(const FabricConfig& config, Listener& listener, const Clock& clock,
                                        Counters<FabricCounter> counters) {
        const MakeFabric inner = transport ? make_fabric : make_in_process_fabric;
        return with_faults(faults, inner, counts)(config, listener, clock, counters);
    }
};

class FaultyFabricTest : public testing::Test {
  protected:
    FaultyFabricTest() {
        Faulty::faults = {};
        Faulty::transport.reset();
        Faulty::counts = std::make_shared<FaultCounts>();
    }
    static const FaultCounts& counts() { return *Faulty::counts; }

    /// Sends numbered messages from 0 to 1; returns the numbers in the order of their arrival.
    static std::vector<std::size_t> carry(std::size_t n_messages) {
        Farm<Faulty> farm(2);
        farm.connect_all();
        std::vector<Bytes> payloads;
        for (std::size_t i = 0; i < n_messages; ++i) payloads.push_back(pattern(i, 100));
        for (std::size_t i = 0; i < n_messages; ++i)
            EXPECT_EQ(farm.send(0, 1, std::as_bytes(std::span(&i, 1)), payloads[i], i), Status::ok);
        EXPECT_TRUE(farm.until([&] { return farm.listener(0).done.size() == n_messages; }));
        EXPECT_TRUE(farm.until([&] {
            return farm.count(1, FabricCounter::messages_received) == n_messages - counts().lost + counts().duplicated;
        }));
        farm.listener(0).expect_each_token_once(n_messages);
        EXPECT_EQ(farm.listener(0).n_done(Status::ok), n_messages) << "who sends does not notice";
        std::vector<std::size_t> numbers;
        for (const auto& message : farm.listener(1).messages) {
            std::size_t number = 0;
            std::memcpy(&number, message.header.data(), sizeof number);
            EXPECT_TRUE(message.payload == payloads.at(number));
            numbers.push_back(number);
        }
        return numbers;
    }
};

TEST_F(FaultyFabricTest, BreaksNoPromiseUnlessToldTo) {
    Faulty::faults.loss = 0.1;
    EXPECT_THROW(Farm<Faulty>(1), ConfigError);
    Faulty::faults = {.duplicate = 0.1};
    EXPECT_THROW(Farm<Faulty>(1), ConfigError);
    Faulty::transport = Transport::udp;
    EXPECT_NO_THROW(Farm<Faulty>(1));
    Faulty::faults = {.loss = 1.1, .break_promises = true};
    EXPECT_THROW(Farm<Faulty>(1), ConfigError);
    Faulty::faults = {.delay_ns = -1};
    EXPECT_THROW(check(Faulty::faults), ConfigError);
}

TEST_F(FaultyFabricTest, LosesTheShareThatIsAskedForTheSameEachTime) {
    Faulty::faults = {.loss = 0.2, .seed = 17, .break_promises = true};
    const auto first = carry(2000);
    EXPECT_NEAR(static_cast<double>(counts().lost.load()), 400, 80);
    Faulty::counts->lost = 0;
    EXPECT_EQ(carry(2000), first);
    Faulty::counts->lost = 0;
    Faulty::faults.seed = 18;
    EXPECT_NE(carry(2000), first);
}

TEST_F(FaultyFabricTest, DoublesAreWhole) {
    Faulty::faults = {.duplicate = 0.3, .break_promises = true};
    const auto numbers = carry(1000);
    EXPECT_NEAR(static_cast<double>(counts().duplicated.load()), 300, 70);
    EXPECT_EQ(std::set(numbers.begin(), numbers.end()).size(), 1000U);
}

TEST_F(FaultyFabricTest, DelayKeepsTheOrderThatIsPromised) {
    Faulty::faults = {.delay_ns = 200'000};
    const auto numbers = carry(500);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    EXPECT_GT(counts().delayed, 490U);
}

TEST_F(FaultyFabricTest, DelayMixesWhereNoOrderIsPromised) {
    Faulty::transport = Transport::udp;
    Faulty::faults = {.delay_ns = 200'000};
    const auto numbers = carry(500);
    EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
}

TEST_F(FaultyFabricTest, NothingComesBeforeItsTime) {
    Faulty::faults = {.delay_ns = 1'000'000'000};
    Farm<Faulty> farm(2);
    farm.connect_all();
    ASSERT_EQ(farm.send(0, 1, {}, {}, 0), Status::ok);
    EXPECT_FALSE(farm.fabric(0).arm()) << "nobody has looked when it is due";
    farm.step(100);
    EXPECT_TRUE(farm.listener(1).messages.empty());
    farm.clock().advance(1'000'000'000);
    EXPECT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == 1; }));
}

TEST_F(FaultyFabricTest, TheDescriptorTellsWhenItsTimeHasCome) {
    std::vector<std::optional<Transport>> transports{std::nullopt, Transport::tcp, Transport::udp};
#ifdef ANELLO_UCX
    transports.push_back(Transport::ucx);
#endif
    for (const std::optional<Transport> transport : transports) {
        SCOPED_TRACE(transport ? name_of(*transport) : "in_process");
        Faulty::transport = transport;
        Faulty::faults = {.delay_ns = 100'000'000};
        Farm<Faulty> farm(2);
        farm.connect_all();
        Fabric& fabric = farm.fabric(0);
        const auto readable = [&](int timeout_ms) {
            pollfd watched{.fd = fabric.descriptor(), .events = POLLIN, .revents = 0};
            return poll(&watched, 1, timeout_ms) == 1;
        };
        const auto rests = [&] { return farm.until([&] { return fabric.arm() && !readable(0); }); };
        ASSERT_EQ(farm.send(0, 1, {}, {}, 0), Status::ok);
        ASSERT_TRUE(rests()) << "it is not to be asked all the time";
        EXPECT_TRUE(readable(anello::test::patience_ms)) << "by then it is due";
        farm.clock().advance(100'000'000);
        EXPECT_TRUE(farm.until([&] { return farm.listener(1).messages.size() == 1; }));
        EXPECT_TRUE(rests()) << "the timer has nothing more to tell";
        fabric.wake();
        EXPECT_TRUE(readable(anello::test::patience_ms)) << "it tells of the inner fabric too";
    }
}

TEST_F(FaultyFabricTest, LosesAPeerAfterSoManyMessages) {
    Faulty::faults = {.delay_ns = 100'000'000'000, .disconnect_after = 10};
    Farm<Faulty> farm(2);
    farm.connect_all();
    const Bytes payload = pattern(1, 1000);
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(farm.fabric(0).send(1, {}, payload, i), Status::ok);
    ASSERT_TRUE(farm.until([&] { return farm.fabric(1).state(0) == PeerState::down; }));
    EXPECT_EQ(farm.fabric(0).state(1), PeerState::down);
    EXPECT_EQ(farm.listener(0).n_changes(1, PeerState::down), 1U);
    farm.listener(0).expect_each_token_once(10);
    EXPECT_EQ(farm.listener(0).n_done(Status::peer_down), 10U);
    EXPECT_EQ(counts().given_up, 10U);
    EXPECT_EQ(counts().disconnected, 1U);
    EXPECT_EQ(farm.fabric(0).send(1, {}, payload, 10), Status::peer_down);
    farm.connect(0, 1);
    farm.connect(1, 0);
    EXPECT_TRUE(farm.until([&] { return farm.all_up(); })) << "it may come back";
}

TEST_F(FaultyFabricTest, SaysThatItMakesFaults) {
    Farm<Faulty> farm(1);
    EXPECT_NE(farm.fabric(0).describe().find("faults"), std::string::npos);
}

}  // namespace
}  // namespace anello::fabric
