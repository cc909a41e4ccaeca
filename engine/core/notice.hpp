// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace anello {

/// What a notice asks of the operator. The words are those of anello/account/notices.py.
enum class Severity : std::uint8_t {
    info,     ///< nothing: something is well again, or was chosen
    warning,  ///< to look at it: data are lost or late, or may be
    bad,      ///< to do something: a part has failed, and does not come back by itself
};

inline const char* name_of(Severity severity) noexcept {
    constexpr std::array names{"info", "warning", "bad"};
    return names[static_cast<std::size_t>(severity)];
}

/// A line for the operator. One that does not say how grave it is is a warning.
struct Notice {
    // NOLINTNEXTLINE(google-explicit-constructor): a line is a notice
    Notice(std::string words, Severity how_grave = Severity::warning) : text(std::move(words)), severity(how_grave) {}

    bool operator==(const Notice&) const = default;

    std::string text;
    Severity severity;
};

using Notices = std::vector<Notice>;

}  // namespace anello
