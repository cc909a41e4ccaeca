// SPDX-License-Identifier: Apache-2.0
#include "camera/chain/watch.hpp"

#include <gmock/gmock.h>

namespace anello::camera {
namespace {

/// A port to which nothing comes because the kernel drops it.
class DroppingBackend final : public receive::Backend {
  public:
    std::size_t n_streams() const noexcept override { return 1; }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<receive::Datagram>) noexcept override { return 0; }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t) const noexcept override { return true; }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return n_dropped; }
    std::string describe() const override { return "a port"; }

    std::uint64_t n_dropped = 0;
};

TEST(CameraWatch, TellsOfEachDatagramThatTheKernelDropped) {
    ManualClock clock(1'000'000'000);
    CounterPage page;
    auto* const backend = new DroppingBackend;
    CameraIntakeConfig config;
    config.builder.shape = {.n_boards = 1, .max_payload_bytes = 100};
    config.builder.boards = {0, 1};
    CameraIntake intake(config, std::unique_ptr<receive::Backend>(backend), clock, page);
    CameraWatch watch({&intake});
    EXPECT_TRUE(watch.notices().empty());
    for (const std::uint64_t n_dropped : {1U, 3U}) {
        const std::uint64_t n_new = n_dropped - backend->n_dropped;
        backend->n_dropped = n_dropped;
        clock.advance(1'000'000'000);
        intake.receive_work();
        EXPECT_THAT(watch.notices(), testing::ElementsAre(testing::Field(
                                         &Notice::text, testing::StartsWith("port 0: the kernel dropped " +
                                                                            std::to_string(n_new) + " datagrams"))));
    }
    EXPECT_TRUE(watch.notices().empty());
}

}  // namespace
}  // namespace anello::camera
