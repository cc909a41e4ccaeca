// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/fits_images.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "camera/tests/fits_file.hpp"

namespace anello::camera {
namespace {

constexpr std::array names{"ONE", "TWO"};

FitsImages parsed(const std::string& text) {
    return parse_fits_images(std::as_bytes(std::span(text)), names);
}

std::string refusal(const std::string& text) {
    try {
        parsed(text);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing";
}

const std::vector<test::FitsArray> arrays{
    {"one", {2, 3}, {0, 1, 2, 3, 4, -5.5F}}, {"skipped", {1000}, std::vector<float>(1000)}, {"TWO", {1}, {7}}};

TEST(FitsImages, HaveTheirShapeAndValues) {
    const FitsImages images = parsed(test::fits_bytes(arrays));
    ASSERT_EQ(images.size(), 2U);
    EXPECT_TRUE(images.at("ONE").has_shape({2, 3}));
    EXPECT_THAT(images.at("ONE").values, testing::ElementsAre(0, 1, 2, 3, 4, -5.5F));
    EXPECT_THAT(images.at("TWO").values, testing::ElementsAre(7));
}

TEST(FitsImages, WholeNumbersAreScaled) {
    std::string text = test::fits_bytes({});
    text +=
        test::fits_header({"XTENSION= 'IMAGE   '", "BITPIX  =                   16", "NAXIS   =                    1",
                           "NAXIS1  =                    2 / two of them", "BSCALE  =                  0.5",
                           "BZERO   =              32768.0", "EXTNAME = 'ONE     '           / which"});
    text += std::string("\x00\x04\xff\xfe", 4) + std::string(2876, '\0');
    EXPECT_THAT(parsed(text).at("ONE").values, testing::ElementsAre(32770, 32767));
}

TEST(FitsImages, WhatIsWrongIsSaid) {
    const std::string good = test::fits_bytes(arrays);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        return refusal(text.replace(text.find(from), from.size(), to));
    };
    using testing::HasSubstr;
    EXPECT_THAT(refusal(""), HasSubstr("no FITS file"));
    EXPECT_THAT(refusal("\x89HDF\r\n"), HasSubstr("no FITS file"));
    EXPECT_THAT(refusal("\x1f\x8b\x08"), HasSubstr("gunzip"));
    EXPECT_THAT(refusal(good.substr(0, 2890)), HasSubstr("within a header"));
    EXPECT_THAT(refusal(good.substr(0, 5770)), HasSubstr("within an array"));
    EXPECT_THAT(with("-32", "-33"), HasSubstr("BITPIX -33"));
    EXPECT_THAT(with("NAXIS1  =                    3", "NAXIS1  = 9223372036854775807 "), HasSubstr("within an array"));
    EXPECT_THAT(with("NAXIS1  =                    3", "NAXIS1  =                   -3"), HasSubstr("negative"));
    EXPECT_THAT(with("NAXIS1  =                    3", "NAXIS1  =                    x"), HasSubstr("NAXIS1"));
    EXPECT_EQ(with("NAXIS1  =                    3", "NAXIS1  =                    2"), "nothing") << "a smaller array";
}

/// Whatever is changed: values, or words about what is wrong; never more memory than there are bytes, nor a step
/// beyond.
RC_GTEST_PROP(FitsImagesProperty, AnyBytesGiveValuesOrWords, ()) {
    std::string text = test::fits_bytes(arrays);
    const auto n_changes = *rc::gen::inRange(0, 8);
    for (int i = 0; i < n_changes; ++i) {
        const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
        text[at] = *rc::gen::element('0', '1', '9', '-', ' ', '\'', 'E', static_cast<char>(0xff), '.');
    }
    text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
    try {
        for (const auto& [name, image] : parsed(text)) RC_ASSERT(image.values.size() <= text.size());
    } catch (const std::runtime_error& error) {
        RC_ASSERT(std::string(error.what()).size() > 5);
    }
}

}  // namespace
}  // namespace anello::camera
