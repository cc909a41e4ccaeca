// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace anello::store {

/// Opens for writing a file that did not exist before; what others wrote is never replaced. A pipe or a device may
/// exist. Throws SystemError.
int create_new(const std::string& path);

/// The file that follows as the n-th: of decisions.h5, decisions-0001.h5.
std::string number_in_series(const std::string& path, std::uint32_t n);

}  // namespace anello::store
