// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "camera/events/event.hpp"
#include "camera/wire/camera.hpp"
#include "source/random.hpp"
#include "wire/bytes.hpp"

/// Camera events made by hand, as the builder would leave them in event memory.
namespace anello::camera::test {

struct CameraLayout {
    std::uint32_t n_boards = 265;
    std::uint8_t n_pixels = 7, n_gains = 2;
    std::uint16_t n_samples = 60;
    std::uint32_t boards_per_group = 265;

    std::uint16_t payload_bytes() const noexcept {
        return static_cast<std::uint16_t>(n_pixels * n_gains * n_samples * 2);
    }
};

/// One event with the memory it stands in. Each slot ends where its memory does, so that a sanitizer sees a step
/// beyond the last one.
class CameraEvent {
  public:
    explicit CameraEvent(const CameraLayout& layout, std::uint32_t event_number = 1) : layout_(layout) {
        view_.run_id = 7;
        view_.event_number = event_number;
        view_.timestamp_ns = 1'700'000'000'000'000'000U + event_number;
        view_.shape = {
            .n_boards = layout.n_boards,
            .max_payload_bytes =
                layout.payload_bytes() + static_cast<std::uint32_t>(wire::camera::first_cells_room(layout.n_pixels))};
        view_.boards_per_group = layout.boards_per_group;
        const std::uint32_t n_groups = (layout.n_boards + layout.boards_per_group - 1) / layout.boards_per_group;
        memory_.resize(n_groups);
        for (std::uint32_t group = 0; group < n_groups; ++group) {
            const std::uint32_t n =
                std::min(layout.boards_per_group, layout.n_boards - group * layout.boards_per_group);
            memory_[group].resize(n * view_.shape.slot_bytes());
            view_.base[group] = memory_[group].data();
        }
        for (std::uint32_t board = 0; board < layout.n_boards; ++board) add(board);
    }

    const camera::CameraEventView& view() const noexcept { return view_; }
    const CameraLayout& layout() const noexcept { return layout_; }
    std::byte* slot(std::uint32_t board) noexcept {
        return memory_[board / layout_.boards_per_group].data() +
               (board % layout_.boards_per_group) * view_.shape.slot_bytes();
    }
    void remove(std::uint32_t board) noexcept {
        if (view_.present.contains(board)) --view_.n_present;
        view_.present.remove(board);
    }
    /// As a board that sends one of two gains; low_gain: a bit for each pixel whose low one that is. Of the layout's
    /// waveforms the first half is left.
    void select_gain(std::uint32_t board, std::uint16_t low_gain) {
        wire::camera::Header header = header_of(board);
        header.flags |= wire::camera::gain_selected;
        header.n_gains = 1;
        header.payload_bytes = static_cast<std::uint16_t>(layout_.payload_bytes() / 2);
        wire::store_le(header.counters.data() + 22, low_gain);
        wire::camera::seal({slot(board), view_.shape.slot_bytes()}, header);
    }
    /// Gives a board another shape than the layout's; its payload must fit.
    void reshape(std::uint32_t board, std::uint16_t n_samples, std::uint8_t n_pixels, std::uint8_t n_gains,
                 std::uint16_t payload_bytes) {
        wire::camera::Header header = header_of(board);
        header.n_samples = n_samples;
        header.n_pixels = n_pixels;
        header.n_gains = n_gains;
        header.payload_bytes = payload_bytes;
        wire::camera::seal({slot(board), view_.shape.slot_bytes()}, header);
    }
    /// Behind its waveforms.
    void add_first_cells(std::uint32_t board, const wire::camera::FirstCells& cells) {
        wire::camera::Header header = header_of(board);
        header.counters_kind = wire::camera::CountersKind::dragon_drs4;
        header.payload_bytes += wire::camera::first_cells_bytes;
        wire::camera::write_first_cells({slot(board) + wire::camera::header_bytes, header.payload_bytes}, cells);
        wire::camera::seal({slot(board), view_.shape.slot_bytes()}, header);
    }
    void set_trigger_tag(std::uint8_t tag) noexcept { view_.trigger_tag = tag; }
    void set_sample(std::uint32_t board, std::uint32_t gain, std::uint32_t pixel, std::uint32_t sample,
                    std::uint16_t value) noexcept {
        std::memcpy(slot(board) + wire::camera::header_bytes + 2 * index(gain, pixel, sample), &value, sizeof value);
    }
    std::uint16_t sample(std::uint32_t board, std::uint32_t gain, std::uint32_t pixel,
                         std::uint32_t at) const noexcept {
        std::uint16_t value = 0;
        std::memcpy(&value, view_.payload(board) + 2 * index(gain, pixel, at), sizeof value);
        return value;
    }

