// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "camera/filter/pixel_integrator.hpp"
#include "camera/tests/pulse_reference.hpp"
#include "source/random.hpp"

namespace anello::camera::pixel_integrator_property {
namespace {

IntegratorConfig any_config() {
    IntegratorConfig config;
    config.n_boards = *rc::gen::inRange<std::uint32_t>(1, 4);
    config.pixels_per_board = *rc::gen::inRange<std::uint32_t>(1, 9);
    config.n_gains = *rc::gen::inRange<std::uint32_t>(1, 3);
    config.n_samples = *rc::gen::inRange<std::uint32_t>(3, 140);
    config.n_pedestal = *rc::gen::inRange<std::uint32_t>(1, std::min(config.n_samples, 128U) + 1);
    config.window_samples = *rc::gen::inRange<std::uint32_t>(1, std::min(config.n_samples, 128U) + 1);
    config.window_before = *rc::gen::inRange<std::uint32_t>(0, config.window_samples);
    config.gain_ratio = 13;
    return config;
}

/// Few different values make many ties; the full range has sums beyond 16 bits.
std::vector<std::uint16_t> any_samples(std::size_t n) {
    const auto highest = *rc::gen::element(1, 5, 300, 4095, 4200, 65535);
    source::Random random(*rc::gen::arbitrary<std::uint64_t>());
    std::vector<std::uint16_t> samples(n);
    for (auto& sample : samples)
        sample = static_cast<std::uint16_t>(random.below(static_cast<std::uint32_t>(highest) + 1));
    return samples;
}

RC_GTEST_PROP(PixelIntegratorProperty, EveryInstructionSetFindsWhatTheDefinitionSays, ()) {
    IntegratorConfig config = any_config();
    const std::size_t board_samples = std::size_t{config.n_gains} * config.pixels_per_board * config.n_samples;
    const std::vector<std::uint16_t> samples = any_samples(config.n_boards * board_samples);
    for (const Isa isa : {Isa::scalar, Isa::sse42, Isa::avx2, Isa::avx512}) {
        if (!is_available(isa)) continue;
        config.isa = isa;
        PixelIntegrator integrator(config);
        const PixelView pixels = integrator.integrate(std::as_bytes(std::span(samples)));
        for (std::uint32_t p = 0; p < pixels.charge.size(); ++p) {
            const std::uint32_t board = p / config.pixels_per_board;
            const auto of_board = std::span(samples).subspan(board * board_samples, board_samples);
            const auto expected = test::find_pixel_pulse(of_board, p % config.pixels_per_board, config);
            RC_ASSERT(pixels.peak_sample[p] == expected.peak_sample);
            RC_ASSERT(pixels.flags[p] == (expected.low_gain ? pixel_low_gain : 0));
            const double tolerance = 1e-6 * std::max(1.0, std::abs(expected.charge));
            RC_ASSERT(std::abs(static_cast<double>(pixels.charge[p]) - expected.charge) <= tolerance);
        }
    }
}

RC_GTEST_PROP(PixelIntegratorProperty, InstructionSetsAgreeToTheBit, ()) {
    IntegratorConfig config = any_config();
    const std::vector<std::uint16_t> samples =
        any_samples(std::size_t{config.n_boards} * config.n_gains * config.pixels_per_board * config.n_samples);
    config.isa = Isa::scalar;
    PixelIntegrator reference(config);
    const PixelView expected = reference.integrate(std::as_bytes(std::span(samples)));
    for (const Isa isa : {Isa::sse42, Isa::avx2, Isa::avx512}) {
        if (!is_available(isa)) continue;
        config.isa = isa;
        PixelIntegrator integrator(config);
        const PixelView found = integrator.integrate(std::as_bytes(std::span(samples)));
        RC_ASSERT(std::memcmp(found.charge.data(), expected.charge.data(), found.charge.size_bytes()) == 0);
    }
}

}  // namespace
}  // namespace anello::camera::pixel_integrator_property
