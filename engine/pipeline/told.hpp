// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/notice.hpp"
#include "events/build_counters.hpp"
#include "memory/persistent_buffers.hpp"

/// Notices of stages for the operator, with the same words in all chains. Used by the control thread.
namespace anello::pipeline {

using anello::Notices;
using States = std::map<std::string, std::string>;  ///< what each part is, and its state

/// Reports a board that becomes silent, and when it sends again.
class SilenceNotice {
  public:
    void look(std::uint32_t board, bool is_silent, std::uint64_t n_silences, Nanoseconds timeout_ns, Notices& notices);

  private:
    bool is_silent_ = false;
    std::uint64_t n_silences_ = 0;
};

/// Reports the increase of a count since the last look.
class AddedNotice {
  public:
    std::uint64_t added(std::uint64_t n) noexcept { return n - std::exchange(n_reported_, n); }

  private:
    std::uint64_t n_reported_ = 0;
};

/// Reports a count that should be 0: when it is above 0, at each tenfold increase, and its final value.
class FaultNotice {
  public:
    bool is_due(std::uint64_t n, bool has_ended) noexcept {
        if (n == n_reported_ || (!has_ended && n < 10 * n_reported_)) return false;
        n_reported_ = n;
        return true;
    }

  private:
    std::uint64_t n_reported_ = 0;
};

/// Reports once why data no longer arrives.
class TroubleNotice {
  public:
    void look(std::string trouble, Notices& notices) {
        if (trouble.empty() || std::exchange(is_reported_, true)) return;
        notices.push_back({std::move(trouble), Severity::bad});
    }

  private:
    bool is_reported_ = false;
};

const char* name_of(events::BoardState state) noexcept;
/// Describes the kind of memory, and why it is not the kind requested.
std::string memory_words(const memory::PersistentBuffers& buffers);

inline void append(Notices lines, Notices& notices) {
    notices.insert(notices.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

}  // namespace anello::pipeline
