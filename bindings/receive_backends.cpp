// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "module.hpp"
#include "receive/card/make_backend.hpp"

namespace anello::bindings {

namespace nb = nanobind;

void bind_receive_backends(nb::module_& module) {
    module.def(
        "receive_backends",
        [](const std::string& interface) {
            std::vector<receive::BackendInfo> found;
            {
                const nb::gil_scoped_release released;
                found = receive::probe_backends(interface);
            }
            nb::list list;
            for (const receive::BackendInfo& info : found) {
                nb::dict one;
                one["name"] = info.name;
                one["available"] = info.available;
                one["reason"] = info.reason;
                one["mode"] = info.mode;
                list.append(one);
            }
            return list;
        },
        nb::arg("interface") = "lo");
    module.def("set_nanet_library", &receive::set_nanet_library, nb::arg("path"));
}

}  // namespace anello::bindings
