// SPDX-License-Identifier: Apache-2.0
#include "simulate/world/stored_columns.hpp"

#include <hdf5.h>

#include <algorithm>

namespace anello::simulate {

StoredColumns::StoredColumns(const SimulatedDisk& disk, const std::string& path) : image_(disk.content(path)) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // the caller reports what cannot be read
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    if (!image_.empty()) {
        H5Pset_file_image(access, image_.data(), image_.size());
        file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access);
    }
    H5Pclose(access);
}

StoredColumns::~StoredColumns() {
    if (file_ >= 0) H5Fclose(file_);
}

std::vector<std::uint64_t> StoredColumns::numbers(const std::string& column) const {
    const hid_t dataset = file_ < 0 ? -1 : H5Dopen2(file_, column.c_str(), H5P_DEFAULT);
    if (dataset < 0) return {};
    const hid_t space = H5Dget_space(dataset);
    std::vector<std::uint64_t> rows(
        static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space))));
    if (H5Dread(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) < 0) rows.clear();
    H5Sclose(space);
    H5Dclose(dataset);
    return rows;
}

std::vector<std::string> series(const SimulatedDisk& disk, const std::string& first) {
    const std::vector<std::string> names = disk.names();
    std::vector<std::string> found;
    std::string name = first;
    for (std::uint32_t n = 1; std::ranges::find(names, name) != names.end(); ++n) {
        found.push_back(name);
        name = store::number_in_series(first, n);
    }
    return found;
}

}  // namespace anello::simulate
