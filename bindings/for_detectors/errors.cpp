// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "core/errors.hpp"

namespace anello::bindings {

namespace nb = nanobind;

void bind_errors(nb::module_& module) {
    static PyObject* config_error = nullptr;
    const auto name = nb::cast<std::string>(module.attr("__name__")) + ".ConfigError";
    config_error = PyErr_NewException(name.c_str(), PyExc_ValueError, nullptr);
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
