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

/// What stages tell the operator, worded once for all chains. Control thread.
namespace anello::pipeline {

using anello::Notices;
using States = std::map<std::string, std::string>;  ///< what each part is, and how it does

/// A board that falls silent, and that sends again.
class SilenceNotice {
  public:
    void look(std::uint32_t board, bool is_silent, std::uint64_t n_silences, Nanoseconds timeout_ns, Notices& notices);

  private:
    bool is_silent_ = false;
    std::uint64_t n_silences_ = 0;
};

/// A count that is told by what was added since the last look.
class AddedNotice {
  public:
    std::uint64_t added(std::uint64_t n) noexcept { return n - std::exchange(n_told_, n); }

  private:
    std::uint64_t n_told_ = 0;
};

/// A count that should be 0: told when it is not, when it has grown tenfold, and as it stands at the end.
class FaultNotice {
  public:
    bool is_due(std::uint64_t n, bool has_ended) noexcept {
        if (n == n_told_ || (!has_ended && n < 10 * n_told_)) return false;
        n_told_ = n;
        return true;
    }

  private:
    std::uint64_t n_told_ = 0;
};

/// Why nothing comes any more: once.
class TroubleNotice {
  public:
    void look(std::string trouble, Notices& notices) {
        if (trouble.empty() || std::exchange(is_told_, true)) return;
        notices.push_back({std::move(trouble), Severity::bad});
    }

  private:
    bool is_told_ = false;
};

const char* name_of(events::BoardState state) noexcept;
/// The kind of memory, and why it is not the one asked for.
std::string memory_words(const memory::PersistentBuffers& buffers);

inline void append(Notices lines, Notices& notices) {
    notices.insert(notices.end(), std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end()));
}

}  // namespace anello::pipeline
