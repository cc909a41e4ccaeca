// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace anello::bindings {

/// The module's ConfigError is a ValueError with the parts of the message as attributes; a SystemError is an OSError.
void bind_errors(nanobind::module_& module);

}  // namespace anello::bindings
