// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/words.hpp"
#include "rich/plugin_abi.h"

namespace anello::rich {

/// The user's trigger algorithm. Each worker thread has one; it decides batches in place of the ring finder.
class Plugin {
  public:
    virtual ~Plugin() = default;
    /// Called by the worker's thread. Returns false when the algorithm failed; its output is then not used.
    virtual bool decide(const anello_trigger_batch& batch, anello_trigger_decisions& out) noexcept = 0;
};

/// The control thread calls this once per worker at set-up; throws ConfigError.
using MakePlugin = std::function<std::unique_ptr<Plugin>()>;

struct PluginConfig {
    std::string path;        ///< the shared library
    std::string parameters;  ///< passed to it unchanged
    std::string python;      ///< a Python function instead; the caller that makes the node loads it
};
extern const Keys<PluginConfig> plugin_keys;

/// Loads a library with the functions of plugin_abi.h. Throws ConfigError if there is no such library, a function is
/// missing, or the version differs. The result throws ConfigError if the library refuses its parameters.
MakePlugin load_plugin(const PluginConfig& config);

}  // namespace anello::rich
