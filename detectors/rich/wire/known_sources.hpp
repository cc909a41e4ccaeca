// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace anello::wire {

/// The NA62 sources that a stream expects: for each source id (the detector) its number of sub-sources (the boards),
/// which count from 0. NA62's farm configures the same as "0x1C:5". Filled at set-up, read on the data path.
class KnownSources {
  public:
    KnownSources() = default;
    KnownSources(std::uint8_t source_id, std::uint16_t n_sub_sources) noexcept { expect(source_id, n_sub_sources); }

    void expect(std::uint8_t source_id, std::uint16_t n_sub_sources) noexcept {
        n_sub_sources_[source_id] = n_sub_sources;
    }
    bool knows(std::uint8_t source_id, std::uint8_t sub_source_id) const noexcept {
        return sub_source_id < n_sub_sources_[source_id];
    }

  private:
    std::array<std::uint16_t, 256> n_sub_sources_{};  ///< 0 = unknown; 256 = all
};

}  // namespace anello::wire
