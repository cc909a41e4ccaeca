// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/disk.hpp"

namespace anello::store {

/// Name and value of what a file says of itself: UTF-8 text or a number.
using FileAttribute = std::pair<std::string, std::variant<std::string, std::uint64_t>>;

/// What the data files of all detectors have in common.
struct FileRules {
    std::vector<FileAttribute> about{};  ///< the run that wrote it
    std::uint64_t max_bytes = 0;         ///< a new file once one has reached so many; 0: one file
    Disk* disk = &Disk::system();
};

}  // namespace anello::store
