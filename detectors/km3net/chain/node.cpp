// SPDX-License-Identifier: Apache-2.0
#include "km3net/chain/node.hpp"

namespace anello::km3net {

Node::Node(const NodeConfig& config, const Clock& clock, Threads& threads)
    : n_slices_(config.n_slices),
      page_(config.page),
      doms_(make_line(config.line)),
      boards_(config.backend, config.build, doms_, clock, page_),
      decisions_(config.decisions, doms_, boards_.slices(), clock, page_),
      runner_(clock, threads) {
    std::vector<pipeline::Stage> stages = decisions_.stages();
    stages.insert(stages.begin(), boards_.stage());
    runner_.tell_in(page_);
    runner_.add({std::move(stages), config.threads, config.wait});
    probe_ = pipeline::add_probe(runner_, config.probe_share, config.threads, clock);
}

bool Node::finished() const noexcept {
    const auto& counters = boards_.builder().counters();
    return (n_slices_ > 0 && counters[SliceCounter::slices] + counters[SliceCounter::slices_missing] >= n_slices_) ||
           boards_.intake().finished();
}

}  // namespace anello::km3net
