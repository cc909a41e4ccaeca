// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anello::zeromq {

/// Records which cells of a memory are free. try_take() takes the first free run that is long enough, so that cells
/// given back are soon used again, while the cache still holds them. Only one thread uses it.
class CellMap {
  public:
    static constexpr std::size_t none = SIZE_MAX;

    explicit CellMap(std::size_t n_cells) : runs_(n_cells, 0) {}

    std::size_t try_take(std::size_t n_cells) noexcept {  ///< Returns the run's first cell, or `none`.
        std::size_t n_free = 0;
        for (std::size_t cell = 0; cell < runs_.size();) {
            if (runs_[cell] != 0) {
                cell += runs_[cell];
                n_free = 0;
                continue;
            }
            ++cell;
            if (++n_free < n_cells) continue;
            runs_[cell - n_cells] = static_cast<std::uint32_t>(n_cells);
            return cell - n_cells;
        }
        return none;
    }
    void give_back(std::size_t first) noexcept { runs_[first] = 0; }

  private:
    std::vector<std::uint32_t> runs_;  ///< length of the run (cells) at a taken run's first cell, 0 at a free cell
};

}  // namespace anello::zeromq
