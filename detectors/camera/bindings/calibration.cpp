// SPDX-License-Identifier: Apache-2.0
#include "camera/calibrate/calibration.hpp"

#include <nanobind/stl/string.h>

#include <cstring>
#include <stdexcept>

#include "arrays.hpp"
#include "camera/bindings/parts.hpp"
#include "camera/geometry.hpp"

namespace anello::camera {
namespace {

namespace nb = nanobind;

using Waveforms = nb::ndarray<std::uint16_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<const std::uint16_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// Makes the corrections of a run for arrays.
class CalibrationHandle {
  public:
    CalibrationHandle(const std::string& file, const std::string& time_lapse_file, const std::string& pixels_file,
                      std::uint32_t n_boards, std::uint32_t pixels_per_board, std::uint32_t n_gains,
                      std::uint32_t n_samples, bool time_lapse, bool spikes, bool flatfield,
                      std::uint32_t gain_threshold)
        : shape_{n_boards, pixels_per_board, n_gains, n_samples},
          calibration_(
              read_coefficients(file, time_lapse_file, shape_,
                                camera_geometry(pixels_file, n_boards, pixels_per_board).pixel_id),
              shape_,
              {.time_lapse = time_lapse, .spikes = spikes, .flatfield = flatfield, .gain_threshold = gain_threshold}) {}

    /// Corrects B boards of one event, in place. first_cells: [B, 8], or [B, 0] if boards do not send them. Returns the
    /// value of Correction for each board.
    nb::object correct(const bindings::Input<std::uint16_t>& boards, const Waveforms& waveforms, const Cells& cells,
                       const bindings::Input<std::uint64_t>& clocks, std::uint32_t run_id) {
        check(boards, waveforms, cells, clocks);
        const std::size_t n = boards.shape(0), n_samples = waveforms.size() / std::max<std::size_t>(n, 1);
        std::vector<std::uint8_t> outcomes;
        low_gain_.assign(n, 0);
        {
            nb::gil_scoped_release release;
            for (std::size_t i = 0; i < n; ++i) {
                Drs4Readout readout{.first_cell = {}, .clock_ticks = clocks.data()[i]};
                const bool has_cells = cells.shape(1) > 0;
                if (has_cells)
                    std::memcpy(readout.first_cell.data(), cells.data() + i * cells.shape(1),
                                sizeof readout.first_cell);
                auto* const samples = reinterpret_cast<std::byte*>(waveforms.data() + i * n_samples);
                outcomes.push_back(static_cast<std::uint8_t>(calibration_.correct(
                    boards.data()[i], run_id, samples, has_cells ? &readout : nullptr, &low_gain_[i])));
            }
        }
        return bindings::to_numpy(std::move(outcomes));
    }
    /// Low gains of the last call's boards. With gain selection, the kept samples are in [B, 0].
    nb::object low_gain() const { return bindings::to_numpy(std::vector(low_gain_)); }
    std::uint8_t steps() const { return calibration_.steps(); }

  private:
    void check(const bindings::Input<std::uint16_t>& boards, const Waveforms& waveforms, const Cells& cells,
               const bindings::Input<std::uint64_t>& clocks) const {
        const std::size_t n = boards.shape(0);
        const bool fits = waveforms.shape(0) == n && waveforms.shape(1) == shape_.n_gains &&
                          waveforms.shape(2) == shape_.pixels_per_board && waveforms.shape(3) == shape_.n_samples;
        if (!fits) throw std::invalid_argument("waveforms must be [boards, gains, pixels, samples] of this camera");
        if (clocks.shape(0) != n) throw std::invalid_argument("there must be a clock for each board");
        if (cells.shape(0) != n || (cells.shape(1) != 0 && cells.shape(1) != wire::camera::drs4_chips))
            throw std::invalid_argument("first_cells must be [boards, 8], or [boards, 0]");
        for (std::size_t i = 0; i < n; ++i)
            if (boards.data()[i] >= shape_.n_boards) throw std::invalid_argument("there is no such board");
    }

    CalibratedShape shape_;
    CameraCalibration calibration_;
    std::vector<std::uint16_t> low_gain_;
};

}  // namespace

void bind_calibration(nb::module_& module) {
    nb::class_<CalibrationHandle>(module, "Calibration")
        .def(nb::init<const std::string&, const std::string&, const std::string&, std::uint32_t, std::uint32_t,
                      std::uint32_t, std::uint32_t, bool, bool, bool, std::uint32_t>(),
             nb::arg("file"), nb::arg("time_lapse_file"), nb::arg("pixels_file"), nb::arg("n_boards"),
             nb::arg("pixels_per_board"), nb::arg("n_gains"), nb::arg("n_samples"), nb::arg("time_lapse") = true,
             nb::arg("spikes") = true, nb::arg("flatfield") = false, nb::arg("gain_threshold") = 0)
        .def("correct", &CalibrationHandle::correct, nb::arg("boards"), nb::arg("waveforms"), nb::arg("first_cells"),
             nb::arg("clocks"), nb::arg("run_id"))
        .def_prop_ro("low_gain", &CalibrationHandle::low_gain)
        .def_prop_ro("steps", &CalibrationHandle::steps);
}

}  // namespace anello::camera
