// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/world/simulated_disk.hpp"

namespace anello::simulate {

/// A multi-event packet in a file.
struct StoredMep {
    std::uint64_t mep = 0;
    std::uint32_t n_missing = 0, checksum = 0;  ///< checksum: of its MFPs, one after the other
};

struct StoredMeps {
    std::vector<StoredMep> all;
    std::string wrong;    ///< first difference from docs/reference/mep-file.md; empty: none
    bool is_cut = false;  ///< a file ends within a record, or within its own header
};

/// Reads all files of a series according to the format's reference, without code of the writer.
StoredMeps read_meps(const SimulatedDisk& disk, const std::string& first, std::uint32_t n_readouts,
                     std::uint32_t packing, std::uint32_t run_id);

}  // namespace anello::simulate
