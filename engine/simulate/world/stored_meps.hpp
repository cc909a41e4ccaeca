// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/world/simulated_disk.hpp"

namespace anello::simulate {

/// A multi-event packet as a file has it.
struct StoredMep {
    std::uint64_t mep = 0;
    std::uint32_t n_missing = 0, checksum = 0;  ///< checksum: of its MFPs, one behind the other
};

struct StoredMeps {
    std::vector<StoredMep> all;
    std::string wrong;    ///< the first thing that docs/reference/mep-file.md does not have so; empty: nothing
    bool is_cut = false;  ///< a file ends within a record, or within its own header
};

/// All files of a series, read as their reference says, by nothing that writes them.
StoredMeps read_meps(const SimulatedDisk& disk, const std::string& first, std::uint32_t n_readouts,
                     std::uint32_t packing, std::uint32_t run_id);

}  // namespace anello::simulate
