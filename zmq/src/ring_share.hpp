// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace anello::zeromq {

/// A share of what this process may hold in rings and lent memory (Settings::all_rings_bytes), given back when it goes.
class RingShare {
  public:
    static std::optional<RingShare> try_take(std::size_t n_bytes) noexcept;
    RingShare(RingShare&& other) noexcept;
    RingShare& operator=(RingShare&&) = delete;
    ~RingShare();

  private:
    explicit RingShare(std::size_t n_bytes) noexcept : n_bytes_(n_bytes) {}
    std::size_t n_bytes_;
};

}  // namespace anello::zeromq
