// SPDX-License-Identifier: Apache-2.0
#include "camera/send/compression_choice.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "camera/tests/camera_event.hpp"

namespace anello::camera {
namespace {

constexpr CompressionConfig automatic{.choice = CompressionBy::measurement, .budget_us = 1000};
constexpr std::size_t event_bytes = 1'000'000;

struct Cost {
    double us;
    std::size_t bytes;
};

/// Tells the choice that each candidate costs what `cost_of` says.
template <typename CostOf>
void try_all(CompressionChoice& choice, CostOf cost_of) {
    const std::vector<std::byte> bytes(event_bytes);
    while (choice.is_open()) {
        const Cost cost = cost_of(choice.next());
        choice.tried(static_cast<Nanoseconds>(1e3 * cost.us), {std::span(bytes).first(cost.bytes), event_bytes});
    }
}

TEST(CompressionChoice, TakesTheSmallestThatStaysWithinTheTime) {
    CompressionChoice choice(automatic);
    try_all(choice, [](const CompressionConfig& steps) -> Cost {
        if (steps.level == 6) return {3000, 100'000};
        if (steps.level == 0) return {50, event_bytes};
        if (steps.level == 3 && steps.shuffle == Shuffle::bit && !steps.difference) return {999, 200'000};
        return {500, 300'000};
    });
    EXPECT_EQ(choice.now().level, 3);
    EXPECT_EQ(choice.now().shuffle, Shuffle::bit);
    EXPECT_FALSE(choice.now().difference);
    EXPECT_EQ(
        choice.describe(),
        "zstd 3, shuffled by bits: 20 % of the bytes for 999 us of a core, the smallest of 20 tried within 1000 us");
}

TEST(CompressionChoice, TakesTheFastestWhereNoneStaysWithinTheTime) {
    CompressionChoice choice(automatic);
    try_all(choice, [](const CompressionConfig& steps) -> Cost {
        return {steps.level == 1 && steps.shuffle == Shuffle::none && steps.difference ? 2000.0 : 5000.0, 300'000};
    });
    EXPECT_EQ(choice.now().level, 1);
    EXPECT_EQ(choice.now().shuffle, Shuffle::none);
    EXPECT_TRUE(choice.now().difference);
    EXPECT_NE(choice.describe().find("the fastest of 20 tried: none keeps to 1000 us"), std::string::npos);
}

TEST(CompressionChoice, WhatMakesNoRecordIsNotChosen) {
    CompressionChoice choice(automatic);
    const std::vector<std::byte> bytes(event_bytes);
    while (choice.is_open()) {
        const bool fails = choice.next().level != 3;
        choice.tried(1000, {std::span(bytes).first(fails ? 0 : 900'000), fails ? 0 : event_bytes});
    }
    EXPECT_EQ(choice.now().level, 3);
}

TEST(CompressionChoice, IsNoneWhereTheConfigurationSaysHow) {
    const CompressionChoice choice({.level = 5, .shuffle = Shuffle::bit});
    EXPECT_FALSE(choice.is_open());
    EXPECT_EQ(choice.now().level, 5);
    EXPECT_EQ(choice.now().shuffle, Shuffle::bit);
    EXPECT_EQ(choice.describe(), "");
}

TEST(CompressionChoice, EveryEventHasARecordWhileItIsOpen) {
    constexpr test::CameraLayout layout{.n_boards = 12, .boards_per_group = 5};
    test::CameraEvent event(layout, 3);
    source::Random random(9);
    test::fill_waveforms(event, random, 4, [](std::uint32_t p) { return p < 20 ? 12.0 : 0.0; });
    CompressionChoice choice(automatic);
    CameraEncoder encoder(automatic, event.view().shape);
    CameraDecoder decoder;
    std::vector<std::byte> out(encoder.max_record_bytes());
    for (std::uint32_t e = 0; e < 20 * CompressionChoice::events_per_candidate + 1; ++e) {
        const EncodedEvent made = encode_event(choice, true, encoder, event.view(), out);
        CameraRecord record;
        ASSERT_EQ(decoder.decode(made.record, record), RecordVerdict::ok) << e;
        ASSERT_EQ(record.header.event_number, 3U);
    }
    EXPECT_FALSE(choice.is_open());
    EXPECT_FALSE(choice.describe().empty());
}

}  // namespace
}  // namespace anello::camera
