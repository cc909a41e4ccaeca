// SPDX-License-Identifier: Apache-2.0
// The extension module of a detector that is built out of tree: docs/decisions/0015-detector-folder.md.
#include "errors.hpp"
#include "extension.hpp"

NB_MODULE(_engine, module) {
    namespace bindings = anello::bindings;
    bindings::bind_errors(module);
    for (const bindings::Extension* extension : bindings::Extension::all()) extension->bind(module);
}
