// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>

namespace anello::simulate {

/// The text of a finding without its numbers: findings of one fault are equal in it.
inline std::string kind_of(const std::string& finding) {
    std::string kind;
    std::ranges::copy_if(finding, std::back_inserter(kind), [](char c) { return c < '0' || c > '9'; });
    return kind;
}

}  // namespace anello::simulate
