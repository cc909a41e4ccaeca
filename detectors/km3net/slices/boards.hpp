// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "km3net/slices/dom_watch.hpp"
#include "pipeline/datagram_intake.hpp"
#include "receive/card/make_backend.hpp"

namespace anello::km3net {

/// The stage receive, which builds slices from the datagrams of these DOMs. The control thread calls all members.
class Boards {
  public:
    /// DOMs, clock and page must outlive the object. Throws ConfigError, SystemError.
    Boards(const receive::BackendConfig& backend, const SliceBuilderConfig& config, std::span<const Dom> doms,
           const Clock& clock, CounterPage& page)
        : builder_(config, doms, clock, page),
          intake_(receive::make_backend(backend, clock, &page), builder_, backend.batch_datagrams, clock, page),
          watch_(builder_) {}

    pipeline::Stage stage();
    const SliceBuilder& builder() const noexcept { return builder_; }
    SliceStore& slices() noexcept { return builder_.store(); }
    const pipeline::DatagramIntake& intake() const noexcept { return intake_; }

  private:
    SliceBuilder builder_;
    pipeline::DatagramIntake intake_;
    DomWatch watch_;
};

}  // namespace anello::km3net