  private:
    std::size_t index(std::uint32_t gain, std::uint32_t pixel, std::uint32_t sample) const noexcept {
        return (std::size_t{gain} * layout_.n_pixels + pixel) * layout_.n_samples + sample;
    }
    wire::camera::Header header_of(std::uint32_t board) const noexcept {
        wire::camera::Header header;
        header.board = static_cast<std::uint16_t>(board);
        header.run_id = view_.run_id;
        header.event_number = view_.event_number;
        header.sequence = view_.event_number;
        header.timestamp_ns = view_.timestamp_ns;
        header.n_samples = layout_.n_samples;
        header.n_pixels = layout_.n_pixels;
        header.n_gains = layout_.n_gains;
        header.payload_bytes = layout_.payload_bytes();
        return header;
    }
    void add(std::uint32_t board) {
        wire::camera::seal({slot(board), view_.shape.slot_bytes()}, header_of(board));
        view_.present.add(board);
        ++view_.n_present;
    }

    CameraLayout layout_;
    std::vector<std::vector<std::byte>> memory_;
    camera::CameraEventView view_;
};

/// Waveforms as a camera of photomultipliers gives them: per pixel and gain a pedestal near 250 counts, white noise of
/// `noise_counts`, night-sky pulses of one photo-electron, and in every pixel that `charge_of(pixel)` (photo-electrons)
/// lights, a pulse at sample 25 to 30. One photo-electron is 15 counts high in the high gain and 15 / 13 in the low
/// one.
template <typename ChargeOf>
void fill_waveforms(CameraEvent& event, source::Random& random, double noise_counts, ChargeOf charge_of) {
    const CameraLayout& layout = event.layout();
    std::vector<double> light(layout.n_samples);
    const auto add_pulse = [&](double at, double n_pe) {
        for (std::uint32_t s = 0; s < layout.n_samples; ++s) {
            const double t = (static_cast<double>(s) - at) / 1.3;  // 3 ns wide at half its height
            if (std::abs(t) < 5) light[s] += n_pe * 15 * std::exp(-t * t / 2);
        }
    };
    for (std::uint32_t board = 0; board < layout.n_boards; ++board)
        for (std::uint32_t pixel = 0; pixel < layout.n_pixels; ++pixel) {
            std::fill(light.begin(), light.end(), 0.0);
            const std::uint32_t n_night = random.poisson(0.15 * layout.n_samples);
            for (std::uint32_t i = 0; i < n_night; ++i) add_pulse(random.uniform(0, layout.n_samples), 1);
            add_pulse(random.uniform(25, 30), charge_of(board * layout.n_pixels + pixel));
            for (std::uint32_t gain = 0; gain < layout.n_gains; ++gain) {
                const double pedestal = 250 + random.uniform(-10, 10);
                for (std::uint32_t s = 0; s < layout.n_samples; ++s) {
                    const double counts = pedestal + light[s] / (gain == 0 ? 1 : 13) + noise_counts * random.gaussian();
                    event.set_sample(board, gain, pixel, s,
                                     static_cast<std::uint16_t>(std::clamp(std::lround(counts), 0L, 4095L)));
                }
            }
        }
}

}  // namespace anello::camera::test
