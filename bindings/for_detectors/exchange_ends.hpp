// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "pipeline/exchange_node_config.hpp"

namespace anello::bindings {

/// A detector's parts before and after a node of the exchange. Its bindings define one object of this class at
/// namespace scope, with the name that input.from uses.
class ExchangeEnds {
  public:
    /// values: made by anello.exchange.running.engine_values; the detector's own values are below "feed".
    using Take = void (*)(const nanobind::dict& values, pipeline::ExchangeNodeConfig& config);

    ExchangeEnds(std::string from, Take take) { all().emplace(std::move(from), take); }

    /// Throws ConfigError if this engine has no such detector.
    static void take(const std::string& from, const nanobind::dict& values, pipeline::ExchangeNodeConfig& config) {
        const auto found = all().find(from);
        if (found == all().end())
            throw ConfigError("input.from", "must be generator, or a detector that this engine was built with", from,
                              "Build the engine with it.");
        found->second(values, config);
    }

  private:
    static std::map<std::string, Take>& all() {
        static std::map<std::string, Take> ends;
        return ends;
    }
};

}  // namespace anello::bindings
