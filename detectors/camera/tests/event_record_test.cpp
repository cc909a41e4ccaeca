// SPDX-License-Identifier: Apache-2.0
#include "camera/send/event_record.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "camera/tests/camera_event.hpp"
#include "core/errors.hpp"
#include "unit/publish/record_copy.hpp"
#include "wire/bytes.hpp"

namespace anello::camera {
namespace {

/// Two of three boards; the second sent less than the others.
class CameraEventTest : public testing::Test {
  protected:
    CameraEventTest() : memory_(shape_.event_bytes()) {
        event_ = {.run_id = 5, .event_number = 42, .timestamp_ns = 9, .shape = shape_, .n_present = 2};
        event_.boards_per_group = 3;
        event_.base[0] = memory_.data();
        for (const std::uint32_t board : {0U, 2U}) {
            event_.present.add(board);
            std::byte* const slot = memory_.data() + board * shape_.slot_bytes();
            for (std::size_t i = 0; i < 64 + 24; ++i) slot[i] = static_cast<std::byte>(board * 100 + i);
            wire::store_le(slot + 38, static_cast<std::uint16_t>(board == 0 ? 24 : 20));
        }
        pixels_.n_boards = 3;
        pixels_.pixels_per_board = 2;
        pixels_.n_gains = 2;
        pixels_.n_samples = 3;
    }

    const CameraShape shape_{.n_boards = 3, .max_payload_bytes = 24};
    std::vector<std::byte> memory_;
    CameraEventView event_;
    IntegratorConfig pixels_;
    const std::vector<float> charge_{1, 2, 0, 0, 5, 6};
    const std::vector<std::uint16_t> peak_{1, 1, 0, 0, 2, 2};
    const std::vector<std::uint8_t> flags_{0, 0, 1, 1, 0, 0};
    const PixelView view_{charge_, peak_, flags_};
    const Verdict verdict_{KeptBy::signal, 3, 4, 14};
};

TEST_F(CameraEventTest, HasWhatBoardsSentAndWhatWasMadeOfIt) {
    CameraEventRecord record(shape_, pixels_, CameraContent::event);
    record.fill(event_, view_, verdict_);
    EXPECT_LE(record.outgoing().length_bytes(), record.largest_bytes());
    const publish::test::Received copy = publish::test::copy_of(record.outgoing());
    const publish::RecordView view = publish::test::view_of(copy);
    EXPECT_EQ(view.header().run, 5U);
    EXPECT_EQ(view.value<std::uint32_t>("event_number"), 42U);
    EXPECT_EQ(view.value<std::uint16_t>("n_pixels_above"), 4);
    EXPECT_EQ(publish::test::array_of<std::uint16_t>(view, "board"), (std::vector<std::uint16_t>{0, 2}));
    EXPECT_EQ(publish::test::array_of<float>(view, "charge"), charge_);
    const publish::ArrayEntry* const waveforms = view.find("waveforms");
    ASSERT_NE(waveforms, nullptr);
    EXPECT_EQ(waveforms->shape, (std::array<std::uint32_t, 4>{2, 2, 2, 3}));
    const auto samples = publish::test::array_of<std::uint16_t>(view, "waveforms");
    ASSERT_EQ(samples.size(), 24U);
    EXPECT_EQ(samples[0], 64 + 65 * 256);
    EXPECT_EQ(samples[12 + 9], (264 + 18 - 256) + (264 + 19 - 256) * 256);
    EXPECT_EQ(samples[12 + 10], 0);  // the second board sent 20 bytes
    EXPECT_EQ(view.array<std::uint8_t>("board_header").size(), 2 * 64U);
}

TEST_F(CameraEventTest, PixelsComeWithoutWaveformsAndBytesWithoutPixels) {
    CameraEventRecord pixels(shape_, pixels_, CameraContent::pixels);
    pixels.fill(event_, view_, verdict_);
    publish::test::Received copy = publish::test::copy_of(pixels.outgoing());
    EXPECT_EQ(publish::test::view_of(copy).find("waveforms"), nullptr);
    EXPECT_EQ(publish::test::view_of(copy).array<float>("charge").size(), 6U);
    CameraEventRecord bytes(shape_, std::nullopt, CameraContent::event);
    bytes.fill(event_, {}, verdict_);
    copy = publish::test::copy_of(bytes.outgoing());
    EXPECT_EQ(publish::test::view_of(copy).array<std::uint8_t>("waveforms").size(), 48U);
    EXPECT_EQ(publish::test::view_of(copy).find("charge"), nullptr);
    EXPECT_THROW(CameraEventRecord(shape_, std::nullopt, CameraContent::pixels), ConfigError);
}

/// Two boards, one of which sends first cells.
TEST(CameraEventRecord, FirstCellsAreAnArrayOfTheirOwn) {
    constexpr test::CameraLayout layout{.n_boards = 2, .n_samples = 3, .boards_per_group = 2};
    test::CameraEvent event(layout);
    event.set_trigger_tag(wire::camera::tag_calibration);
    event.set_sample(1, 1, 6, 2, 777);
    const CameraShape shape = event.view().shape;
    const IntegratorConfig pixels{.n_boards = 2, .n_samples = 3};
    CameraEventRecord record(shape, pixels, CameraContent::event);
    record.fill(event.view(), {}, {});
    EXPECT_EQ(publish::test::view_of(publish::test::copy_of(record.outgoing())).find("first_cells"), nullptr);
    event.add_first_cells(1, {1, 2, 3, 4, 5, 6, 7, 4095});
    record.fill(event.view(), {}, {});
    EXPECT_LE(record.outgoing().length_bytes(), record.largest_bytes());
    const publish::test::Received copy = publish::test::copy_of(record.outgoing());
    const publish::RecordView view = publish::test::view_of(copy);
    EXPECT_EQ(view.value<std::uint8_t>("trigger_tag"), 4);
    const auto cells = publish::test::array_of<std::uint16_t>(view, "first_cells");
    EXPECT_EQ(cells, (std::vector<std::uint16_t>{0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 1, 2,
                                                 3, 4, 5, 6, 7, 4095}));
    const auto samples = publish::test::array_of<std::uint16_t>(view, "waveforms");
    ASSERT_EQ(samples.size(), 2 * 42U);
    EXPECT_EQ(samples.back(), 777);
}

/// With so many pixels that room to align arrays does not hide what is missing.
TEST(CameraEventRecord, TheLargestHasRoomForAllPixelsOfAllBoards) {
    const CameraShape shape{.n_boards = 3, .max_payload_bytes = 2400};
    std::vector<std::byte> memory(shape.event_bytes());
    CameraEventView event;
    event.shape = shape;
    event.n_present = event.boards_per_group = 3;
    event.base[0] = memory.data();
    for (const std::uint32_t board : {0U, 1U, 2U}) {
        event.present.add(board);
        wire::store_le(memory.data() + board * shape.slot_bytes() + 38, std::uint16_t{2400});
    }
    IntegratorConfig pixels;
    pixels.n_boards = 3;
    pixels.n_gains = 2;
    pixels.pixels_per_board = 200;
    pixels.n_samples = 3;
    const std::vector<float> charge(600);
    const std::vector<std::uint16_t> peak(600);
    const std::vector<std::uint8_t> flags(600);
    CameraEventRecord record(shape, pixels, CameraContent::event);
    record.fill(event, {charge, peak, flags}, {});
    EXPECT_LE(record.outgoing().length_bytes(), record.largest_bytes());
    EXPECT_GT(record.outgoing().length_bytes(), 3 * 2400 + 600 * 7);
}

}  // namespace
}  // namespace anello::camera
