// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <stdexcept>
#include <tuple>

#include "arrays.hpp"
#include "camera/bindings/parts.hpp"
#include "camera/filter/event_type.hpp"
#include "camera/filter/pixel_integrator.hpp"
#include "camera/send/record.hpp"
#include "camera/send/table/table.hpp"

namespace anello::camera {
namespace {

namespace nb = nanobind;

using ReadWaveforms = nb::ndarray<const std::uint16_t, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using PixelArrays = std::tuple<nb::object, nb::object, nb::object>;

/// waveforms: [boards, gains, pixels, samples].
PixelArrays integrate_waveforms(const ReadWaveforms& waveforms, std::uint32_t n_pedestal, std::uint32_t window_samples,
                                std::uint32_t window_before, std::uint16_t saturation, float gain_ratio,
                                const std::string& isa) {
    PixelIntegrator integrator({.n_boards = static_cast<std::uint32_t>(waveforms.shape(0)),
                                .pixels_per_board = static_cast<std::uint32_t>(waveforms.shape(2)),
                                .n_gains = static_cast<std::uint32_t>(waveforms.shape(1)),
                                .n_samples = static_cast<std::uint32_t>(waveforms.shape(3)),
                                .n_pedestal = n_pedestal,
                                .window_samples = window_samples,
                                .window_before = window_before,
                                .saturation = saturation,
                                .gain_ratio = gain_ratio,
                                .isa = parse_word<Isa>(isa, "isa")});
    PixelView pixels;
    {
        nb::gil_scoped_release release;
        pixels = integrator.integrate(std::as_bytes(std::span(waveforms.data(), waveforms.size())));
    }
    const auto to_array = [&]<typename T>(std::span<const T> values) {
        return bindings::to_numpy(std::vector<T>(values.begin(), values.end()), waveforms.shape(0), waveforms.shape(2));
    };
    return {to_array(pixels.charge), to_array(pixels.peak_sample), to_array(pixels.flags)};
}

/// Event types of trigger tags.
nb::object event_types() {
    std::vector<std::uint8_t> types(256);
    for (std::size_t tag = 0; tag < types.size(); ++tag)
        types[tag] = static_cast<std::uint8_t>(event_type(static_cast<std::uint8_t>(tag)));
    return bindings::to_numpy(std::move(types));
}

nb::object to_array(std::span<const std::byte> bytes) {
    std::vector<std::uint8_t> copy(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
    return bindings::to_numpy(std::move(copy));
}

nb::dict decode_record(const nb::bytes& bytes) {
    thread_local CameraDecoder decoder;
    CameraRecord record;
    const auto verdict = decoder.decode({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, record);
    if (verdict != RecordVerdict::ok)
        throw std::invalid_argument(fmt::format("not a camera record of {} bytes: {}", bytes.size(), name_of(verdict)));
    std::vector<std::uint16_t> boards;
    for (std::uint32_t board = 0; board < record.header.n_boards; ++board)
        if (record.present.contains(board)) boards.push_back(static_cast<std::uint16_t>(board));
    nb::dict event;
    event["run_id"] = record.header.run_id;
    event["event_number"] = record.header.event_number;
    event["timestamp_ns"] = record.header.timestamp_ns;
    event["first_ns"] = record.header.first_ns;
    event["closed_ns"] = record.header.closed_ns;
    event["n_boards"] = record.header.n_boards;
    event["boards"] = bindings::to_numpy(std::move(boards));
    event["headers"] = to_array(record.headers);
    event["payloads"] = to_array(record.waveforms);
    return event;
}

/// done: bits of the filters that were applied to the chunk.
nb::object decode_chunk(const nb::bytes& bytes, std::uint32_t done, std::size_t n_bytes) {
    if (n_bytes > std::size_t{max_camera_boards} * wire::camera::max_payload_bytes)
        throw std::invalid_argument(fmt::format("a chunk of {} bytes: more than any event has", n_bytes));
    thread_local ChunkDecoder decoder;
    std::vector<std::byte> decoded(n_bytes);
    if (!decoder.decode({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, done, decoded))
        throw std::invalid_argument(
            fmt::format("not a chunk of {} bytes, compressed to {}: it is damaged", n_bytes, bytes.size()));
    return to_array(decoded);
}

}  // namespace

void bind_filter(nb::module_& module) {
    module.def("integrate_waveforms", &integrate_waveforms, nb::arg("waveforms"), nb::arg("n_pedestal"),
               nb::arg("window_samples"), nb::arg("window_before"), nb::arg("saturation"), nb::arg("gain_ratio"),
               nb::arg("isa") = "automatic");
    module.def("event_types", &event_types);
    module.def("decode_record", &decode_record, nb::arg("record"));
    module.def("decode_chunk", &decode_chunk, nb::arg("chunk"), nb::arg("done"), nb::arg("n_bytes"));
}

}  // namespace anello::camera
