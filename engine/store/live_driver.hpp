// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>

#include "store/disk.hpp"

namespace anello::store {

/// Lets HDF5 write a file that anyone can open while it grows, and after its writer was killed
/// (docs/decisions/0019-files-that-survive.md). HDF5 orders its writes for concurrent readers (SWMR), and this driver
/// maintains a superblock that readers accept without a flag: it is never marked as open, and its end of file is never
/// before data that metadata refer to. For one process, and files that it creates.

/// For a file that will be created on this disk, which must outlive it. Returns false if HDF5 refuses the driver.
bool set_live_driver(hid_t access, Disk& disk) noexcept;

/// Allocates disk space for n_bytes more, so that HDF5 cannot run out of it half-way. Returns false with errno.
bool reserve(hid_t file, std::uint64_t n_bytes) noexcept;

/// The file's content, without space allocated ahead.
std::uint64_t length_bytes(hid_t file) noexcept;

}  // namespace anello::store
