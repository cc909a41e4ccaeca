// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>
#include <vector>

namespace anello::bindings {

/// A detector's part of the extension: its bindings.cpp defines one object of this class, outside all functions, and
/// what `bind` adds is found in anello._engine.<name>.
class Extension {
  public:
    using Bind = void (*)(nanobind::module_&);

    Extension(std::string name, Bind bind) { all().emplace_back(std::move(name), bind); }

    static void bind_all(nanobind::module_& module) {
        for (const auto& [name, bind] : all()) {
            nanobind::module_ part = module.def_submodule(name.c_str());
            bind(part);
        }
    }

  private:
    static std::vector<std::pair<std::string, Bind>>& all() {
        static std::vector<std::pair<std::string, Bind>> extensions;
        return extensions;
    }
};

}  // namespace anello::bindings
