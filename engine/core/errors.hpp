// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace anello {

/// A configuration value is wrong. Thrown before anything starts. The parts are separate so that a user interface can
/// show them in its own way; what() is the one line "field: rule (given: value). remedy".
class ConfigError : public std::invalid_argument {
  public:
    ConfigError(std::string field, std::string rule, std::string given, std::string remedy);

    const std::string& field() const noexcept { return field_; }
    const std::string& rule() const noexcept { return rule_; }
    const std::string& given() const noexcept { return given_; }
    const std::string& remedy() const noexcept { return remedy_; }

  private:
    std::string field_, rule_, given_, remedy_;
};

/// The operating system refused a request at set-up (a port in use, no permission, no huge pages). what() is "action:
/// system's text. remedy".
class SystemError : public std::runtime_error {
  public:
    SystemError(const std::string& action, int error_number, const std::string& remedy);
    int error_number() const noexcept { return error_number_; }

  private:
    int error_number_;
};

}  // namespace anello
