// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace anello::zeromq {

/// A share of the bytes that rings and lent memory of this process may take (Settings::all_rings_bytes).
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
