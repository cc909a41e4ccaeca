// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <string>

#include "core/clock.hpp"
#include "core/counters/page_identity.hpp"
#include "core/errors.hpp"
#include "publish/publish_config.hpp"
#include "receive/boards/receive_config.hpp"
#include "receive/card/make_backend.hpp"
#include "store/file_rules.hpp"

namespace anello::bindings {

namespace nb = nanobind;

inline constexpr double ns_per_us = 1e3, ns_per_ms = 1e6;

inline Nanoseconds nanoseconds(double value, double unit_ns) {
    return static_cast<Nanoseconds>(std::llround(value * unit_ns));
}

/// Reads a flat configuration with dotted keys below a prefix. Python has already checked types and bounds and filled
/// in defaults, so a missing key or a wrong type is a caller's error; it is named in the same way.
class ConfigReader {
  public:
    explicit ConfigReader(const nb::dict& values, std::string prefix = {})
        : values_(values), prefix_(std::move(prefix)) {}

    ConfigReader below(const std::string& section) const { return ConfigReader(values_, prefix_ + section + "."); }
    bool has(const char* key) const { return values_.contains((prefix_ + key).c_str()); }

    template <typename T>
    T get(const char* key) const {
        const std::string name = prefix_ + key;
        if (!values_.contains(name.c_str()))
            throw ConfigError(name, "must be given", "nothing",
                              "Pass a configuration made by anello.configuration.load.");
        nb::object value = values_[name.c_str()];
        T result;
        if (!nb::try_cast<T>(value, result))
            throw ConfigError(name, "has another type in this table", nb::cast<std::string>(nb::repr(value)),
                              "See anello config show --all.");
        return result;
    }
    /// Replaces `value` if the key is given.
    template <typename T>
    void take(const char* key, T& value) const {
        value = get_or<T>(key, value);
    }
    template <typename T>
    T get_or(const char* key, T otherwise) const {
        return has(key) ? get<T>(key) : otherwise;
    }

  private:
    nb::dict values_;
    std::string prefix_;
};

/// counter_page, run_number, run_name, chain, config_digest; all optional.
PageIdentity page_identity(const ConfigReader& all);

/// The attributes of data files about their run: those given of run_number, run_name, chain, config_digest, host,
/// started, version and configuration.
std::vector<store::FileAttribute> about_run(const ConfigReader& all);

/// run.seed. `run` is the section, or another reader that has the key `seed`.
std::uint64_t seed_config(const ConfigReader& run);

/// The keys of the section receive that describe the backend, without receive.ports.
receive::BackendConfig backend_config(const ConfigReader& receive);

/// The section's keys for buffers.
receive::BufferRules buffer_rules(const ConfigReader& receive);

/// receive.sources for n boards: none, one for all, or one for each. Throws ConfigError.
std::vector<receive::SourceAddress> sources_config(const ConfigReader& receive, std::size_t n_boards);

/// The keys of the section publish. All are optional, since a caller may have none.
publish::PublishConfig publish_config(const ConfigReader& publish);

}  // namespace anello::bindings
