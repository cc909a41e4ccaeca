// SPDX-License-Identifier: Apache-2.0
#include "core/errors.hpp"

#include <fmt/format.h>

#include <system_error>

namespace anello {

ConfigError::ConfigError(std::string field, std::string rule, std::string given, std::string remedy)
    : std::invalid_argument(fmt::format("{}: {} (given: {}). {}", field, rule, given, remedy)),
      field_(std::move(field)),
      rule_(std::move(rule)),
      given_(std::move(given)),
      remedy_(std::move(remedy)) {}

SystemError::SystemError(const std::string& action, int error_number, const std::string& remedy)
    : std::runtime_error(fmt::format("{}: {}. {}", action, std::generic_category().message(error_number), remedy)),
      error_number_(error_number) {}

}  // namespace anello
