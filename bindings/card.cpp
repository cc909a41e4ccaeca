// SPDX-License-Identifier: Apache-2.0
#include "receive/card/card.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "counters.hpp"
#include "module.hpp"

namespace anello::bindings {

namespace nb = nanobind;

namespace {

/// A list whose taking side may be any Python thread, one at a time.
struct PyClop {
    receive::Clop& clop;
    std::mutex taking{};
};

using ReadOnlyBytes = nb::ndarray<nb::numpy, const std::uint8_t>;
using GivenMemory = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// An array of bytes in the card's memory. It keeps its list alive, which keeps the card alive.
nb::object array_of(const void* data, std::size_t n_bytes, nb::handle owner) {
    return nb::cast(ReadOnlyBytes(data, {n_bytes}, owner));
}

/// Returns None or (number, bytes, records as bytes).
nb::object take(nb::handle_t<PyClop> handle) {
    auto& self = nb::cast<PyClop&>(handle);
    receive::ClopBuffer buffer;
    bool taken = false;
    {
        const nb::gil_scoped_release released;
        const std::scoped_lock alone(self.taking);
        taken = self.clop.try_take(buffer);
    }
    if (!taken) return nb::none();
    return nb::make_tuple(buffer.number, array_of(buffer.bytes.data(), buffer.bytes.size(), handle),
                          array_of(buffer.datagrams.data(), buffer.datagrams.size_bytes(), handle));
}

/// A tuple for each source, in the form of anello.card.Source.
nb::list sources(PyClop& self) {
    std::vector<receive::SequencedSource> told;
    {
        const nb::gil_scoped_release released;
        const std::scoped_lock alone(self.taking);
        told.assign(self.clop.sources().begin(), self.clop.sources().end());
    }
    nb::list result;
    for (const receive::SequencedSource& one : told)
        result.append(nb::make_tuple(one.address.host(), one.address.port(), one.source_id, one.n_packets, one.n_late,
                                     one.n_duplicates, one.n_strays, one.n_restarts, one.n_lost));
    return result;
}

void give_back(PyClop& self, std::uint32_t number) {
    if (number >= self.clop.buffers().n_buffers()) throw nb::index_error("no such buffer");
    const nb::gil_scoped_release released;
    const std::scoped_lock alone(self.taking);
    self.clop.give_back({.number = number});
}

receive::ClopConfig clop_config(std::uint16_t port, std::uint32_t n_buffers, std::size_t buffer_bytes,
                                std::uint32_t max_datagrams, const std::string& memory, const std::string& format,
                                Nanoseconds gathering_time_ns, const std::string& full_policy, std::size_t max_sources,
                                const std::optional<GivenMemory>& given) {
    std::span<std::byte> bytes;
    if (given) bytes = {reinterpret_cast<std::byte*>(given->data()), given->size()};
    return {.port = port,
            .buffers = {.n_blocks = n_buffers,
                        .block_bytes = buffer_bytes,
                        .max_datagrams = max_datagrams,
                        .memory = memory::parse_kind(memory, "memory"),
                        .given = bytes},
            .format = format,
            .gathering_time_ns = gathering_time_ns,
            .full_policy = parse_word<receive::FullPolicy>(full_policy, "when_full"),
            .max_sources = max_sources};
}

struct PyCard {
    receive::Card card;
};

void make_card(PyCard* self, const std::string& backend, const std::string& address, const std::string& interface,
               bool gro, std::size_t socket_buffer_bytes, const std::string& capture, double capture_speed, int core,
               const std::string& wait) {
    receive::BackendConfig config;
    config.kind = parse_word<receive::BackendKind>(backend, "backend");
    config.address = address;
    config.interface = interface;
    config.gro = gro;
    config.socket_buffer_bytes = socket_buffer_bytes;
    config.pcap_file = capture;
    config.pcap_speed = capture_speed;
    new (self) PyCard{receive::Card(config, {.name = "card", .core = core, .wait = parse_wait_policy(wait)})};
}

}  // namespace

void bind_card(nb::module_& module) {
    module.attr("datagram_record_bytes") = sizeof(receive::DatagramRecord);
    nb::class_<PyClop>(module, "Clop")
        .def("take", &take)
        .def("give_back", &give_back, nb::arg("number"))
        .def("sources", &sources)
        .def("port", [](const PyClop& self) { return self.clop.port(); })
        .def("fileno", [](const PyClop& self) { return self.clop.descriptor(); })
        .def("finished", [](const PyClop& self) { return self.clop.is_finished(); })
        .def("memory", [](const PyClop& self) {
            const memory::PersistentBuffers& buffers = self.clop.buffers();
            return nb::make_tuple(memory::name_of(buffers.kind()), buffers.kind_note());
        });
    nb::class_<PyCard>(module, "Card")
        .def("__init__", &make_card, nb::arg("backend"), nb::arg("address"), nb::arg("interface"), nb::arg("gro"),
             nb::arg("socket_buffer_bytes"), nb::arg("capture"), nb::arg("capture_speed"), nb::arg("core"),
             nb::arg("wait"))
        .def(
            "register_buffers",
            [](PyCard& self, std::uint16_t port, std::uint32_t n_buffers, std::size_t buffer_bytes,
               std::uint32_t max_datagrams, const std::string& memory, const std::string& format,
               Nanoseconds gathering_time_ns, const std::string& full_policy, std::size_t max_sources,
               const std::optional<GivenMemory>& given) {
                return new PyClop{
                    self.card.register_buffers(clop_config(port, n_buffers, buffer_bytes, max_datagrams, memory, format,
                                                           gathering_time_ns, full_policy, max_sources, given))};
            },
            nb::arg("port"), nb::arg("n_buffers"), nb::arg("buffer_bytes"), nb::arg("max_datagrams"), nb::arg("memory"),
            nb::arg("format"), nb::arg("gathering_time_ns"), nb::arg("full_policy"), nb::arg("max_sources"),
            nb::arg("given") = nb::none(), nb::keep_alive<0, 1>(), nb::keep_alive<1, 11>())
        .def(
            "start", [](PyCard& self) { self.card.start(); }, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "stop", [](PyCard& self) { self.card.stop(); }, nb::call_guard<nb::gil_scoped_release>())
        .def("counters", [](const PyCard& self) { return values_of(self.card.counters().read()); })
        .def("describe", [](const PyCard& self) { return self.card.describe(); });
}

}  // namespace anello::bindings
