// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string_view>
#include <vector>

#include "core/isa.hpp"
#include "errors.hpp"
#include "extension.hpp"
#include "memory/pinned_cuda.hpp"

NB_MODULE(_engine, module) {
    namespace bindings = anello::bindings;
    module.doc() = "The data plane of Anello. Use the anello package, which checks and documents its arguments.";
    module.def("version", [] { return ANELLO_VERSION; });
    module.def("cuda_unavailable_reason", &anello::memory::cuda_unavailable_reason);
    module.def("isas", [] {
        std::vector<std::string_view> names;
        for (const anello::Isa isa : {anello::Isa::scalar, anello::Isa::sse42, anello::Isa::avx2, anello::Isa::avx512})
            if (anello::is_available(isa)) names.push_back(anello::name_of(isa));
        return names;
    });
    bindings::bind_errors(module);
    bindings::bind_keys(module);
    bindings::bind_receive_backends(module);
    bindings::bind_packets(module);
    bindings::bind_card(module);
    bindings::bind_counter_pages(module);
    bindings::bind_exchange_node(module);
    bindings::bind_simulate(module);
    bindings::bind_stream(module);
    bindings::bind_counter_tables(module);
    for (const bindings::Extension* extension : bindings::Extension::all()) {
        nanobind::module_ part = module.def_submodule(extension->name().c_str());
        extension->bind(part);
        anello::wire::add_packet_formats(extension->formats());
    }
}
