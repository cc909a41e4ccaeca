// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "counter_tables.hpp"
#include "keys.hpp"
#include "wire/packet_format.hpp"

namespace anello::bindings {

/// A detector's part of the extension. Its bindings.cpp defines one object of this class at namespace scope. The
/// additions of `bind` are in anello._engine.<name>; its counter tables, key tables and packet formats are listed with
/// those of the engine.
class Extension {
  public:
    using Bind = void (*)(nanobind::module_&);

    Extension(std::string name, Bind bind, std::vector<CounterTable> tables, std::vector<KeyTable> keys = {},
              std::span<const wire::PacketFormat> formats = {})
        : name_(std::move(name)), bind_(bind), tables_(std::move(tables)), keys_(std::move(keys)), formats_(formats) {
        all().push_back(this);
    }
    Extension(const Extension&) = delete;
    Extension& operator=(const Extension&) = delete;

    const std::string& name() const noexcept { return name_; }
    const std::vector<CounterTable>& tables() const noexcept { return tables_; }
    const std::vector<KeyTable>& keys() const noexcept { return keys_; }
    std::span<const wire::PacketFormat> formats() const noexcept { return formats_; }
    void bind(nanobind::module_& module) const { bind_(module); }

    static std::vector<const Extension*>& all() {
        static std::vector<const Extension*> extensions;
        return extensions;
    }

  private:
    std::string name_;
    Bind bind_;
    std::vector<CounterTable> tables_;
    std::vector<KeyTable> keys_;
    std::span<const wire::PacketFormat> formats_;
};

}  // namespace anello::bindings
