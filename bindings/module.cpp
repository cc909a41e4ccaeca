// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

#include <nanobind/stl/string.h>

#include "core/errors.hpp"
#include "extension.hpp"

namespace anello::bindings {

namespace nb = nanobind;

/// anello._engine.ConfigError is a ValueError with the parts of the message as attributes.
void bind_errors(nb::module_& module) {
    static PyObject* config_error = nullptr;
    config_error = PyErr_NewException("anello._engine.ConfigError", PyExc_ValueError, nullptr);
    module.attr("ConfigError") = nb::borrow(config_error);
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const ConfigError& error) {
            nb::object value = nb::borrow(config_error)(error.what());
            value.attr("field") = error.field();
            value.attr("rule") = error.rule();
            value.attr("given") = error.given();
            value.attr("remedy") = error.remedy();
            PyErr_SetObject(config_error, value.ptr());
        } catch (const SystemError& error) {
            nb::object arguments = nb::make_tuple(error.error_number(), error.what());
            PyErr_SetObject(PyExc_OSError, arguments.ptr());
        }
    });
}

}  // namespace anello::bindings

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
        anello::bindings::nb::module_ part = module.def_submodule(extension->name().c_str());
        extension->bind(part);
    }
}
