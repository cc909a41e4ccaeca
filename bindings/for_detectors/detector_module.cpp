// SPDX-License-Identifier: Apache-2.0
// The extension module of a detector built out of tree: docs/decisions/0015-detector-folder.md.
#include <nanobind/stl/string.h>

#include "errors.hpp"
#include "extension.hpp"
#include "receive/card/make_backend.hpp"

NB_MODULE(_engine, module) {
    namespace bindings = anello::bindings;
    bindings::bind_errors(module);
    // this module contains an engine of its own, which needs the path, too
    module.def("set_nanet_library", &anello::receive::set_nanet_library, nanobind::arg("path"));
    for (const bindings::Extension* extension : bindings::Extension::all()) {
        extension->bind(module);
        anello::wire::add_packet_formats(extension->formats());
    }
}
