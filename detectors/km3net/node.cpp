// SPDX-License-Identifier: Apache-2.0
#include "km3net/node.hpp"

namespace anello::km3net {

Node::Node(const NodeConfig& config, const Clock& clock)
    : n_slices_(config.n_slices),
      page_(config.counter_page),
      doms_(make_line(config.line)),
      builder_(config.build, doms_, clock, page_),
      intake_(receive::make_backend(config.backend, clock), builder_, config.backend.batch_datagrams, clock, page_),
      trigger_(config.trigger, doms_, builder_, clock, page_) {
    runner_.add({{intake_.stage(), trigger_.stage()}, config.threads, config.wait});
}

bool Node::finished() const noexcept {
    const auto& counters = builder_.counters();
    return (n_slices_ > 0 && counters[SliceCounter::slices] + counters[SliceCounter::slices_missing] >= n_slices_) ||
           intake_.finished();
}

}  // namespace anello::km3net
