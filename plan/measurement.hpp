// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "network.hpp"
#include "plan_config.hpp"

namespace anello::plan {

/// What is seen while the exchange runs. Rates and loads are those of a window in its middle: the beginning, when
/// nothing is under way yet, and the end, when senders fall silent one by one, are left out.
class Measurement {
  public:
    Measurement(const PlanConfig& config, Network& network);

    void delivered(std::uint32_t from, std::uint32_t to);
    void built(double first_ready_ns);
    void readout_holds(std::uint32_t n_messages);
    void builder_holds(std::uint32_t n_meps, std::uint32_t n_messages);
    void behind(double late_ns);  ///< a message had no room when it was due
    void manager_worked(double busy_ns) { manager_busy_ns_ += busy_ns; }

    bool complete() const { return n_delivered_ == n_messages_; }
    std::string as_json() const;

  private:
    void begin_window();
    void end_window();
    void show_progress();
    std::string loads_json() const;
    std::string latency_json() const;

    const PlanConfig& config_;
    Network& network_;
    std::uint64_t n_messages_, n_begin_, n_end_;
    std::uint64_t n_delivered_ = 0, n_built_ = 0;
    double begin_ns_ = 0, end_ns_ = 0;
    std::vector<LinkLoad> loads_;
    std::vector<double> latencies_ns_;
    std::uint32_t readout_high_ = 0, builder_meps_high_ = 0, builder_messages_high_ = 0;
    double late_ns_ = 0, manager_busy_ns_ = 0;
    std::chrono::steady_clock::time_point shown_;
};

}  // namespace anello::plan
