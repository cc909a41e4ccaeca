// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.hpp"
#include "exchange/exchange_config.hpp"
#include "exchange/station/node_links.hpp"
#include "exchange/station/node_units.hpp"

namespace anello::exchange {

/// Which node manages the run, as far as this node knows, and how far this node is with following the standby instead
/// of a lost manager: it reports to the standby all that its units hold, then waits until the standby is active
/// (docs/decisions/0021-standby.md).
class Following {
  public:
    /// All arguments must outlive the object.
    Following(const ExchangeConfig& config, NodeLinks& links, NodeUnits& units);

    /// The node whose assignments this node accepts. Any thread.
    Node manager() const noexcept { return manager_.load(std::memory_order_relaxed); }

    // Hot path: no allocation, no lock, no log, no throw.
    bool is_manager_dead() const noexcept { return is_manager_dead_; }
    /// The process of the first manager has ended.
    void note_manager_dead() noexcept { is_manager_dead_ = true; }
    /// There is a standby that this node could follow and does not.
    bool may_begin() const noexcept;
    /// From now on the former manager's messages do not count, even if it still lives. `has_begun`: the run has, for
    /// this node.
    void begin(bool has_begun) noexcept;
    bool is_under_way() const noexcept { return stage_ != Stage::none; }
    /// Reports to the standby all that this node knows, in as many messages as needed, of so many entries; continues
    /// with the next call if there is no room for messages.
    void report(bool has_begun, std::size_t n_entries) noexcept;
    /// The standby did not become active in time.
    bool is_too_long(Nanoseconds now_ns) const noexcept { return now_ns - lost_ns_ > 3 * links_.silence_ns(); }
    void end() noexcept { stage_ = Stage::none; }
    void accept(Node manager) noexcept { manager_ = manager; }

  private:
    enum class Stage : std::uint8_t { none, reporting, waiting };
    bool send_report(bool has_begun, std::size_t n_entries) noexcept;

    const ExchangeConfig& config_;
    NodeLinks& links_;
    NodeUnits& units_;
    std::atomic<Node> manager_;
    Stage stage_ = Stage::none;
    std::size_t n_reported_ = 0;  ///< slots reported to the standby
    Nanoseconds lost_ns_ = 0;     ///< when this node lost the manager
    bool is_manager_dead_ = false;
};

}  // namespace anello::exchange
