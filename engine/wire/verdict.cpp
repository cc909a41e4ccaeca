// SPDX-License-Identifier: Apache-2.0
#include "wire/verdict.hpp"

namespace anello::wire {

const char* name_of(Verdict verdict) noexcept {
    const auto index = static_cast<std::size_t>(verdict);
    return index < counter_labels<Verdict>.size() ? counter_labels<Verdict>[index].name : "?";
}

}  // namespace anello::wire
