// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include "errors.hpp"
#include "extension.hpp"

NB_MODULE(_engine, module) {
    namespace bindings = anello::bindings;
    module.doc() = "The data plane of Anello. Use the anello package, which checks and documents what goes in here.";
    module.def("version", [] { return ANELLO_VERSION; });
    bindings::bind_errors(module);
    bindings::bind_keys(module);
    bindings::bind_rings(module);
    bindings::bind_time_clusters(module);
    bindings::bind_source(module);
    bindings::bind_receive_backends(module);
    bindings::bind_packets(module);
    bindings::bind_card(module);
    bindings::bind_node(module);
    bindings::bind_exchange_node(module);
    bindings::bind_stream(module);
    bindings::bind_counter_tables(module);
    for (const bindings::Extension* extension : bindings::Extension::all()) {
        nanobind::module_ part = module.def_submodule(extension->name().c_str());
        extension->bind(part);
    }
}
