// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "store/disk.hpp"

namespace anello::store {

/// Name and value of a file's attribute: UTF-8 text or a number.
using FileAttribute = std::pair<std::string, std::variant<std::string, std::uint64_t>>;

/// Settings that the data files of all detectors share.
struct FileRules {
    std::vector<FileAttribute> about{};  ///< attributes of the run that wrote it
    std::uint64_t max_bytes = 0;         ///< size after which a new file begins; 0: one file
    Disk* disk = &Disk::system();
};

}  // namespace anello::store
