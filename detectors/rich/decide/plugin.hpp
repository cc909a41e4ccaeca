// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/words.hpp"
#include "rich/plugin_abi.h"

namespace anello::rich {

/// A trigger algorithm of the user's own. One per worker thread; it decides batches as the ring finder does.
class Plugin {
  public:
    virtual ~Plugin() = default;
    /// Worker's thread. false: the algorithm failed, what it wrote is not used.
    virtual bool decide(const anello_trigger_batch& batch, anello_trigger_decisions& out) noexcept = 0;
};

/// Called once per worker at set-up, by the control thread; throws ConfigError.
using MakePlugin = std::function<std::unique_ptr<Plugin>()>;

struct PluginConfig {
    std::string path;        ///< the shared library
    std::string parameters;  ///< handed to it as it is
    std::string python;      ///< instead of a library: a function, for who makes the node
};
extern const Keys<PluginConfig> plugin_keys;

/// Loads a library with the functions of plugin_abi.h. Throws ConfigError: no such file, not a library, a function
/// missing, another version. What it returns throws ConfigError where the library refuses its parameters.
MakePlugin load_plugin(const PluginConfig& config);

}  // namespace anello::rich
