// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "core/errors.hpp"
#include "module.hpp"
#include "receive/card/make_backend.hpp"
#include "receive/frames/pcap_backend.hpp"
#include "wire/packet_format.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

std::span<const std::byte> span_of(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

nb::list formats() {
    nb::list list;
    for (const wire::PacketFormat& format : wire::packet_formats())
        list.append(nb::make_tuple(format.name, format.title));
    return list;
}

nb::list verdicts() {
    nb::list list;
    for (const CounterLabel& label : counter_labels<wire::Verdict>)
        list.append(nb::make_tuple(label.name, label.meaning));
    return list;
}

nb::object number(std::uint64_t value, bool is_signed) {
    return is_signed ? nb::cast(static_cast<std::int64_t>(value)) : nb::cast(value);
}

nb::list list_of(std::vector<wire::Column> columns) {
    nb::list list;
    for (wire::Column& column : columns) {
        nb::object values = to_numpy(std::move(column.values));
        if (column.is_signed) values = values.attr("view")("int64");
        list.append(nb::make_tuple(column.name, column.unit, values));
    }
    return list;
}

std::string recognised_format(const nb::bytes& datagram) {
    const wire::PacketFormat* const format = wire::recognise(span_of(datagram));
    return format == nullptr ? "" : format->name;
}

/// (verdict, [(field, unit, value)], [(table, [(column, unit, array)])])
nb::tuple read_packet(const nb::bytes& datagram, const std::string& format) {
    wire::Contents contents;
    const wire::Verdict verdict = wire::packet_format_named(format).read(span_of(datagram), contents);
    nb::list header, tables;
    for (const wire::Field& field : contents.header)
        header.append(nb::make_tuple(field.name, field.unit, number(field.value, field.is_signed)));
    for (wire::Table& table : contents.tables)
        tables.append(nb::make_tuple(table.name, list_of(std::move(table.columns))));
    return nb::make_tuple(wire::name_of(verdict), header, tables);
}

/// Length of the packet that begins here; 0 if there is none, or its format does not contain the length.
std::size_t packet_bytes(const nb::bytes& bytes, const std::string& format) {
    const wire::PacketFormat& named = wire::packet_format_named(format);
    return named.length_of == nullptr ? 0 : named.length_of(span_of(bytes));
}

receive::DatagramLength length_of(const std::string& format) {
    return format.empty() ? wire::any_datagram_bytes : wire::packet_format_named(format).length_of;
}

/// Datagrams of a capture file with any port, or of live ports, as Python objects: for inspection, not for high rates.
class PacketReader {
  public:
    PacketReader(const std::string& capture, const std::string& format) {
        std::vector<std::uint16_t> every_port(65535);
        std::iota(every_port.begin(), every_port.end(), std::uint16_t{1});
        auto file =
            std::make_unique<receive::PcapBackend>(receive::PcapBackendConfig{.path = capture,
                                                                              .ports = std::move(every_port),
                                                                              .speed = 0,
                                                                              .datagram_length = length_of(format),
                                                                              .refuses_uncut = false,
                                                                              .capture_stamps = true},
                                                   SystemClock::instance());
        file_ = file.get();
        backend_ = std::move(file);
    }
    PacketReader(const std::string& address, std::vector<std::uint16_t> ports)
        : backend_(receive::make_backend({.address = address, .ports = std::move(ports)}, SystemClock::instance())) {}

    /// [(port, (host, port), stamp_ns, is_cut, bytes)] of the datagrams available now, at most a batch.
    nb::list next() {
        std::array<receive::Datagram, 64> batch;
        nb::list list;
        for (const receive::Datagram& datagram : std::span(batch).first(backend_->receive(batch)))
            list.append(nb::make_tuple(
                backend_->port(datagram.stream), nb::make_tuple(datagram.source.host(), datagram.source.port()),
                datagram.kernel_ns, datagram.cut, nb::bytes(datagram.bytes.data(), datagram.bytes.size())));
        return list;
    }
    bool finished() const { return backend_->finished(); }
    int fileno() const { return backend_->descriptor(); }
    std::uint16_t port(std::uint16_t stream) const {
        if (stream >= backend_->n_streams()) throw nb::index_error("no such port");
        return backend_->port(stream);
    }
    std::uint64_t kernel_dropped() const {
        std::uint64_t n_dropped = 0;
        if (file_ == nullptr)
            for (std::uint16_t i = 0; i < backend_->n_streams(); ++i) n_dropped += backend_->kernel_dropped(i);
        return n_dropped;
    }
    std::string read_error() const { return file_ == nullptr ? "" : file_->read_error(); }
    /// The numbers of a file's frames by kind: name -> (meaning, number).
    nb::dict frames() const {
        nb::dict frames;
        const auto& labels = counter_labels<receive::FrameVerdict>;
        for (std::size_t i = 0; file_ != nullptr && i < labels.size(); ++i)
            frames[labels[i].name] =
                nb::make_tuple(labels[i].meaning, file_->n_frames(static_cast<receive::FrameVerdict>(i)));
        return frames;
    }

  private:
    std::unique_ptr<receive::Backend> backend_;
    const receive::PcapBackend* file_ = nullptr;
};

}  // namespace

void bind_packets(nb::module_& module) {
    module.def("packet_formats", &formats);
    module.def("packet_verdicts", &verdicts);
    module.def("recognised_format", &recognised_format, nb::arg("datagram"));
    module.def("packet_bytes", &packet_bytes, nb::arg("bytes"), nb::arg("format"));
    module.def("read_packet", &read_packet, nb::arg("datagram"), nb::arg("format"));
    nb::class_<PacketReader>(module, "PacketReader")
        .def(nb::init<const std::string&, const std::string&>(), nb::arg("capture"), nb::arg("format"))
        .def(nb::init<const std::string&, std::vector<std::uint16_t>>(), nb::arg("address"), nb::arg("ports"))
        .def("next", &PacketReader::next)
        .def("finished", &PacketReader::finished)
        .def("fileno", &PacketReader::fileno)
        .def("port", &PacketReader::port, nb::arg("stream"))
        .def("kernel_dropped", &PacketReader::kernel_dropped)
        .def("read_error", &PacketReader::read_error)
        .def("frames", &PacketReader::frames);
}

}  // namespace anello::bindings
