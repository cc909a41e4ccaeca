// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "pipeline/intake.hpp"

namespace anello::pipeline {
namespace {

/// Streams whose data were all read, or not.
class Streams final : public receive::Backend {
  public:
    explicit Streams(std::vector<bool> are_read) : are_read_(std::move(are_read)) {}
    std::size_t n_streams() const noexcept override { return are_read_.size(); }
    std::uint16_t port(std::uint16_t) const noexcept override { return 0; }
    std::size_t receive(std::span<receive::Datagram>) noexcept override { return 0; }
    void set_wanted(std::uint16_t, bool) noexcept override {}
    bool is_read(std::uint16_t stream) const noexcept override { return are_read_[stream]; }
    std::uint64_t kernel_dropped(std::uint16_t) const noexcept override { return 0; }
    std::string describe() const override { return {}; }

  private:
    std::vector<bool> are_read_;
};

TEST(ReadingWork, AThreadRestsOnlyBehindAllThatHadCome) {
    constexpr std::size_t few = rest_below_datagrams - 1, many = rest_below_datagrams;
    EXPECT_EQ(reading_work(Streams({true, true}), few), few);
    EXPECT_EQ(reading_work(Streams({true, false}), few), rest_below_datagrams);
    EXPECT_EQ(reading_work(Streams({false, true}), 1), rest_below_datagrams);
    EXPECT_EQ(reading_work(Streams({true, false}), 0), 0U) << "nothing could be read: that is no work";
    EXPECT_EQ(reading_work(Streams({true, true}), many), many);
    EXPECT_EQ(reading_work(Streams({true, false}), 3 * many), 3 * many);
}

}  // namespace
}  // namespace anello::pipeline
