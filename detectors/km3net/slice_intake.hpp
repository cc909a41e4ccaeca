// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "km3net/slice_builder.hpp"
#include "pipeline/stage.hpp"
#include "receive/backend.hpp"
#include "receive/port_counters.hpp"

namespace anello::km3net {

/// The stage receive: datagrams from the backend into slices, and what the operator is told of the DOMs.
class SliceIntake {
  public:
    /// Counters: "receive.port<p>". Builder and clock must outlive it.
    SliceIntake(std::unique_ptr<receive::Backend> backend, SliceBuilder& builder, std::uint32_t batch_datagrams,
                const Clock& clock, CounterPage& page);

    pipeline::Stage stage();
    std::vector<std::uint16_t> ports() const;
    bool finished() const noexcept { return backend_->finished(); }

  private:
    struct Seen {
        pipeline::SilenceNotice silence;
        receive::TenfoldNotice strangers, ahead, other_run;
    };
    enum class Phase : std::uint8_t { running, draining, drained };

    std::size_t work() noexcept;
    void show_backend() noexcept;
    void add_notices(pipeline::Notices& notices);
    void add_states(pipeline::States& states) const;

    std::unique_ptr<receive::Backend> backend_;
    SliceBuilder& builder_;
    const Clock& clock_;
    std::vector<receive::Datagram> batch_;
    std::vector<Counters<receive::PortCounter>> ports_;
    std::vector<pipeline::AddedNotice> dropped_;  // by port
    std::vector<Seen> seen_;                      // by DOM
    Nanoseconds shown_ns_ = 0;
    std::atomic<Phase> phase_{Phase::running};
};

}  // namespace anello::km3net
