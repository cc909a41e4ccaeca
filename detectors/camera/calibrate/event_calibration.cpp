// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/event_calibration.hpp"

#include <optional>

#include "camera/events/builder/slot.hpp"

namespace anello::camera {
namespace {

constexpr std::array calibrating{
    Key<CalibrateConfig>::of<&CalibrateConfig::file>(
        "file",
        "FITS file of the camera's baselines and spikes, as anello calibrate makes one, relative to "
        "where the run starts; empty: samples stay as boards send them."),
    Key<CalibrateConfig>::of<&CalibrateConfig::time_lapse_file>(
        "time_lapse_file",
        "FITS file of the time lapse of DRS4 cells; empty: what `file` says of it, else the first LST's at 20 degC."),
    Key<CalibrateConfig>::of<&CalibrateConfig::time_lapse>(
        "time_lapse", "Correct DRS4 cells for the time since they were last read."),
    Key<CalibrateConfig>::of<&CalibrateConfig::spikes>("spikes",
                                                       "Correct spikes of DRS4 chips, where `file` has their heights."),
    Key<CalibrateConfig>::of<&CalibrateConfig::gain_threshold>(
        "gain_threshold", {0, 65535},
        "Counts above the baseline beyond which a pixel's low gain is kept in place of its high one, in counts of "
        "the high gain; 3500 is usual. 0: both gains are kept."),
    Key<CalibrateConfig>::of<&CalibrateConfig::flatfield>(
        "flatfield",
        "Multiply samples so that all pixels answer alike, as `file` says. Of two gains one must "
        "be chosen by gain_threshold."),
};

std::size_t board_bytes(const CalibratedShape& shape) noexcept {
    return std::size_t{2} * shape.n_gains * shape.pixels_per_board * shape.n_samples;
}

std::optional<Drs4Readout> readout_in(const std::byte* slot) noexcept {
    const auto cells = first_cells_in(slot);
    if (!cells) return std::nullopt;
    return Drs4Readout{*cells, dragon_clock_in(slot)};
}

}  // namespace

constinit const Keys<CalibrateConfig> calibrate_keys{
    "camera_calibrate", "Samples above their baselines (R1) in place of raw ones (R0), before the filter.",
    calibrating};

EventCalibration::EventCalibration(const CalibrateConfig& config, const CalibratedShape& shape,
                                   std::span<const std::uint32_t> pixel_ids, CounterPage& page,
                                   const std::string& block_name)
    : file_(config.file),
      calibration_(read_coefficients(config.file, config.time_lapse_file, shape, pixel_ids), shape,
                   {.time_lapse = config.time_lapse,
                    .spikes = config.spikes,
                    .flatfield = config.flatfield,
                    .gain_threshold = config.gain_threshold}),
      board_bytes_(board_bytes(shape)),
      counters_(page.add_block<CalibrateCounter>(block_name)) {}

std::string EventCalibration::describe() const {
    std::string text = "baseline";
    if ((calibration_.steps() & step_time_lapse) != 0) text += ", time lapse";
    if ((calibration_.steps() & step_spikes) != 0) text += ", spikes";
    if (calibration_.selects_gain()) text += ", gain selected";
    if ((calibration_.steps() & step_flatfield) != 0) text += ", flat field";
    return text;
}

std::vector<store::FileAttribute> EventCalibration::attributes() const {
    return {{"calibration_file", file_},
            {"calibration_steps", describe()},
            {"calibration_offset", std::uint64_t{calibrated_offset}}};
}

// Hot path from here on: no allocation, no lock, no log, no throw.
EventCalibration::Board EventCalibration::state_of(const CameraEventView& event, std::uint32_t board) const noexcept {
    if (board >= event.shape.n_boards || !event.present.contains(board)) return Board::missing;
    const CalibratedShape& shape = calibration_.shape();
    const CameraWaveforms found = waveforms_in(event.slot(board));
    const bool fits = found.n_samples == shape.n_samples && found.n_pixels == shape.pixels_per_board &&
                      found.n_gains == shape.n_gains && found.waveform_bytes() == board_bytes_ &&
                      !found.is_gain_selected;
    return fits ? Board::good : Board::wrong_shape;
}

Correction EventCalibration::correct_board(const CameraEventView& event, std::uint32_t board) noexcept {
    std::byte* const slot = event.writable_slot(board);
    const std::optional<Drs4Readout> readout = readout_in(slot);
    std::uint16_t low_gain = 0;
    const Correction done = calibration_.correct(board, event.run_id, slot + wire::camera::header_bytes,
                                                 readout ? &*readout : nullptr, &low_gain);
    if (done != Correction::done) return done;
    mark_calibrated(slot, calibration_.steps());
    if (calibration_.selects_gain()) leave_one_gain(slot, low_gain);
    return done;
}

void EventCalibration::prefetch(const CameraEventView& event, std::uint32_t board) const noexcept {
    if (board >= calibration_.shape().n_boards || state_of(event, board) != Board::good) return;
    if (const auto readout = readout_in(event.slot(board))) calibration_.prefetch(board, *readout);
}

void EventCalibration::correct(const CameraEventView& event, std::uint32_t board, CalibrationTally& tally) noexcept {
    constexpr std::array by_outcome{CalibrateCounter::boards_calibrated, CalibrateCounter::boards_without_cells,
                                    CalibrateCounter::boards_wrong_cells};
    const Board state = state_of(event, board);
    if (state == Board::missing) return;
    tally.add(CalibrateCounter::boards_in);
    tally.add(state == Board::wrong_shape ? CalibrateCounter::boards_other_shape
                                          : by_outcome[static_cast<std::size_t>(correct_board(event, board))]);
}

void EventCalibration::count(const CalibrationTally& tally) noexcept {
    for (std::size_t i = 0; i < tally.n.size(); ++i) counters_.add(static_cast<CalibrateCounter>(i), tally.n[i]);
}

void EventCalibration::correct(const CameraEventView& event) noexcept {
    CalibrationTally tally;
    tally.add(CalibrateCounter::events_in);
    for (std::uint32_t board = 0; board < calibration_.shape().n_boards; ++board) {
        prefetch(event, board + 1);
        correct(event, board, tally);
    }
    count(tally);
}

}  // namespace anello::camera
