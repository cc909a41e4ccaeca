// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/world/simulated_disk.hpp"

namespace anello::simulate {

/// A file of columns on a simulated disk, read by HDF5 without knowledge of the writer.
class StoredColumns {
  public:
    StoredColumns(const SimulatedDisk& disk, const std::string& path);
    ~StoredColumns();
    StoredColumns(const StoredColumns&) = delete;
    StoredColumns& operator=(const StoredColumns&) = delete;

    bool opens() const noexcept { return file_ >= 0; }
    /// For columns of integers. Empty if there is no such column.
    std::vector<std::uint64_t> numbers(const std::string& column) const;

  private:
    std::vector<std::byte> image_;
    std::int64_t file_ = -1;
};

/// The existing files of one series: decisions.h5, decisions-0001.h5 ...
std::vector<std::string> series(const SimulatedDisk& disk, const std::string& first);

}  // namespace anello::simulate
