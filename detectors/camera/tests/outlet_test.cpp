// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/outlet.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "camera/tests/camera_event.hpp"

namespace anello::camera::outlet_test {
namespace {

constexpr test::CameraLayout layout{.n_boards = 10, .boards_per_group = 10};

/// The same event as often as is wanted.
class Repeated final : public CameraEvents {
  public:
    bool try_take(CameraEventView& view) noexcept override {
        if (is_empty()) return false;
        view = event.view();
        --n_left;
        return true;
    }
    void release(const CameraEventView&) noexcept override { ++n_released; }
    bool is_empty() const noexcept override { return n_left == 0; }

    test::CameraEvent event{layout};
    int n_left = 0, n_released = 0;
};

/// A TCP port of the loopback where connections wait for ever.
class Listener {
  public:
    Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), length), 0);
        EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length), 0);
        EXPECT_EQ(listen(socket_, 1), 0);
        port = ntohs(address.sin_port);
    }
    ~Listener() { close(socket_); }
    std::uint16_t port = 0;

  private:
    int socket_;
};

/// Both stages, which a test works by hand.
struct OutletRig {
    explicit OutletRig(const CameraStreamConfig& stream)
        : outlet(config_with(stream), events, events.event.view().shape, clock, page) {}

    static CameraOutletConfig config_with(const CameraStreamConfig& stream) {
        CameraOutletConfig config;
        config.integrate = false;
        config.compression.level = 0;
        config.stream = stream;
        return config;
    }

    ManualClock clock{1};
    CounterPage page;
    Repeated events;
    CameraOutlet outlet;
    std::vector<pipeline::Stage> stages = outlet.stages({});
};

TEST(CameraOutlet, TellsWhyItsStreamDroppedAnEvent) {
    std::optional<Listener> listener(std::in_place);
    OutletRig rig({.port = listener->port, .queue_bytes = 4096});  // less than an event
    auto& [clock, page, events, outlet, stages] = rig;
    const pipeline::Stage &filter = stages.at(0), &send = stages.at(1);
    const auto told_after_an_event = [&] {
        events.n_left = 1;
        filter.do_work(0);
        send.do_work(0);
        EXPECT_EQ(filter.do_work(0), 1U) << "its memory is given back";
        pipeline::Notices notices;
        send.add_notices(notices);
        std::vector<std::string> lines;
        for (const Notice& notice : notices) lines.push_back(notice.text);
        return lines;
    };
    const auto value = [&](const std::string& name) {
        for (const auto& sample : page.read())
            if (sample.block == "camera_stream" && sample.name == name) return sample.value;
        return std::uint64_t{0};
    };
    const auto work_until_more_than = [&](std::uint64_t n, const std::string& name) {
        for (; value(name) <= n; clock.advance(1'000'000'000)) send.do_work(0);  // the test's time-out ends it
    };
    using testing::ElementsAre, testing::EndsWith;
    EXPECT_THAT(told_after_an_event(), ElementsAre(EndsWith("dropped 1 events: nobody receives there")));
    work_until_more_than(0, "connections");
    EXPECT_THAT(told_after_an_event(), ElementsAre(EndsWith("1 events: its receiver is slower than they come")));
    const std::uint64_t n_failures = value("connection_failures");
    listener.reset();
    work_until_more_than(n_failures, "connection_failures");
    EXPECT_THAT(told_after_an_event(), ElementsAre(EndsWith("1 events: nobody receives there")));
}

const LatencyHistogram& leg_of(const pipeline::Stage& filter, CameraLeg leg) {
    pipeline::Latencies latency;
    filter.add_latency(latency);
    return *latency.at(camera_leg_names[static_cast<std::size_t>(leg)]);
}

/// What files and receivers take does not count for the decision.
TEST(CameraOutlet, AnEventIsDecidedBeforeItIsSent) {
    OutletRig rig({.port = 1});
    auto& [clock, page, events, outlet, stages] = rig;
    const pipeline::Stage &filter = stages.at(0), &send = stages.at(1);
    events.n_left = 1;
    EXPECT_EQ(filter.do_work(0), 1U);
    EXPECT_TRUE(send.has_input(0));
    filter.drain();
    filter.do_work(0);
    EXPECT_FALSE(filter.is_drained()) << "the sender has it";
    EXPECT_EQ(leg_of(filter, CameraLeg::first_to_decided).count(), 1U);
    EXPECT_EQ(leg_of(filter, CameraLeg::first_to_sent).count(), 0U);
    EXPECT_EQ(events.n_released, 0);
    clock.advance(5'000'000);
    send.do_work(0);
    filter.do_work(0);
    EXPECT_EQ(events.n_released, 1);
    EXPECT_EQ(leg_of(filter, CameraLeg::first_to_sent).count(), 1U);
    EXPECT_GE(leg_of(filter, CameraLeg::first_to_sent).max_ns(),
              leg_of(filter, CameraLeg::first_to_decided).max_ns() + 5'000'000);
    filter.do_work(0);
    EXPECT_TRUE(filter.is_drained());
}

TEST(CameraOutlet, WhereNobodyWantsEventsNothingIsSent) {
    OutletRig rig({.host = {}});
    auto& [clock, page, events, outlet, stages] = rig;
    ASSERT_EQ(stages.size(), 1U);
    events.n_left = 1;
    EXPECT_EQ(stages[0].do_work(0), 1U);
    EXPECT_EQ(events.n_released, 1);
    EXPECT_EQ(leg_of(stages[0], CameraLeg::first_to_sent).count(), 1U);
}

}  // namespace
}  // namespace anello::camera::outlet_test
