// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <cstdint>

#include "store/disk.hpp"

namespace anello::store {

/// How HDF5 writes a file that anybody can open while it grows, and after its writer was killed
/// (docs/decisions/0019-files-that-survive.md): HDF5 orders its writes for concurrent readers (SWMR), and this driver
/// keeps the superblock such that a reader needs no flag: never marked as open, and its end of file never behind what
/// the metadata refer to. Of one process, for files that it creates.

/// For a file that is to be created on this disk, which must outlive it. False where HDF5 does not take the driver.
bool set_live_driver(hid_t access, Disk& disk) noexcept;

/// Whether so many bytes more have their place on the disk, so that HDF5 cannot run out of it half-way. False: errno.
bool reserve(hid_t file, std::uint64_t n_bytes) noexcept;

/// What the file holds, without space that was taken ahead.
std::uint64_t length_bytes(hid_t file) noexcept;

}  // namespace anello::store
