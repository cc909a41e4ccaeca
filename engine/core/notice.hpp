// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace anello {

/// How urgent a notice is for the operator. The words are those of anello/account/notices.py.
enum class Severity : std::uint8_t {
    info,     ///< nothing to do: something recovered, or was chosen automatically
    warning,  ///< should be checked: data is or may be lost or late
    bad,      ///< needs action: a part has failed and does not recover by itself
};

inline const char* name_of(Severity severity) noexcept {
    constexpr std::array names{"info", "warning", "bad"};
    return names[static_cast<std::size_t>(severity)];
}

/// A line for the operator; a warning unless another severity is given.
struct Notice {
    // NOLINTNEXTLINE(google-explicit-constructor): a line is a notice
    Notice(std::string words, Severity how_grave = Severity::warning) : text(std::move(words)), severity(how_grave) {}

    bool operator==(const Notice&) const = default;

    std::string text;
    Severity severity;
};

using Notices = std::vector<Notice>;

}  // namespace anello
