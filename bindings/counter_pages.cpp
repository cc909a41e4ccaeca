// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "core/page_owner.hpp"
#include "counters.hpp"
#include "module.hpp"

namespace anello::bindings {

namespace nb = nanobind;

void bind_counter_pages(nb::module_& module) {
    module.def(
        "read_counters", [](const std::string& page_name) { return values_of(CounterPage::read(page_name)); },
        nb::arg("page_name"));
    module.def(
        "page_owner",
        [](const std::string& page_name) {
            const PageOwner owner = owner_of_page(page_name);
            return nb::make_tuple(owner.process, still_runs(owner));
        },
        nb::arg("page_name"));
}

}  // namespace anello::bindings
